print(os.environ.get("CUDA_VISIBLE_DEVICES"))
show_map()
