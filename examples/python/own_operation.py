"""An operation of one's own: a fused swiglu, silu(a) * b, whose one text runs on the CPU and on GPUs (TENON_FAKE_GPUS=2 simulates two)."""
import tenon as torch

TEXT = """
KERNEL(swiglu)(GLOBAL ST *out, GLOBAL const ST *a, GLOBAL const ST *b, i64 n)
{
    for (i64 i = GLOBAL_ID(0); i < n; i += GLOBAL_SIZE(0)) {
        const T x = LD(a[i]);
        out[i] = SV(x / (K(1) + m_exp(-x)) * LD(b[i]));
    }
}
"""


@torch.library.custom_op("mylib::swiglu", mutates_args=())
def swiglu(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.silu(a) * b  # for devices without the kernel


@swiglu.register_fake
def shape(a, b):
    return torch.empty_like(a)


def setup_context(ctx, inputs, output):
    ctx.save_for_backward(*inputs)


def backward(ctx, grad):
    a, b = ctx.saved_tensors
    s = torch.sigmoid(a)
    return grad * b * (s + a * s * (1 - s)), grad * a * s


swiglu.register_autograd(backward, setup_context=setup_context)
swiglu.register_kernel(["cpu", "cuda"], TEXT)

for device in ["cpu"] + [f"cuda:{i}" for i in range(torch.cuda.device_count())]:
    a = torch.tensor([-2.0, -1, 0, 1, 2], device=device, requires_grad=True)
    b = torch.tensor([1.0, 2, 3, 4, 5], device=device, requires_grad=True)
    y = torch.ops.mylib.swiglu(a, b)
    y.sum().backward()
    print(y, a.grad, b.grad, sep="\n")

torch.manual_seed(0)
x = torch.randn(2, 3, 4, dtype=torch.float64, requires_grad=True)
print(torch.library.opcheck(swiglu, (x, x * 2)))
