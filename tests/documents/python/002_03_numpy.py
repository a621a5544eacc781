## cpu上的tensor可以跟numpy共享memory location。改变其中一个的值，另一个也变
t = torch.ones(5)
n = t.numpy()
print("改变前：", t, n)
t.add_(2)
print("改变tensor，numpy对象也变：", t, n)
np.add(n, 2, out=n)
print("改变numpy对象后，tensor也变：", t, n)

## 但在gpu上无法做numpy类型对象的计算
if torch.cuda.is_available():
    t = t.to('cuda')
#     n = n.to('cuda') # numpy对象不能移到gpu上，因为没有.to method
print(t)
