os.environ.setdefault("CUDA_VISIBLE_DEVICES", "0", "3", "2")
