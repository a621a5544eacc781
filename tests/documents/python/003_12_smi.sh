nvidia-smi -q -d Memory | grep -A4 GPU
