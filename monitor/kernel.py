"""Compilation of kernels."""

from __future__ import annotations

import gc
import math
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from importlib import import_module
from typing import Any, ParamSpec, TypeVar

import numba
import numpy as np
from numba import extending, types
from numba.core import event
from numba.core.ccallback import CFunc
from numba.core.dispatcher import Dispatcher
from numba.core.registry import CPUDispatcher
from numba.core.sigutils import normalize_signature
from numpy.typing import NDArray

from monitor.kernel_cache import cache_of

# their attributes are unknown to type checkers
config: Any = numba.config
arrays: Any = import_module("numba.np.arrayobj")
cgutils: Any = import_module("numba.core.cgutils")
intrinsic: Any = extending.intrinsic

# no wrappers for Python and C, a fifth of a part's compilation
_NO_WRAPPERS = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}

# they are unloaded with their objects
_C_FUNCTIONS: list[Any] = []

P = ParamSpec("P")
R = TypeVar("R")
Kind = TypeVar("Kind", bound=type)

Progress = Callable[[int, int, str], None]
"""Called with (compiled, total, name of the last function); at the end with (total, total, "")."""


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


class _KernelDispatcher(CPUDispatcher):
    """Numba's dispatcher, with a fifth less to compile and without the search for garbage."""

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Compile for the types of arguments only: for each literal of a caller, numba would compile once more."""
        return super().get_call_template(
            [types.unliteral(each) for each in args], {name: types.unliteral(each) for name, each in kws.items()}
        )

    def compile(self, sig: Any) -> Any:
        """Compile, or load, without a search for garbage: there is little, and it takes a seventh of the time."""
        if not gc.isenabled():
            return super().compile(sig)
        gc.disable()
        try:
            return super().compile(sig)
        finally:
            gc.enable()


def _dispatcher(function: Callable[..., Any], **options: Any) -> Any:
    if config.DISABLE_JIT:
        return function
    options |= {"nopython": True, "boundscheck": None, "error_model": "numpy"}
    return _KernelDispatcher(function, targetoptions=options)


def _compiled(function: Callable[P, R], flags: set[str]) -> Callable[P, R]:
    dispatcher = _dispatcher(function, nogil=True, fastmath=flags)
    dispatcher._cache = cache_of(function)
    compiled: Callable[P, R] = dispatcher
    return compiled


def c_function(signature: Any, function: Callable[..., Any]) -> int:
    """Compile a function for callers in C, or load it from the cache; return its address, which remains valid.

    The function must not raise.
    """
    compiled: Any = CFunc(function, normalize_signature(signature), {}, {"error_model": "numpy"})
    compiled._cache = cache_of(function)
    compiled.compile()
    _C_FUNCTIONS.append(compiled)
    return int(compiled.address)


def part(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a piece of a kernel that is inlined into its caller, because a call with arrays costs 50 ns.

    LLVM inlines it, not Numba, which would infer its types again in every caller: that takes a third off the first
    start. Python cannot call it. Sums of a `reduction` do not belong in a part, which may not reorder them.
    """
    compiled: Callable[P, R] = _dispatcher(function, forceinline=True, fastmath={"contract"}, **_NO_WRAPPERS)
    return compiled


def inlined(function: Callable[P, R]) -> Callable[P, R]:
    """Make a function a piece of the one kernel that calls it, which is compiled as if its lines stood there.

    Numba inlines it. Nothing is compiled twice: a `part` is optimised again in every kernel above its own.
    """
    compiled: Callable[P, R] = _dispatcher(function, inline="always", fastmath={"contract"}, **_NO_WRAPPERS)
    return compiled


def without_kernels(kind: Kind) -> Kind:
    """Return a class like this one, whose objects do not call `load_kernels` when they are made."""
    made: Any = type(kind.__name__, (kind,), {"load_kernels": lambda _: None})
    derived: Kind = made
    return derived


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


if config.DISABLE_JIT:
    # in plain Python, which notices an index beyond an array
    stack_array, borrowed = np.empty, np.asarray

    def borrowed_view(data: NDArray[Any], start: int, shape: tuple[int, ...], dtype: type) -> NDArray[Any]:
        """Return a view, unless it reaches beyond the data."""
        return data[start:].view(dtype)[: math.prod(shape)].reshape(shape)


def compiled_functions() -> list[Any]:
    """Return the dispatchers of all kernels, reductions and parts in the loaded modules."""
    modules = [module for name, module in list(sys.modules.items()) if name.startswith("monitor.")]
    every = {id(each): each for module in modules for each in vars(module).values() if isinstance(each, Dispatcher)}
    return list(every.values())


class _CompilationListener(event.Listener):
    """Counts compiled functions, each once whatever its argument types."""

    def __init__(self, progress: Progress) -> None:
        self.progress, self.done = progress, set[int]()

    def on_start(self, event: Any) -> None:
        """Do nothing: a compilation is reported when it ends."""

    def on_end(self, event: Any) -> None:
        """Report a function of this package the first time."""
        # modules of measures are imported as they are needed
        dispatcher, every = event.data["dispatcher"], compiled_functions()
        if id(dispatcher) not in self.done and any(each is dispatcher for each in every):
            self.done.add(id(dispatcher))
            self.progress(len(self.done), len(every), dispatcher.__name__)


class KernelMissing(Exception):  # noqa: N818  no error
    """A kernel is not in the cache."""


class _MissListener(event.Listener):
    def on_start(self, event: Any) -> None:
        raise KernelMissing(event.data["dispatcher"].__name__)

    def on_end(self, event: Any) -> None:
        pass


def from_the_cache() -> AbstractContextManager[object]:
    """Raise `KernelMissing` within the context in place of compiling a kernel."""
    found: AbstractContextManager[object] = event.install_listener("numba:compile", _MissListener())
    return found


@contextmanager
def report_compilation(progress: Progress) -> Iterator[None]:
    """Report each function compiled within the context; kernels loaded from the cache are not reported."""
    with event.install_listener("numba:compile", _CompilationListener(progress)):
        yield
    total = len(compiled_functions())
    progress(total, total, "")
