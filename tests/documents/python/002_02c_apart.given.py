tensor, tensor2 = torch.ones(2, 3), torch.ones(2, 3, device="cuda")
