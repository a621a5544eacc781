x = torch.tensor([1, 2, 3])
print(x.device) # cpu

x = x.cuda(0)
print(x.device) # cuda:0

device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')
y = torch.tensor([1, 2, 3], device=device)
print(y.device) # cuda:0

z = torch.tensor([1, 2, 3]).to(device)
print(z.device) # cuda:0

z = z.cpu()
print(z.device) # cpu
