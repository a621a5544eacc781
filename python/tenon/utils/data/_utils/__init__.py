"""The parts of DataLoader: collating, fetching, pinning, worker processes and how batches cross from them."""

from . import collate, fetch, pin_memory, transport, worker
