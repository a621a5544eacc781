"""PyTorch's own test files, run on Tenon: scripts/torch-tests. PyTorch's files are read from Debian's source package; what
they ask of torch.testing is answered here, in Tenon's own words."""
