def tried(call):
    try:
        print(call())
    except TypeError as error:
        print(f"TypeError: {error}")


tried(lambda: torch.cuda.device_count())
tried(lambda: torch.cuda.get_device_name())
tried(lambda: torch.cuda.manual_seed())
tried(lambda: torch.cuda.manual_seed_all())
tried(lambda: torch.cuda.set_device())
tried(lambda: os.environ.setdefault("CUDA_VISIBLE_DEVICES", "2", "3"))
