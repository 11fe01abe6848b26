"""Compilation of kernels, and the cache of compiled ones."""

from __future__ import annotations

import hashlib
import logging
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from pickle import UnpicklingError
from tempfile import TemporaryFile
from typing import Any, ParamSpec, TypeVar

import numba
from numba import extending, njit, types
from numba.core import event
from numba.core.caching import FunctionCache, NullCache
from numba.core.ccallback import CFunc
from numba.core.dispatcher import Dispatcher
from numba.core.sigutils import normalize_signature
from numpy.typing import NDArray

# their attributes are unknown to type checkers
config: Any = numba.config
arrays: Any = import_module("numba.np.arrayobj")
cgutils: Any = import_module("numba.core.cgutils")
intrinsic: Any = extending.intrinsic

# no wrappers for Python and C, a fifth of a part's compilation; numba's type hints lack these two
_NO_WRAPPERS: Any = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}

# packages whose kernels those of another one call
_CALLED = {"embedding": ("indicators", "reliability")}

# they are unloaded with their objects
_C_FUNCTIONS: list[Any] = []

_logger = logging.getLogger("synchroscope")
NOT_CACHED = "SYNCHROSCOPE_KERNELS_IN_MEMORY"
"""Environment variable with the reason, which is told once, by this process and those that it starts."""

P = ParamSpec("P")
R = TypeVar("R")

Progress = Callable[[int, int, str], None]
"""Called with (compiled, total, name of the last function); at the end with (total, total, "")."""


@cache
def _folder(package: Path) -> str:
    """Return the cache folder of the kernels of this version of a package; empty where none can be written.

    Numba recompiles a kernel when its own file changes, but not when a kernel that it calls changes in another file:
    an update would leave old code running. The folder's name is therefore a hash of all sources of the package, of
    the packages whose kernels it calls, and of this file.
    """
    called = [package.parent / name for name in _CALLED.get(package.name, ())]
    reasons = Path(__file__).parent / "messages" / "reasons.py"  # whose codes are constants of kernels
    sources = [
        Path(__file__),
        reasons,
        *(source for each in (package, *called) for source in sorted(each.rglob("*.py"))),
    ]
    digest = hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()[:16]
    why = ""
    for base in _bases(package):
        folder = base / f"synchroscope-kernels-{digest}"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            TemporaryFile(dir=folder).close()
        except OSError as problem:
            why = f"{base}: {problem.strerror}"
        else:
            return str(folder)
    _tell_not_cached(why)
    return ""


def _bases(package: Path) -> Iterator[Path]:
    if config.CACHE_DIR:
        yield Path(config.CACHE_DIR)
        return
    yield package / "__pycache__"
    named = os.environ.get("LOCALAPPDATA") or os.environ.get("XDG_CACHE_HOME")
    # RuntimeError: a user without a home
    with suppress(RuntimeError):
        yield Path(named) if named else Path.home() / ".cache"


def _tell_not_cached(why: str) -> None:
    if NOT_CACHED not in os.environ:
        os.environ[NOT_CACHED] = why
        # one line on standard error, unless the program has a handler for it
        _logger.warning(
            "kernels stay in memory, and are compiled again at every start: %s; "
            "set NUMBA_CACHE_DIR to a folder that can be written",
            why,
        )


def _package_of(function: Callable[..., Any]) -> Path:
    """Return the folder, directly below `monitor`, that contains the function."""
    here, source = Path(__file__).parent, Path(function.__code__.co_filename)
    return here / source.relative_to(here).parts[0] if source.is_relative_to(here) else source.parent


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function that Python calls: cached on disk, without the GIL, NaN and division by zero as in IEEE 754.

    Other kernels may call it for work that is not done at every sample; it is compiled once for all of them.
    The only fast-math flag is `contract`, fused multiply-add: it does not affect NaN, and because the code is the
    same for every sample, results do not depend on how the stream is split.
    """
    return _compiled(function, {"contract"})


def reduction(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function of whole windows whose sums may be reordered, so that they are vectorised.

    The order depends on the length of the window only. A kernel may call it only with arguments that do not depend on
    how the stream is split.
    """
    return _compiled(function, {"contract", "reassoc"})


def _compiled(function: Callable[P, R], flags: set[str]) -> Callable[P, R]:
    dispatcher: Any = njit(nogil=True, error_model="numpy", fastmath=flags)(function)
    dispatcher._cache = _cache_of(function)
    compiled: Callable[P, R] = dispatcher
    return compiled


class _KernelCache(FunctionCache):
    """Cache on disk; what cannot be read is compiled, and what cannot be written stays in memory."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            return super().load_overload(sig, target_context)
        except (OSError, EOFError, UnpicklingError):
            # not ours, or cut short by a power failure
            with suppress(OSError):
                self.flush()
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            super().save_overload(sig, data)
        except (OSError, EOFError, UnpicklingError) as problem:
            _tell_not_cached(f"{self.cache_path}: {problem}")


def _cache_of(function: Callable[..., Any]) -> Any:
    folder = _folder(_package_of(function))
    if not folder:
        return NullCache()
    before, config.CACHE_DIR = config.CACHE_DIR, folder
    try:
        found: Any = _KernelCache(function)
    except RuntimeError:
        found = NullCache()
    finally:
        config.CACHE_DIR = before
    # numba goes on to a folder whose name does not tell the version
    if Path(folder) in Path(found.cache_path or "").parents:
        return found
    _tell_not_cached(f"{folder}: a folder in it cannot be written")
    return NullCache()


def c_function(signature: Any, function: Callable[..., Any]) -> int:
    """Compile a function for callers in C, or load it from the cache; return its address, which remains valid.

    The function must not raise.
    """
    compiled: Any = CFunc(function, normalize_signature(signature), {}, {"error_model": "numpy"})
    compiled._cache = _cache_of(function)
    compiled.compile()
    _C_FUNCTIONS.append(compiled)
    return int(compiled.address)


def part(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a piece of a kernel that is inlined into its caller, because a call with arrays costs 50 ns.

    LLVM inlines it, not Numba, which would infer its types again in every caller: that takes a third off the first
    start. Python cannot call it. Sums of a `reduction` do not belong in a part, which may not reorder them.
    """
    compiled: Callable[P, R] = njit(forceinline=True, error_model="numpy", fastmath={"contract"}, **_NO_WRAPPERS)(
        function
    )
    return compiled


def _borrowed(_: Any, array: Any) -> Any:
    def generate(context: Any, builder: Any, _: Any, arguments: Any) -> Any:
        given = arrays.make_array(array)(context, builder, arguments[0])
        given.meminfo = cgutils.get_null_value(given.meminfo.type)
        return given._getvalue()

    return array(array), generate


def _borrowed_view(_: Any, data: Any, start: Any, shape: Any, dtype: Any) -> Any:
    view = types.Array(dtype.dtype, len(shape), "C")

    def generate(context: Any, builder: Any, _: Any, arguments: Any) -> Any:
        owner = arrays.make_array(data)(context, builder, arguments[0])
        size = context.get_constant(types.intp, context.get_abi_sizeof(context.get_data_type(view.dtype)))
        extents = cgutils.unpack_tuple(builder, arguments[2])
        strides = [size]
        for extent in reversed(extents[1:]):
            strides.insert(0, builder.mul(strides[0], extent))
        result = arrays.make_array(view)(context, builder)
        pointer = builder.bitcast(builder.gep(owner.data, [arguments[1]]), result.data.type)
        arrays.populate_array(result, data=pointer, shape=extents, strides=strides, itemsize=size, meminfo=None)
        return result._getvalue()

    return view(data, start, shape, dtype), generate


def _stack_array(_: Any, size: Any) -> Any:
    array = types.Array(types.float64, 1, "C")

    def generate(context: Any, builder: Any, _: Any, arguments: Any) -> Any:
        del arguments
        width, length = (context.get_constant(types.intp, each) for each in (8, size.literal_value))
        data = cgutils.alloca_once(builder, context.get_value_type(types.float64), size=length)
        result = arrays.make_array(array)(context, builder)
        arrays.populate_array(result, data=data, shape=[length], strides=[width], itemsize=width, meminfo=None)
        return result._getvalue()

    return array(size), generate


def _address_of(_: Any, pointer: Any) -> Any:
    def generate(context: Any, builder: Any, _: Any, arguments: Any) -> Any:
        del context
        return builder.ptrtoint(arguments[0], cgutils.intp_t)

    return types.intp(pointer), generate


address_of: Callable[[Any], int] = intrinsic(_address_of)
"""``address_of(pointer)``: the address in a pointer of C, 0 for NULL."""
stack_array: Callable[[int], NDArray[Any]] = intrinsic(prefer_literal=True)(_stack_array)
"""``stack_array(size)``: an array of floats, not initialised, for a few intermediate results within a function.

The size is a constant. ``np.empty`` would allocate, which a control loop must not.
"""
borrowed: Callable[[NDArray[Any]], NDArray[Any]] = intrinsic(_borrowed)
"""``borrowed(array)``: the array without a reference to its owner, for a kernel whose caller holds the owner.

Every slice counts references to its owner, atomically, which for the arrays of a pass took longer than the arithmetic
of a sample. Slices of a borrowed array do not.
"""
borrowed_view: Callable[[NDArray[Any], int, tuple[int, ...], type], NDArray[Any]] = intrinsic(_borrowed_view)
"""``borrowed_view(data, start, shape, dtype)``: a borrowed view of `data` from its element `start` on, unchecked."""


def compiled_functions() -> list[Any]:
    """Return the dispatchers of all kernels, reductions and parts in the loaded modules."""
    modules = [module for name, module in list(sys.modules.items()) if name.startswith("monitor.")]
    every = {id(each): each for module in modules for each in vars(module).values() if isinstance(each, Dispatcher)}
    return list(every.values())


class _CompilationListener(event.Listener):
    """Counts compiled functions, each once whatever its argument types."""

    def __init__(self, progress: Progress) -> None:
        self.progress, self.pending = progress, {id(each) for each in compiled_functions()}
        self.total = len(self.pending)

    def on_start(self, event: Any) -> None:
        """Do nothing: a compilation is reported when it ends."""

    def on_end(self, event: Any) -> None:
        """Report a function of this package the first time."""
        dispatcher = event.data["dispatcher"]
        if id(dispatcher) in self.pending:
            self.pending.remove(id(dispatcher))
            self.progress(self.total - len(self.pending), self.total, dispatcher.__name__)


@contextmanager
def report_compilation(progress: Progress) -> Iterator[None]:
    """Report each function compiled within the context; kernels loaded from the cache are not reported."""
    listener = _CompilationListener(progress)
    with event.install_listener("numba:compile", listener):
        yield
    progress(listener.total, listener.total, "")
