n = n.to('cuda')
