net = nn.Linear(3,1)
print(type(net.parameters()))
print(list(net.parameters())[0].device)
