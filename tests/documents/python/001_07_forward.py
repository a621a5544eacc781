net(x)
