x = torch.ones(2, 3, device=try_gpu())
x
