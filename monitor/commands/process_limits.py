"""What the system lets this process have: as many connections as there may be, and enough memory to begin with."""

from __future__ import annotations

import sys

if sys.platform != "win32":
    import resource

_LEAST_MEMORY = 1 << 30
"""Bytes of address space; with less OpenBLAS never comes back from being loaded."""

_LEAST_DESCRIPTORS = 64


def allow_descriptors() -> None:
    """Let this process have as many connections open as the system lets it: 1024 are soon taken by a hostile peer.

    Raises
    ------
    ValueError : those are too few to begin with.
    """
    if sys.platform == "win32":
        return
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most != resource.RLIM_INFINITY and most < _LEAST_DESCRIPTORS:
        raise ValueError(
            f"only {most} files and connections may be open at once: a service needs {_LEAST_DESCRIPTORS} and more;"
            " raise the limit (ulimit -n)"
        )
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    except (ValueError, OSError):
        # a container may forbid it; then it stays as it was
        return


def must_have_memory() -> None:
    """Raise ValueError where the address space is limited to less than a service can begin with."""
    if sys.platform == "win32":
        return
    allowed, _ = resource.getrlimit(resource.RLIMIT_AS)
    if allowed != resource.RLIM_INFINITY and allowed < _LEAST_MEMORY:
        raise ValueError(
            f"the address space is limited to {allowed >> 20} MB: a service needs {_LEAST_MEMORY >> 20} MB and more;"
            " raise the limit (ulimit -v), or limit the memory of its control group instead"
        )
