torch.cuda.device_count()
