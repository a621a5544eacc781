"""The folder of PyTorch's tests: given, or fetched from Debian's source package."""

import os
import subprocess
import sys
import tarfile

_ENTRY = """Types: deb-src
URIs: http://deb.debian.org/debian
Suites: trixie
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
"""


def _cache():
    root = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(root, "tenon", "torch-tests")


def _fetch(cache):
    """apt's own verified download, with lists and state of our own: nothing of the machine's is changed."""
    os.makedirs(os.path.join(cache, "apt", "lists", "partial"), exist_ok=True)
    entry = os.path.join(cache, "apt", "trixie.sources")
    with open(entry, "w") as file:
        file.write(_ENTRY)
    options = [
        "-o", f"Dir::Etc::SourceList={entry}", "-o", "Dir::Etc::SourceParts=-", "-o", f"Dir::State::Lists={cache}/apt/lists",
        "-o", f"Dir::Cache={cache}/apt", "-o", f"Dir::Cache::archives={cache}/apt", "-o", "APT::Sandbox::User=",
    ]  # fmt: skip
    subprocess.run(["apt-get", *options, "-q", "update"], check=True, stdout=sys.stderr)
    command = ["apt-get", *options, "-q", "source", "--download-only", "--only-source", "pytorch"]
    subprocess.run(command, check=True, stdout=sys.stderr, cwd=cache)
    original = next(f for f in sorted(os.listdir(cache)) if f.startswith("pytorch_") and ".orig.tar" in f)
    print(f"torch-tests: unpacking the tests of {original}", file=sys.stderr)
    part = os.path.join(cache, "part")  # becomes the folder when it is whole
    with tarfile.open(os.path.join(cache, original)) as archive:
        for member in archive:
            parts = member.name.split("/")
            if len(parts) > 2 and parts[1] == "test" and member.isreg():
                member.name = "/".join(parts[1:])
                archive.extract(member, part, filter="data")
    os.replace(os.path.join(part, "test"), os.path.join(cache, "test"))
    os.rmdir(part)


def folder(given=None):
    """Where test_torch.py and the others lie."""
    given = given or os.environ.get("TENON_TORCH_TESTS")
    if given:
        if not os.path.exists(os.path.join(given, "test_torch.py")):
            raise SystemExit(f"torch-tests: no test_torch.py in {given}: name PyTorch's folder test")
        return os.path.abspath(given)
    cache = _cache()
    found = os.path.join(cache, "test")
    if not os.path.exists(os.path.join(found, "test_torch.py")):
        print(f"torch-tests: fetching Debian trixie's source package of pytorch (2.6.0, 40 MB) to {cache}", file=sys.stderr)
        _fetch(cache)
    return found
