torch.cuda.get_device_name(device_id)
