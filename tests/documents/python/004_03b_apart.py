x + y
