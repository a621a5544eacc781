torch.cuda.is_available()
