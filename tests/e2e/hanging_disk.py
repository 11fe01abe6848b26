"""A disk that never answers, for a service that a test starts."""

from __future__ import annotations

import os
from pathlib import Path

# as HDF5 does at times, it keeps all threads of its process waiting
_HANGS = """
import sys
if any("recorder_program" in word for word in sys.orig_argv):
    import ctypes
    from monitor.recording.swmr_file import SwmrFile
    SwmrFile.append = lambda *_: ctypes.PyDLL(None).sleep(3600)
"""


def hanging_disk(folder: Path) -> dict[str, str]:
    """Return the variables with which the first write to a run file never ends; `folder` is made."""
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(_HANGS)
    return {"PYTHONPATH": os.pathsep.join(filter(None, (str(folder), os.environ.get("PYTHONPATH"))))}
