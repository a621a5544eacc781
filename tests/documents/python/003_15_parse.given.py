import subprocess
subprocess.run("nvidia-smi -q -d Memory | grep -A4 GPU | grep Free > tmp.txt", shell=True, check=True)
