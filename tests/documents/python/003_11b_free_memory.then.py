print(gpu_list.tolist(), os.environ["CUDA_VISIBLE_DEVICES"], device)
