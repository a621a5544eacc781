print(net(x))
