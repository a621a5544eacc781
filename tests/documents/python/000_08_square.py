y = x**2
y
