    device = torch.device("cuda")
    tensor = tensor.to(device)
    module.to(device)
