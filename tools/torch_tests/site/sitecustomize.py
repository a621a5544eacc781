"""Loaded by every Python that a test starts: `import torch` is Tenon there, with the shim, as in the test itself."""

import sys

import torch_tests.install

# a child of multiprocessing imports the test's file: what is not there is a placeholder in it, as in its parent
torch_tests.install.install(collecting="--multiprocessing-fork" in sys.orig_argv)
