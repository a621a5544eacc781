x = torch.Tensor([1, 2, 3])
