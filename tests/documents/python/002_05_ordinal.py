## 查询gpu数量
torch.cuda.device_count()

## 如果gpu不止1个，可以指定tensor所在的gpu
device0, device1 = 'cuda:0', 'cuda:1'
#  移动
x = torch.ones(2, 3)
x = x.to(device1)
#  直接新建
x = torch.rand(2, 3, device=device1)
