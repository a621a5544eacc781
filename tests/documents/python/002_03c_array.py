n = t.numpy()
