x=x.cuda()
