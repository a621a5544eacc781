device = torch.device("cpu")
tensor = tensor.to("cpu")
module.to("cpu")
