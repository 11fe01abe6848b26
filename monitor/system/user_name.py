"""Who is at the keyboard."""

from __future__ import annotations

import getpass


def user_name() -> str:
    """Return the name of who has logged in; nothing where the system does not know it."""
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return ""
