import os
import subprocess

import torch


def show_map():
    said = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, check=True).stdout
    number = {line.split("GPU-")[1].rstrip(")"): line.split()[1].rstrip(":") for line in said.splitlines()}
    logical = range(torch.cuda.device_count())
    physical = [number[str(torch.cuda.get_device_properties(i).uuid)] for i in logical]
    print("逻辑 GPU", *(f"gpu{i}" for i in logical), sep="    ")
    print("物理 GPU", *(f"gpu{i}" for i in physical), sep="    ")
