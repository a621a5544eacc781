"""Binary cross entropy of probabilities, with a gradient that stays finite at 0 and 1."""

from tenon.autograd import Function


class BinaryCrossEntropy(Function):
    @staticmethod
    def forward(ctx, input, target):
        ctx.save_for_backward(input, target)
        return -(target * input.log().clamp(min=-100) + (1 - target) * (1 - input).log().clamp(min=-100))

    @staticmethod
    def backward(ctx, gradient):
        input, target = ctx.saved_tensors
        ends = ((1 - input) * input).clamp(min=1e-12)
        to_target = None
        if ctx.needs_input_grad[1]:
            to_target = gradient * ((1 - input).log() - input.log())
        return gradient * (input - target) / ends, to_target
