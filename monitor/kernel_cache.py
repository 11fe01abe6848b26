"""Compiled kernels on disk: found by what they are made of, wherever and whenever their sources were put there."""

from __future__ import annotations

import hashlib
import logging
import os
import pickle
import platform
import re
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any
from uuid import uuid4

import llvmlite
import llvmlite.binding
import numba
from numba.core.caching import NullCache, _Cache
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps

SHIPPED = "compiled"
"""Folder of a package with the kernels that came with it, which is only read."""
LOADED = set[Path]()
"""Files of the kernels that this process has loaded: those that callers contain are not among them."""
NOT_CACHED = "SYNCHROSCOPE_KERNELS_IN_MEMORY"
"""Environment variable with the reason, which is told once, by this process and those that it starts."""

_FOLDER = "synchroscope-kernels"
_KEPT = 12  # files of a kernel in a folder: versions, processors, types of its arguments
_IMPORTED = re.compile(r"^\s*(?:from|import) ([\w.]+)", re.MULTILINE)
_BUILT_WITH = f"numba {numba.__version__} llvmlite {llvmlite.__version__} {sys.implementation.cache_tag}"
# what a processor must have for the levels of its architecture's ABI, the best first
_LEVELS = {
    "x86-64-v4": {"avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl"},
    "x86-64-v3": {"avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe"},
    "x86-64-v2": {"cx16", "popcnt", "sahf", "sse4.2", "ssse3"},
    "x86-64": set[str](),
}

_logger = logging.getLogger("synchroscope")
# its attributes are unknown to type checkers
_config: Any = numba.config


def processor_levels(machine: str, features: set[str]) -> list[str]:
    """Return LLVM's names of the levels of a processor, its own first; kernels for one run on all that have it."""
    if machine.lower() not in ("x86_64", "amd64"):
        return ["generic"]
    levels = list(_LEVELS)
    # each has all that is below it
    lacking = [number for number, level in enumerate(levels) if not _LEVELS[level] <= features]
    return levels[max(lacking, default=-1) + 1 :]


def own_levels() -> list[str]:
    """Return the levels of this processor, its own first."""
    features = llvmlite.binding.get_host_cpu_features()
    return processor_levels(platform.machine(), {name for name, present in features.items() if present})


def compile_for_level() -> None:
    """Have this process compile for the level of its processor, or for what the environment names.

    It concerns all that numba compiles in this process from now on: a controller contains the kernels that it calls.
    """
    if _config.CPU_FEATURES is None and _config.CPU_NAME in (None, *_LEVELS):
        _config.CPU_NAME, _config.CPU_FEATURES = _config.CPU_NAME or own_levels()[0], ""


def cache_of(function: Callable[..., Any]) -> Any:
    """Return the cache of a function; one without a source, as of an interactive session, has none."""
    return KernelCache(function) if Path(function.__code__.co_filename).is_file() else NullCache()


class KernelCache(_Cache):
    """Cache of one function: a file for every version, processor and types of arguments, named after all of these.

    Nothing depends on the path or the time of a source. What cannot be read is compiled again, and what cannot be
    written stays in memory. Only what this machine has compiled, or what came with the package, is looked at, for the
    files contain code.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._package, path = _home(function)
        assert function.__closure__ is None, "what a closure contains is not in the key"
        self._name = f"{function.__module__}.{function.__qualname__}"
        self._path = next(_written(self._package), Path())
        self._key = f"{function.__code__.co_firstlineno} {_digest(path, self._package)} {_BUILT_WITH}"

    @property
    def cache_path(self) -> str:
        """The folder that was written, or will be."""
        return str(self._path)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled function for these types of arguments, None where there is none that can be read."""
        target_context.refresh()
        name = self._file_name(sig, target_context)
        for folder in _read(self._package):
            # missing, not ours, or cut short by a power failure
            with suppress(OSError, zlib.error, pickle.UnpicklingError):
                payload = pickle.loads(zlib.decompress((folder / name).read_bytes()))  # noqa: S301
                found = CompileResult._rebuild(target_context, *payload)
                LOADED.add(folder / name)
                return found
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Write a compiled function into the first folder that takes it."""
        if data.library.has_dynamic_globals:
            # the address of an object of this process is in its code
            return
        # the listing of its types has the path of the source
        content = zlib.compress(dumps(data._replace(type_annotation="")._reduce()), 1)
        name, why = self._file_name(sig, data.target_context), ""
        for folder in _written(self._package):
            try:
                folder.mkdir(parents=True, exist_ok=True)
                _write(folder / name, content)
            except OSError as problem:
                why = f"{folder.parent}: {problem.strerror}"
            else:
                self._path = folder
                self._remove_oldest()
                return
        _tell_not_cached(why)

    def _file_name(self, sig: Any, target_context: Any) -> str:
        made_of = f"{self._key} {sig} {target_context.codegen().magic_tuple()}"
        return f"{self._name}-{hashlib.sha256(made_of.encode()).hexdigest()[:24]}.kernel"

    def _remove_oldest(self) -> None:
        # another process may remove the same ones
        with suppress(OSError):
            files = sorted(self._path.glob(f"{self._name}-*.kernel"), key=lambda path: path.stat().st_mtime)
            for path in files[:-_KEPT]:
                path.unlink()

    def enable(self) -> None:
        """Do nothing: it is always enabled."""

    def disable(self) -> None:
        """Do nothing: it is always enabled."""

    def flush(self) -> None:
        """Do nothing: what is outdated is not found."""


def _home(function: Callable[..., Any]) -> tuple[Path, Path]:
    """Return the top package of a function, and its file; a program without package is its own."""
    path = Path(function.__code__.co_filename)
    depth = function.__module__.count(".")
    return path.parents[depth - 1] if depth else path.parent, path


@cache
def _digest(path: Path, package: Path) -> str:
    """Return a hash of a file and of all that it imports.

    Numba sees a change in the file of a kernel, but not in the file of one that it calls or of a constant.
    """
    files = imported_files(path, package)
    names = b"".join(b"%s %s" % (name.encode(), _source(files[name])[0]) for name in sorted(files))
    return hashlib.sha256(names).hexdigest()


def imported_files(path: Path, package: Path) -> dict[str, Path]:
    """Return a file and those of its package and of this one that it imports, directly or not, by module."""
    found: dict[str, Path] = {}
    roots = {each.name: each.parent for each in (Path(__file__).parent, package)}
    waiting = [("", path)]
    while waiting:
        name, path = waiting.pop()
        if name in found:
            continue
        found[name] = path
        for module in _source(path)[1]:
            top, *rest = module.split(".")
            if rest and top in roots:
                place = roots[top].joinpath(top, *rest)
                files = place.with_suffix(".py"), place / "__init__.py"
                waiting += [(module, file) for file in files if file.is_file()]
    return found


@cache
def _source(path: Path) -> tuple[bytes, tuple[str, ...]]:
    """Return the hash of a file, and the modules that it imports."""
    content = path.read_bytes()
    return hashlib.sha256(content).digest(), tuple(_IMPORTED.findall(content.decode("utf-8")))


def _read(package: Path) -> Iterator[Path]:
    """Yield the folders in which the kernels of a package may be."""
    if _config.CACHE_DIR:
        yield from _written(package)
    yield package / SHIPPED
    if not _config.CACHE_DIR:
        yield from _written(package)


def _written(package: Path) -> Iterator[Path]:
    """Yield the folders in which kernels may be put: an installed package stays as it is if another can."""
    if _config.CACHE_DIR:
        yield Path(_config.CACHE_DIR) / _FOLDER
        return
    folders = [package / "__pycache__"]
    named = os.environ.get("LOCALAPPDATA") or os.environ.get("XDG_CACHE_HOME")
    # RuntimeError: a user without a home
    with suppress(RuntimeError):
        folders.append(Path(named) if named else Path.home() / ".cache")
    checkout = (package.parent / "pyproject.toml").is_file()
    yield from (folder / _FOLDER for folder in (folders if checkout else reversed(folders)))


def _write(path: Path, content: bytes) -> None:
    """Write a file in one step, for other processes read it, and may write the same one."""
    new = path.with_name(f"{path.name}.{uuid4().hex}")
    try:
        new.write_bytes(content)
        new.replace(path)
    except BaseException:
        with suppress(OSError):
            new.unlink()
        raise


def _tell_not_cached(why: str) -> None:
    if NOT_CACHED not in os.environ:
        os.environ[NOT_CACHED] = why
        # one line on standard error, unless the program has a handler for it
        _logger.warning(
            "kernels stay in memory, and are compiled again at every start: %s; "
            "set NUMBA_CACHE_DIR to a folder that can be written",
            why,
        )


compile_for_level()
