mul = tensor * tensor2
