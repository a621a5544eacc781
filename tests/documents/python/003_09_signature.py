torch.nn.DataParallel(module, device_ids=None, output_device=None, dim=0)
