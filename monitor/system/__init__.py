"""Operating system: processes, pipes, file checks, safe text, default endpoints."""

import os
import shlex
import shutil
import sys
from pathlib import Path


def install_command(extra: str) -> str:
    """Return the command that adds an extra to the environment in which this program is installed."""
    prefix, what = Path(sys.prefix), f'"synchroscope[{extra}]"' if os.name == "nt" else f"'synchroscope[{extra}]'"
    # environments of pipx and uv may have no pip
    if (prefix / "pipx_metadata.json").exists():
        return f"pipx inject synchroscope {what}"
    described = prefix / "pyvenv.cfg"
    if described.is_file() and "\nuv = " in described.read_text():
        return f"uv pip install --python {shlex.quote(sys.prefix)} {what}"
    # where the environment is not active, `pip` is another one's
    is_active = Path(shutil.which("python") or "").parent == Path(sys.executable).parent
    return f"{'pip' if is_active else f'{shlex.quote(sys.executable)} -m pip'} install {what}"
