print(tensor.device, before.device, tensor is before)
print(module.weight.device, module.weight is weight)
