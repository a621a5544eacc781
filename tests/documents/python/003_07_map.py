os.environ.setdefault("CUDA_VISIBLE_DEVICES", "2", "3")
