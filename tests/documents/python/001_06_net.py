net = nn.Sequential(nn.Linear(3, 1))
net = net.to(device=try_gpu())
