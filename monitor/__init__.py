"""Synchroscope: how late and how large each actuator of a hybrid simulation is, live.

The names in `__init__.pyi` are what a control engineer embeds; each is loaded when it is first used.
"""

from typing import Any

import lazy_loader

_public_name, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> Any:
    """Load a public name, or find the version of the installed package, ``0+unknown`` where it is not installed."""
    if name != "__version__":
        return _public_name(name)
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("synchroscope")
    except PackageNotFoundError:
        return "0+unknown"
