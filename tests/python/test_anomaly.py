"""torch.autograd.detect_anomaly: which forward call a failing derivative belongs to. Texts are PyTorch 2.15's."""

import gc
import re
import threading
import warnings

import pytest

import tenon as torch


@pytest.fixture(autouse=True)
def as_before():
    yield
    torch.set_anomaly_enabled(False)


def caught(function):
    """(error, texts of warnings)"""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        with pytest.raises(RuntimeError) as error:
            function()
    return str(error.value), [str(w.message) for w in said]


def nan_in_backward():
    x = torch.tensor([0.0, 1.0], requires_grad=True)
    root = torch.sqrt(x)  # the line that is meant
    (root * 0).sum().backward()
    return x.grad


def test_a_nan_is_an_error_that_names_the_forward():
    def run():
        with torch.autograd.detect_anomaly():
            nan_in_backward()

    error, said = caught(run)
    assert error.startswith("Function 'SqrtBackward0' returned nan values in its 0th output.")
    assert said[0].startswith("Anomaly Detection has been enabled. This mode will increase the runtime")
    assert said[1].startswith("Error detected in SqrtBackward0. Traceback of forward call that caused the error:\n")
    assert "root = torch.sqrt(x)  # the line that is meant" in said[1] and "in nan_in_backward" in said[1]
    assert "anomaly_mode.py" not in said[1] and len(said) == 2
    assert not torch.is_anomaly_enabled()
    assert nan_in_backward()[0].isnan()  # outside it is none


def test_without_check_nan_only_errors_are_shown():
    with torch.autograd.set_detect_anomaly(True, check_nan=False):
        assert nan_in_backward()[0].isnan()

    def run():
        x = torch.ones(2, requires_grad=True)
        with torch.autograd.set_detect_anomaly(True, check_nan=False):
            y = torch.exp(x)
            y.add_(1)
            y.sum().backward()

    error, said = caught(run)
    assert error.startswith("one of the variables needed for gradient computation has been modified by an inplace operation")
    assert len(said) == 1 and said[0].startswith("Error detected in ExpBackward0. Traceback of forward call that caused the error:\n")
    assert "y = torch.exp(x)" in said[0]


def test_a_forward_before_is_not_known():
    x = torch.tensor([0.0], requires_grad=True)
    y = (torch.sqrt(x) * 0).sum()
    torch.set_anomaly_enabled(True)
    error, said = caught(y.backward)
    assert error.startswith("Function 'SqrtBackward0' returned nan values") and said == [
        "Error detected in SqrtBackward0. No forward pass information available. Enable detect anomaly during forward pass for more information."]


def test_functions_of_ones_own_and_their_errors():
    class Bad(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            raise RuntimeError("said so")

    def run():
        with torch.autograd.set_detect_anomaly(True):
            Bad.apply(torch.ones(2, requires_grad=True)).sum().backward()

    error, _ = caught(run)
    assert error == "said so"


def test_the_switches():
    assert (torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()) == (False, True)
    torch.set_anomaly_enabled(True, False)
    assert (torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()) == (True, False)
    with torch.autograd.set_detect_anomaly(False):
        assert not torch.is_anomaly_enabled()
    assert (torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()) == (True, False)
    torch.autograd.set_detect_anomaly(False)
    assert (torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()) == (False, True)
    with pytest.raises(TypeError, match=re.escape("set_anomaly_enabled(): argument 'enabled' must be bool, not int")):
        torch.set_anomaly_enabled(1)


def test_second_derivatives_and_other_dtypes():
    with torch.autograd.set_detect_anomaly(True):
        x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
        (g,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
        g.sum().backward()
        assert x.grad.tolist() == [6.0, 12.0] and g.requires_grad
        z = torch.zeros(0, requires_grad=True)
        (z * 2).sum().backward()
        assert z.grad.shape == (0,)


def test_places_go_with_their_graph_and_threads_may_record():
    with torch.autograd.set_detect_anomaly(True):
        x = torch.ones(100_000, requires_grad=True)  # large enough that the GIL is let go of
        results = []

        def work():
            for _ in range(20):
                y = (x * 2 + 1).sum()
                (g,) = torch.autograd.grad(y, x)
                results.append(float(g[0]))

        threads = [threading.Thread(target=work) for _ in range(3)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        assert results == [2.0] * 60
    kept = torch.exp(x)
    del kept
    gc.collect()


def test_where_warnings_are_errors_the_error_is_the_derivatives(capsys):
    def run():
        with torch.autograd.set_detect_anomaly(True):
            nan_in_backward()

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(RuntimeError, match="Function 'SqrtBackward0' returned nan values"):
            run()
    assert capsys.readouterr().err.startswith("Error detected in SqrtBackward0. Traceback of forward call that caused the error:\n")
