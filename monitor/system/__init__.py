"""Operating system: processes, pipes, file checks, safe text, default endpoints."""

import os
import shlex
import shutil
import sys
from pathlib import Path


def install_command(extra: str) -> str:
    """Return the command that adds an extra to the environment in which this program is installed."""
    prefix, quoted = Path(sys.prefix), _quoted if os.name == "nt" else shlex.quote
    what = quoted(f"synchroscope[{extra}]")
    # environments of pipx and uv may have no pip
    if (prefix / "pipx_metadata.json").exists():
        return f"pipx inject synchroscope {what}"
    described = prefix / "pyvenv.cfg"
    if described.is_file() and "\nuv = " in described.read_text(encoding="utf-8", errors="replace"):
        return f"uv pip install --python {quoted(sys.prefix)} {what}"
    # where the environment is not active, `pip` is another one's
    is_active = Path(shutil.which("python") or "").parent == Path(sys.executable).parent
    return f"{'pip' if is_active else f'{quoted(sys.executable)} -m pip'} install {what}"


def _quoted(text: str) -> str:
    return f'"{text}"'
