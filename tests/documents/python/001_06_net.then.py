print(type(net).__name__, net[0].weight.device, net[0].bias.device)
