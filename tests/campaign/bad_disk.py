"""A disk that does what it is asked to: a library that stands between a process and the files that it writes."""

from __future__ import annotations

import subprocess
from pathlib import Path

_SOURCE = Path(__file__).with_name("bad_disk.c")


def compiled(folder: Path) -> Path:
    """Return the library, for LD_PRELOAD; the variable BAD_DISK names the file that it obeys."""
    library = folder / "bad_disk.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-o", library, _SOURCE, "-ldl"], check=True)
    return library


def obey(word: Path, what: str) -> None:
    """Let the disk do something else from now on; never is half a word there."""
    new = word.with_suffix(".new")
    new.write_text(what)
    new.replace(word)
