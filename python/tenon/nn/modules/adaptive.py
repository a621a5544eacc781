"""A softmax over many classes, of which few are frequent."""

from collections import namedtuple

from tenon import _C

from .. import functional as F
from .container import ModuleList, Sequential
from .linear import Linear
from .module import Module

__all__ = ["AdaptiveLogSoftmaxWithLoss"]

_ASMoutput = namedtuple("_ASMoutput", ["output", "loss"])


class AdaptiveLogSoftmaxWithLoss(Module):
    """Logarithms of probabilities of n_classes, the frequent ones first: those below cutoffs[0] and the clusters between two cutoffs share
    one softmax, each cluster has another with div_value times fewer features than the one before (Grave et al. 2017)."""

    def __init__(self, in_features, n_classes, cutoffs, div_value=4.0, head_bias=False, device=None, dtype=None):
        super().__init__()
        cutoffs = list(cutoffs)
        if not cutoffs:
            raise ValueError("cutoffs should be a sequence of length larger than 0")
        if (cutoffs != sorted(cutoffs) or min(cutoffs) <= 0 or max(cutoffs) > n_classes - 1 or len(set(cutoffs)) != len(cutoffs)
                or any(int(c) != c for c in cutoffs)):
            raise ValueError("cutoffs should be a sequence of unique, positive integers sorted in an increasing order, where each value "
                             "is between 1 and n_classes-1")
        self.in_features, self.n_classes, self.cutoffs = in_features, n_classes, cutoffs + [n_classes]
        self.div_value, self.head_bias = div_value, head_bias
        self.shortlist_size, self.n_clusters = cutoffs[0], len(cutoffs)
        self.head_size = self.shortlist_size + self.n_clusters
        of = {"device": device, "dtype": dtype}
        self.head = Linear(in_features, self.head_size, bias=head_bias, **of)
        self.tail = ModuleList()
        for i in range(self.n_clusters):
            features = int(in_features // div_value ** (i + 1))
            self.tail.append(Sequential(Linear(in_features, features, bias=False, **of),
                                        Linear(features, self.cutoffs[i + 1] - self.cutoffs[i], bias=False, **of)))

    def reset_parameters(self):
        """New initial values."""
        self.head.reset_parameters()
        for first, second in self.tail:
            first.reset_parameters()
            second.reset_parameters()

    def _check(self, input, target):
        if target.dim() == 1 and input.size(0) != target.size(0):
            raise RuntimeError("Input and target should have the same size in the batch dimension.")
        if target.dim() == 1 and input.dim() != 2:
            raise RuntimeError("1D target tensor expects 2D input tensors, but found inputs with size", input.size())
        if target.dim() == 0 and input.dim() != 1:
            raise RuntimeError("0D target tensor expects 1D input tensors, but found inputs with size", input.size())
        if target.dim() > 1:
            raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")

    def forward(self, input, target):
        """(the logarithm of each target's probability, the mean of their negatives)"""
        self._check(input, target)
        batched = target.dim() > 0
        input, target = (input, target) if batched else (input.unsqueeze(0), target.unsqueeze(0))
        used, output = 0, input.new_zeros(target.size(0))
        clusters, head = target.clone(), F.log_softmax(self.head(input), dim=1)
        for i, low in enumerate([0, *self.cutoffs[:-1]]):
            rows = ((target >= low) & (target < self.cutoffs[i])).nonzero().squeeze(1)
            used += rows.numel()
            if i and rows.numel():
                inside = F.log_softmax(self.tail[i - 1](input.index_select(0, rows)), dim=1)
                clusters.index_fill_(0, rows, self.shortlist_size + i - 1)
                own = inside.gather(1, (target.index_select(0, rows) - low).unsqueeze(1)).squeeze(1)
                output = output.index_copy(0, rows, own)
        if used != target.size(0):
            raise RuntimeError(f"Target values should be in [0, {self.n_classes - 1}], but values in range [{target.min().item()}, "
                               f"{target.max().item()}] were found. ")
        output = output + head.gather(1, clusters.unsqueeze(1)).squeeze()
        loss = (-output).mean()
        return _ASMoutput(output if batched else output.squeeze(0), loss)

    def log_prob(self, input):
        """(N, n_classes): the logarithm of each class's probability"""
        head = F.log_softmax(self.head(input), dim=1)
        parts = [head[:, :self.shortlist_size]]
        for i, tail in enumerate(self.tail):
            parts.append(F.log_softmax(tail(input), dim=1) + head[:, self.shortlist_size + i].unsqueeze(1))
        return _C.cat(parts, 1)

    def predict(self, input):
        """The most probable class of each row"""
        return self.log_prob(input).argmax(1)
