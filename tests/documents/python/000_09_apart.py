z = y + x.cpu()
