net = nn.Linear(3, 1).cuda(0)
x = torch.rand(2,3).cuda(0)
print(net(x))

net = net.cpu()
#print(net(x)) RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cpu and cuda:0! (when checking argument for argument mat1 in method wrapper_addmm)
