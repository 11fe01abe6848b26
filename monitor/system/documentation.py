"""Where the documentation is."""

from __future__ import annotations

from pathlib import Path


def documentation() -> Path | None:
    """Return the README, which leads to the pages in ``docs``; None where only the program is installed."""
    root = Path(__file__).parents[2]
    readme = root / "README.md"
    return readme if readme.is_file() and (root / "docs").is_dir() else None
