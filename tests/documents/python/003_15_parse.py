[int(x.split()[2]) for x in open('tmp.txt', 'r').readlines()]
