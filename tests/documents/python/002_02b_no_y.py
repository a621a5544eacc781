x = torch.ones(2, 3)
if torch.cuda.is_available():
    y = x.to('cuda')
print(x.shape, x.dtype, x.device)
print(y.shape, y.dtype, y.device)
