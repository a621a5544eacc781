net[0].weight.data.device
