torch.cuda.current_device()
