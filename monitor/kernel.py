"""The one way in which kernels are compiled, and where they are kept."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import numba
from numba import njit
from numba.core import event
from numba.core.dispatcher import Dispatcher

# its attributes are made when numba starts, so that no type checker knows them
config: Any = numba.config

# no entrance for Python or C, a fifth of a part's compilation; numba's types do not tell of these two
_UNWRAPPED: Any = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}

P = ParamSpec("P")
R = TypeVar("R")

Progress = Callable[[int, int, str], None]
"""Called with how many functions are compiled, of how many, and the name of the newest; at last with all of them."""


@cache
def _folder(package: Path) -> str:
    """Return a folder of compiled kernels that is this version's alone.

    Numba compiles a kernel anew when its own file changes, but not when a kernel that it calls does, in another file:
    an update would leave old code running. So the name of the folder tells what all the sources of the package are,
    and how they are compiled.
    """
    sources = [Path(__file__), *sorted(package.rglob("*.py"))]
    digest = hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()[:16]
    if config.CACHE_DIR:
        base = Path(config.CACHE_DIR)
    elif os.access(package, os.W_OK):
        base = package / "__pycache__"
    else:
        base = Path(os.environ.get("LOCALAPPDATA") or os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return str(base / f"synchroscope-kernels-{digest}")


def _package_of(function: Callable[..., Any]) -> Path:
    """Return the folder, just below `monitor`, with all that the function may be made of."""
    here, source = Path(__file__).parent, Path(function.__code__.co_filename)
    return here / source.relative_to(here).parts[0] if source.is_relative_to(here) else source.parent


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile once, keep on disk, let other threads run, and leave NaN and division by zero to IEEE 754.

    Python calls it, or another kernel for what is not done at every sample: then it is compiled once for all of them.
    Of the fast-math freedoms only the fused multiply-add is taken: it changes no NaN and, being the same
    code for every sample, nothing between one way of cutting the stream and another.
    """
    return _compiled(function, {"contract"})


def reduction(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function of whole windows that may add up in an order of its own.

    Several sums side by side and not one: the order depends on nothing but the length of the window. A kernel may
    call it only where what it hands over does not depend on how the stream is cut.
    """
    return _compiled(function, {"contract", "reassoc"})


def _compiled(function: Callable[P, R], freedoms: set[str]) -> Callable[P, R]:
    folder = _folder(_package_of(function))
    before, config.CACHE_DIR = config.CACHE_DIR, folder
    try:
        compiled: Callable[P, R] = njit(cache=True, nogil=True, error_model="numpy", fastmath=freedoms)(function)
    finally:
        config.CACHE_DIR = before
    return compiled


def part(function: Callable[P, R]) -> Callable[P, R]:
    """Make a piece of a kernel that is written into its caller: a call that hands over arrays costs 50 ns.

    LLVM does that, not Numba, which would infer its types again in every caller: the first start takes a third less.
    Python cannot call it. Sums of a `reduction` are not to be made in a part: it has no freedom to reorder them.
    """
    compiled: Callable[P, R] = njit(forceinline=True, error_model="numpy", fastmath={"contract"}, **_UNWRAPPED)(
        function
    )
    return compiled


def compiled_functions() -> list[Any]:
    """Return the dispatchers of all kernels, reductions and parts in the modules that are loaded."""
    modules = [module for name, module in list(sys.modules.items()) if name.startswith("monitor.")]
    every = {id(each): each for module in modules for each in vars(module).values() if isinstance(each, Dispatcher)}
    return list(every.values())


class _CompilationListener(event.Listener):
    """Count the functions that have been compiled, each once whatever types it was compiled for."""

    def __init__(self, progress: Progress) -> None:
        self.progress, self.waiting = progress, {id(each) for each in compiled_functions()}
        self.total = len(self.waiting)

    def on_start(self, event: Any) -> None:
        """Do nothing: what is compiled inside it ends first."""

    def on_end(self, event: Any) -> None:
        """Report the function, if it is one of ours and new."""
        dispatcher = event.data["dispatcher"]
        if id(dispatcher) in self.waiting:
            self.waiting.remove(id(dispatcher))
            self.progress(self.total - len(self.waiting), self.total, dispatcher.__name__)


@contextmanager
def report_compilation(progress: Progress) -> Iterator[None]:
    """Report each function that is compiled in the meantime; kernels that are loaded from disk are not reported."""
    listener = _CompilationListener(progress)
    with event.install_listener("numba:compile", listener):
        yield
    progress(listener.total, listener.total, "")
