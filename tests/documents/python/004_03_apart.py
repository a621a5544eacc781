x = torch.tensor([1, 2, 3]).cuda(0)
y = torch.tensor([1, 2, 3])
print('x:',x.device,'\ny:', y.device)

# x + y `RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!
