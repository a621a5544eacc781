## 在gpu上新建tensor
x = torch.rand(2, 2, device='cuda')
print(x)

## 将现有tensor移动到gpu
x = torch.ones(2, 3)
if torch.cuda.is_available():
    y = x.to('cuda')
print(x.shape, x.dtype, x.device)
print(y.shape, y.dtype, y.device)
