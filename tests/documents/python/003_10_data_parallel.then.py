print(os.environ["CUDA_VISIBLE_DEVICES"], torch.cuda.device_count(), inputs.device, inputs.shape)
