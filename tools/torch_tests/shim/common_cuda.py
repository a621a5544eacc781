"""torch.testing._internal.common_cuda: what the GPU can."""

import contextlib

import torch
from torch_tests.absent import AbsentError

TEST_CUDA = torch.cuda.is_available()
TEST_MULTIGPU = TEST_CUDA and torch.cuda.device_count() >= 2
CUDA_DEVICE = torch.device("cuda:0") if TEST_CUDA else None
TEST_CUDNN = TEST_MAGMA = TEST_CUDNN_VERSION = False
SM53OrLater = SM60OrLater = SM70OrLater = SM75OrLater = SM80OrLater = SM90OrLater = TEST_CUDA
PLATFORM_SUPPORTS_FLASH_ATTENTION = PLATFORM_SUPPORTS_MEM_EFF_ATTENTION = PLATFORM_SUPPORTS_FUSED_ATTENTION = False


def tf32_is_not_fp32():
    return False


@contextlib.contextmanager
def tf32_off():
    yield


@contextlib.contextmanager
def tf32_on(self, tf32_precision=1e-5):
    yield


def tf32_on_and_off(tf32_precision=1e-5):
    return lambda test: test


def with_tf32_off(test):
    return test


def _create_scaling_case(*args, **kwargs):
    raise AbsentError("torch.amp")


_create_scaling_models_optimizers = _create_scaling_case
