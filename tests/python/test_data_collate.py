"""default_collate and default_convert: what batches look like. Expected values and texts are PyTorch's."""

import collections

import numpy as np
import pytest

import tenon as torch
from tenon.utils.data import default_collate, default_convert
from tenon.utils.data._utils.collate import collate
from tenon.utils.data._utils.pin_memory import pin_memory

Point = collections.namedtuple("Point", "x y")
CANNOT = r"default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found "


def same(tensor, dtype, values):
    assert type(tensor) is torch.Tensor
    assert tensor.dtype == dtype and tensor.tolist() == values
    return True


def test_numbers():
    assert same(default_collate([1, 2]), torch.int64, [1, 2])
    assert same(default_collate([1.5, 2.0]), torch.float64, [1.5, 2.0])
    assert same(default_collate([True, False]), torch.bool, [True, False])


def test_tensors():
    assert same(default_collate([torch.tensor([1, 2]), torch.tensor([3, 4])]), torch.int64, [[1, 2], [3, 4]])
    assert same(default_collate([torch.tensor(1.5)]), torch.float32, [1.5])
    with pytest.raises(RuntimeError, match=r"stack expects each tensor to be equal size, but got \[2\] at entry 0"):
        default_collate([torch.ones(2), torch.ones(3)])


def test_numpy():
    arrays = [np.arange(2, dtype=np.int16), np.arange(2, 4, dtype=np.int16)]
    assert same(default_collate(arrays), torch.int16, [[0, 1], [2, 3]])
    assert same(default_collate([np.float32(2), np.float32(3)]), torch.float32, [2.0, 3.0])
    assert same(default_collate([np.float64(2)]), torch.float64, [2.0])
    assert same(default_collate([np.bool_(True)]), torch.bool, [True])
    assert same(default_collate([np.array(7)]), torch.int64, [7])
    with pytest.raises(TypeError, match=CANNOT + "<U1"):
        default_collate([np.array(["a"])])
    with pytest.raises(TypeError, match=CANNOT + "object"):
        default_collate([np.array([None])])


def test_text_stays():
    assert default_collate(["a", "b"]) == ["a", "b"] and default_collate([b"a"]) == [b"a"]


def test_tuples_become_lists():
    batch = default_collate([(1, 2.0), (3, 4.0)])
    assert type(batch) is list and same(batch[0], torch.int64, [1, 3]) and same(batch[1], torch.float64, [2.0, 4.0])
    batch = default_collate([[1, "a"], [3, "b"]])
    assert type(batch) is list and same(batch[0], torch.int64, [1, 3]) and batch[1] == ("a", "b")
    with pytest.raises(RuntimeError, match="each element in list of batch should be of equal size"):
        default_collate([[1, 2], [3]])


def test_namedtuples_keep_their_type():
    batch = default_collate([Point(1, 2), Point(3, 4)])
    assert type(batch) is Point and same(batch.x, torch.int64, [1, 3]) and same(batch.y, torch.int64, [2, 4])


def test_mappings_keep_their_type():
    batch = default_collate([{"a": 1, "b": {"c": 2}}, {"b": {"c": 3}, "a": 4}])
    assert type(batch) is dict and same(batch["a"], torch.int64, [1, 4]) and same(batch["b"]["c"], torch.int64, [2, 3])
    assert type(default_collate([collections.OrderedDict(a=1)])) is collections.OrderedDict
    batch = default_collate([collections.defaultdict(int, a=1)])
    assert type(batch) is collections.defaultdict and batch.default_factory is int
    with pytest.raises(KeyError):
        default_collate([{"a": 1}, {"b": 1}])


@pytest.mark.parametrize("value", [object(), None, 1j, {1, 2}])
def test_refused(value):
    with pytest.raises(TypeError, match=CANNOT + f"<class '{type(value).__name__}'>"):
        default_collate([value])
    with pytest.raises(IndexError):
        default_collate([])


def test_collate_table():
    def join(batch, *, collate_fn_map):
        return "".join(batch)

    batch = collate([("a", "x"), ("b", "y")], collate_fn_map={str: join})
    assert batch == ["ab", "xy"]
    with pytest.raises(TypeError, match=CANNOT):
        collate([1], collate_fn_map={str: join})


def test_convert():
    data = [1, np.arange(2), "a", {"k": np.float32(1)}, Point(1, np.ones(1)), (1, np.ones(1)), np.array(["s"])]
    made = default_convert(data)
    assert made[0] == 1 and same(made[1], torch.int64, [0, 1]) and made[2] == "a"
    assert same(made[3]["k"], torch.float32, 1.0)
    assert type(made[4]) is Point and made[4].x == 1 and same(made[4].y, torch.float64, [1.0])
    assert type(made[5]) is list and same(made[5][1], torch.float64, [1.0])
    assert isinstance(made[6], np.ndarray)
    tensor = torch.ones(2)
    assert default_convert(tensor) is tensor


def test_pin_memory_walks_containers():
    class Pinnable:
        pinned = False

        def pin_memory(self):
            self.pinned = True
            return self

    made = pin_memory({"a": (Pinnable(), 1), "b": Point([Pinnable()], "text"), "c": b"x"})
    assert made["a"][0].pinned and made["a"][1] == 1
    assert type(made["b"]) is Point and made["b"].x[0].pinned and made["b"].y == "text" and made["c"] == b"x"
