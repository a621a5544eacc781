nn.DataParallel(net, device_ids=[1, 2])(inputs)
