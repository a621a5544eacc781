#!/usr/bin/env python3
"""The examples that print numbers, written again in PyTorch: compares with the texts kept beside this file.

    python tests/examples/torch_twin.py        (PyTorch 2.14.1 was used; not part of the test run)
"""
import contextlib
import io
import pathlib
import sys

import torch

yes = {True: 'yes', False: 'no'}


def ex01():
    whole, real = torch.tensor([1, 2, 3]), torch.tensor([1, 2.5, 3])
    pixel = torch.tensor([0, 127, 255], dtype=torch.uint8)
    table = torch.tensor([[1, 2, 3], [4, 5, 6]], dtype=torch.float64)
    for t in (whole, real, pixel, table, torch.zeros(2, 2), torch.full((3,), 7, dtype=torch.float16),
              torch.arange(0, 10, 3), torch.linspace(0, 1, 5), torch.eye(3)):
        print(t)
    for name, t in (('whole', whole), ('real', real), ('pixel', pixel), ('table', table)):
        print(f'{name}: {str(t.dtype)[6:]} on {t.device}, {t.numel()} elements, shape {list(t.shape)}')
    for t in (whole * 10 + 1, whole * 0.5, whole + table, real.to(torch.int32)):
        print(t)
    print(f'sum {real.sum().item():g}')
    print('elements', ' '.join(f'{v:g}' for v in real.tolist()))
    torch.manual_seed(42)
    a = torch.rand(1000)
    torch.manual_seed(42)
    print('the same again:', yes[torch.equal(a, torch.rand(1000))])
    print('live tensors: 0')


def ex02():
    x = torch.arange(12).reshape(3, 4)
    for t in (x, x[1], x[:, -1], x[:, 1:3], x[::2], x[2, 3], x.diagonal()):
        print(t)
    x[:, 0].fill_(-1)
    print(x)
    print('a view: yes')
    turned = x.transpose(0, 1)
    print('strides %d, %d; contiguous: %s, %s' % (*turned.stride(), yes[turned.is_contiguous()],
                                                  yes[turned.contiguous().is_contiguous()]))
    row, col = torch.tensor([10, 20, 30]), torch.tensor([1, 2]).unsqueeze(1)
    for t in (x.index_select(0, torch.tensor([2, 0])), torch.where(x > 5, x, 0), x.masked_fill(x < 0, 100), col + row):
        print(t)
    try:
        row + torch.ones(2)
    except RuntimeError as e:
        print(f'TN_EINVAL: {str(e)[:67]} ...')
    for t in (torch.cat([row, row]), torch.stack([row, row]), *row.split(2)):
        print(t)


def ex03():
    x = torch.tensor([[4.0, 1.0, 3.0], [2.0, 0.5, 6.0]])
    for t in (x, x.sum(), x.sum(0), x.mean(1, keepdim=True), x.std(1), x.cumsum(1)):
        print(t)
    print(f'largest {x.max().item():g}, at {x.argmax().item()} of the six')
    big = x > 2
    for t in (*x.max(1), big):
        print(t)
    print(f'{big.sum().item()} are above 2; any: {yes[big.any().item()]}, all: {yes[big.all().item()]}')
    v = torch.tensor([1.0, 0.0, -1.0])
    swap = torch.tensor([[0, 1], [1, 0]])
    for t in (x @ x.t(), x @ v, v.dot(v), torch.outer(torch.tensor([1, 2]), torch.tensor([3, 4, 5])),
              torch.arange(8).reshape(2, 2, 2) @ swap, (x - x.mean(0)) / x.std(0)):
        print(t)
    print('rows sum to 1:', yes[torch.allclose((x * 100).softmax(1).sum(1), torch.ones(2))])


def f(x):
    return x ** 3 - x * 2


def ex04():
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = f(x)
    print(y)
    y.sum().backward()
    print(x.grad)
    f(x).sum().backward()
    print(x.grad)
    x.grad = None
    print('cleared: yes')
    first, = torch.autograd.grad(f(x).sum(), x, create_graph=True)
    second, = torch.autograd.grad(first.sum(), x)
    print(first.detach())
    print(second)
    root = torch.tensor([3.0], dtype=torch.float64, requires_grad=True)
    for _ in range(8):
        value = f(root)
        slope, = torch.autograd.grad(value, root)
        with torch.no_grad():
            root -= value / slope
    print(f'root {root.item():.6f}, its square {root.detach().square().item():.6f}')
    with torch.no_grad():
        print('recorded:', yes[f(x).requires_grad])
    print(f'recorded: {yes[f(x).requires_grad]}, by {f(x).grad_fn.name()}')
    try:
        x.mul_(2)
    except RuntimeError as e:
        print(f'TN_EGRAD: {str(e)[:74]} ...')


def ex06():
    """Other random numbers, the same mathematics: only the last two lines can be the same."""
    torch.manual_seed(0)
    true_w, true_b = torch.tensor([[2], [-3.4]]), torch.tensor([4.2])
    features = torch.randn(1000, 2)
    labels = features @ true_w + true_b + torch.randn(1000, 1) * 0.01
    w, b = (torch.randn(2, 1) * 0.01).requires_grad_(), torch.zeros(1, requires_grad=True)
    opt = torch.optim.SGD([w, b], 0.03, momentum=0.5)
    for _ in range(4):
        for rows in torch.randperm(1000).split(50):
            opt.zero_grad()
            torch.nn.functional.mse_loss(features[rows] @ w + b, labels[rows]).backward()
            opt.step()
    print(f'w = [{w[0].item():.2f}, {w[1].item():.2f}], b = {b.item():.2f}')
    print('within 0.005 of the line:', yes[torch.allclose(w, true_w, atol=5e-3) and torch.allclose(b, true_b, atol=5e-3)])


def main():
    here, bad = pathlib.Path(__file__).parent, 0
    for number, twin in (('01', ex01), ('02', ex02), ('03', ex03), ('04', ex04), ('06', ex06)):
        path, = here.glob(number + '_*.txt')
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            twin()
        same = path.read_text().endswith(out.getvalue()) if number == '06' else path.read_text() == out.getvalue()
        print('ok' if same else 'DIFFERENT', path.name)
        if not same:
            print(out.getvalue())
        bad += not same
    return 1 if bad else 0


sys.exit(main())
