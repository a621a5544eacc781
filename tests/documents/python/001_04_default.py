x = torch.tensor([1,2,3])
x.device
