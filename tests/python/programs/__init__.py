"""Small random programs, run by PyTorch and by Tenon with the same interpreter, compared in everything a program can see.

interpret.py   runs a program with the module that it is given, and notes what can be seen after every line
compare.py     what differs between two such notes; tolerance.py says how far rounding may take an operation
differences.py the differences that are meant, each with its reason
replay.py      the recorded programs, or fresh ones, on Tenon; a process of its own (worker.py) where they may crash
These need PyTorch:
catalogue.py   every operation that Tenon has, with PyTorch's own signatures
values.py, calls.py, generate.py   random tensors, arguments and lines
reduce.py      the fewest lines that still disagree
record.py      makes tests/data/programs anew
beside.py      scripts/fuzz-beside-torch
"""
