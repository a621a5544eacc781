"""LBFGS: limited-memory BFGS, with a line search for the strong Wolfe conditions."""

from collections import namedtuple

from tenon import _C
from tenon.autograd import no_grad as _no_grad

from .optimizer import Optimizer, as_number, check_lr

__all__ = ["LBFGS"]

SUFFICIENT, CURVATURE, SEARCHES = 1e-4, 0.9, 25  # Nocedal and Wright 2006, section 3.1: c1, c2; evaluations of one search

# The objective at step t along the direction: its value, its gradient (flat), its slope
_Point = namedtuple("_Point", "t loss gradient slope")


def _cubic(one, other, low=None, high=None):
    """Where the cubic through two points has its minimum, within low .. high (between the two unless said): Nocedal and Wright
    2006, (3.59)."""
    if one.t > other.t:
        one, other = other, one
    low, high = (one.t, other.t) if low is None else (low, high)
    d1 = one.slope + other.slope - 3 * (one.loss - other.loss) / (one.t - other.t)
    square = d1 * d1 - one.slope * other.slope
    if not square >= 0:
        return (low + high) / 2
    d2 = square**0.5
    t = other.t - (other.t - one.t) * ((other.slope + d2 - d1) / (other.slope - one.slope + 2 * d2))
    return min(max(t, low), high)


def _too_high(point, start):
    return point.loss > start.loss + SUFFICIENT * point.t * start.slope


def _flat_enough(point, start):
    return abs(point.slope) <= -CURVATURE * start.slope


def _bracket(at, start, t):
    """(points, done, evaluations): two points between which there is a good one, or one that is good."""
    before, point = start, at(t)
    for tries in range(SEARCHES):
        if _too_high(point, start) or (tries > 1 and point.loss >= before.loss):
            return [before, point], False, tries
        if _flat_enough(point, start):
            return [point], True, tries
        if point.slope >= 0:
            return [before, point], False, tries
        t = _cubic(before, point, point.t + 0.01 * (point.t - before.t), point.t * 10)
        before, point = point, at(t)
    return [start, point], False, SEARCHES


def _search(at, start, t, width, tolerance):
    """The point that a search from step t finds; width: the direction's largest element."""
    points, done, tries = _bracket(at, start, t)
    slow = False
    low, high = min(points, key=lambda p: p.loss), max(reversed(points), key=lambda p: p.loss)
    while not done and tries < SEARCHES and abs(high.t - low.t) * width >= tolerance:
        first, last = sorted((low.t, high.t))
        t, margin = _cubic(low, high), 0.1 * (last - first)
        if min(last - t, t - first) >= margin:
            slow = False
        elif slow or t >= last or t <= first:  # the second time so near an end: away from it
            t, slow = (last - margin if abs(t - last) < abs(t - first) else first + margin), False
        else:
            slow = True
        point = at(t)
        tries += 1
        if _too_high(point, start) or point.loss >= low.loss:
            low, high = (low, point) if low.loss <= point.loss else (point, low)
            continue
        done = _flat_enough(point, start)
        if not done and point.slope * (high.t - low.t) >= 0:
            high = low
        low = point
    return low


class LBFGS(Optimizer):
    """L-BFGS (Nocedal and Wright 2006, algorithm 7.5), of one group of parameters. step(closure) makes up to max_iter steps;
    closure computes the loss anew, with gradients.

    max_eval          evaluations of closure in one step(), max_iter * 5 / 4 unless said
    tolerance_grad    ends where no element of the gradient is larger; tolerance_change: where step or loss change no more
    history_size      how many steps are remembered
    line_search_fn    None: steps of lr; "strong_wolfe": searched for
    """

    def __init__(self, params, lr=1, max_iter=20, max_eval=None, tolerance_grad=1e-7, tolerance_change=1e-9, history_size=100,
                 line_search_fn=None, *, maximize=False):
        check_lr(lr)
        if max_eval is None:
            max_eval = max_iter * 5 // 4
        super().__init__(params, dict(lr=lr, max_iter=max_iter, max_eval=max_eval, tolerance_grad=tolerance_grad,
                                      tolerance_change=tolerance_change, history_size=history_size,
                                      line_search_fn=line_search_fn, maximize=maximize))
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")
        self._params = self.param_groups[0]["params"]

    # ---- all parameters as one vector ----

    def _gradient(self):
        parts = [_C.zeros_like(p).view(-1) if p.grad is None else p.grad.reshape(-1) for p in self._params]
        flat = _C.cat(parts)
        return -flat if self.param_groups[0]["maximize"] else flat

    def _move(self, t, direction):
        at = 0
        for p in self._params:
            p.add_(direction[at:at + p.numel()].view_as(p), alpha=t)
            at += p.numel()

    def _evaluate(self, closure):
        loss = self._loss_of(closure)
        value = float(loss)
        return loss, -value if self.param_groups[0]["maximize"] else value

    def _at(self, closure, origin, direction, counted):
        """The function that looks at a step: the parameters are where they were afterwards."""
        def at(t):
            self._move(t, direction)
            _, loss = self._evaluate(closure)
            gradient = self._gradient()
            for p, was in zip(self._params, origin):
                p.copy_(was)
            counted.append(t)
            return _Point(t, loss, gradient, float(gradient.dot(direction)))
        return at

    # ---- the direction ----

    @staticmethod
    def _direction(state, gradient):
        """-H * gradient by the two loops over what is remembered: algorithm 7.4."""
        direction, factors = -gradient, []
        steps, changes, products = state["old_stps"], state["old_dirs"], state["ro"]
        for s, y, ro in zip(reversed(steps), reversed(changes), reversed(products)):
            factors.append(s.dot(direction) * ro)
            direction = direction - factors[-1] * y
        direction = direction * state["H_diag"]
        for s, y, ro in zip(steps, changes, products):
            direction = direction + (factors.pop() - y.dot(direction) * ro) * s
        return direction

    @staticmethod
    def _remember(state, gradient, most):
        change, step = gradient - state["prev_flat_grad"], state["d"] * state["t"]
        product = change.dot(step)
        if not product > 1e-10:
            return
        if len(state["old_dirs"]) == most:
            for name in ("old_dirs", "old_stps", "ro"):
                state[name].pop(0)
        state["old_dirs"].append(change)
        state["old_stps"].append(step)
        state["ro"].append(1.0 / product)
        state["H_diag"] = product / change.dot(change)

    def _one(self, closure, state, group, now, last):
        """One step from now, (loss, gradient): the same of where it led, and the evaluations; None: no way down. last: what is
        there is not asked for."""
        loss, gradient = now
        state["n_iter"] += 1
        first = state["n_iter"] == 1
        if first:
            state.update(d=-gradient, old_dirs=[], old_stps=[], ro=[], H_diag=1)
        else:
            self._remember(state, gradient, group["history_size"])
            state["d"] = self._direction(state, gradient)
        direction, lr = state["d"], as_number(group["lr"])
        state["t"] = min(1.0, 1.0 / float(gradient.abs().sum())) * lr if first else lr
        state["prev_flat_grad"], state["prev_loss"] = gradient.clone(), loss
        slope = float(gradient.dot(direction))
        if slope > -group["tolerance_change"]:
            return None
        if group["line_search_fn"] is not None:
            counted, origin = [], [p.clone() for p in self._params]
            at = self._at(closure, origin, direction, counted)
            found = _search(at, _Point(0, loss, gradient, slope), state["t"], float(direction.abs().max()), 1e-9)
            state["t"] = found.t
            self._move(found.t, direction)
            return (found.loss, found.gradient), len(counted)
        self._move(state["t"], direction)
        if last:
            return now, 0
        return (self._evaluate(closure)[1], self._gradient()), 1

    def step(self, closure):
        """Up to max_iter steps; closure computes the loss anew, with gradients. Returns the loss at their beginning."""
        group, state = self.param_groups[0], self.state[self._params[0]]
        if group["line_search_fn"] not in (None, "strong_wolfe"):
            raise RuntimeError("only 'strong_wolfe' is supported")
        self._opt_called = True
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        with _no_grad():
            begun, loss = self._evaluate(closure)
            now, evaluations = (loss, self._gradient()), 1
            state["func_evals"] += 1
            for i in range(group["max_iter"] if float(now[1].abs().max()) > group["tolerance_grad"] else 0):
                last, tolerance = i + 1 == group["max_iter"], group["tolerance_change"]
                made = self._one(closure, state, group, now, last)
                if made is None:
                    break
                before, (now, asked) = now[0], made
                evaluations += asked
                state["func_evals"] += asked
                if (last or evaluations >= group["max_eval"] or float(now[1].abs().max()) <= group["tolerance_grad"]
                        or float((state["d"] * state["t"]).abs().max()) <= tolerance or abs(now[0] - before) < tolerance):
                    break
        return begun
