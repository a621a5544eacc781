"""The command `tenon` of an environment: becomes the C program that lies in the package.

It lies beside the package, not in it: importing the package would take longer than all of this.
"""

import os
import sys


def main():
    program = os.path.join(os.path.dirname(__file__), "tenon", "bin", "tenon")
    try:
        os.execv(program, ["tenon", *sys.argv[1:]])
    except OSError as error:
        sys.exit(f"tenon: {program}: {error.strerror}")
