device = torch.device('cuda')
x = torch.tensor([1,2,3]).to(device)
