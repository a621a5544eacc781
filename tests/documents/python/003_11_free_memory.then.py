import os
print(gpu_memory, os.environ.get("CUDA_VISIBLE_DEVICES"), os.path.exists("tmp.txt"))
