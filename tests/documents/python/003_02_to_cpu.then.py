print(tensor.device)
