for i in range(torch.cuda.device_count()):
    print(f"gpu{i} is GPU {physical_numbers()[str(torch.cuda.get_device_properties(i).uuid)]}: {share[i]}")
