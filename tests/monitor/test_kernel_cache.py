"""The cache of compiled kernels on disk: what is found, where it is, and what happens where it cannot be."""

from __future__ import annotations

import ast
import inspect
import os
import re
import shutil
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path
from types import FunctionType, ModuleType

import numba
import numpy as np
import pytest
from numba.core.dispatcher import Dispatcher

from monitor.kernel import compiled_functions, part, report_compilation
from monitor.kernel_cache import KernelCache, imported_files, own_levels, processor_levels

ROOT = Path(__file__).parents[2]
TOLD = "kernels stay in memory, and are compiled again at every start: {}; "
TOLD += "set NUMBA_CACHE_DIR to a folder that can be written\n"
PROGRAM = """
import sys
from monitor.kernel import kernel
from package.called import FACTOR
@kernel
def times(x):
    return FACTOR * x

if len(sys.argv) > 1:
    # no file can be larger: as on a full disk, which also has room for a name
    import resource, signal
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), resource.RLIM_INFINITY))
print(times(3.0), sum(times.stats.cache_hits.values()))
"""
COMPILED, LOADED = "6.0 0\n", "6.0 1\n"


def start(home: Path, words: tuple[object, ...], more: dict[str, str]) -> subprocess.Popen[str]:
    """Start the program of a checkout in `home`; its folder is `package`, the user's home is `user`."""
    unset = ("XDG_CACHE_HOME", "LOCALAPPDATA", "NUMBA_CACHE_DIR")
    environment = {name: value for name, value in os.environ.items() if name not in unset}
    environment |= {"PYTHONPATH": f"{home}{os.pathsep}{ROOT}", "PYTHONDONTWRITEBYTECODE": "1"}
    environment |= {"HOME": str(home / "user")} | more
    command = [sys.executable, "-c", "from package import program", *map(str, words)]
    return subprocess.Popen(command, env=environment, stdout=-1, stderr=-1, text=True, cwd=home)


def finish(started: subprocess.Popen[str]) -> tuple[str, str]:
    said = started.communicate(timeout=200)
    assert started.returncode == 0, said
    return said


def run(home: Path, *words: object, **more: str) -> tuple[str, str]:
    return finish(start(home, words, more))


def kernels(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.kernel"))


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A checkout of a program with a kernel, which depends on another file."""
    home = tmp_path / "here"
    (home / "package").mkdir(parents=True)
    (home / "package" / "program.py").write_text(PROGRAM)
    (home / "package" / "called.py").write_text("FACTOR = 2.0\n")
    (home / "pyproject.toml").write_text("")
    return home


@pytest.mark.parametrize("module", ["monitor.kernel", "sim.kernels"])
def test_it_is_found_after_its_sources_were_copied_and_touched_not_after_a_change_of_what_it_calls(
    home: Path, tmp_path: Path, module: str
) -> None:
    (home / "package" / "program.py").write_text(PROGRAM.replace("monitor.kernel", module))
    assert run(home) == (COMPILED, "")
    assert run(home) == (LOADED, "")
    copied = tmp_path / "there"
    shutil.copytree(home, copied)
    home.rename(tmp_path / "away")
    for path in copied.rglob("*.py"):
        os.utime(path, (1e9, 1e9))
    assert run(copied) == (LOADED, "")
    called = copied / "package" / "called.py"
    called.write_text("FACTOR = 7.0\n")
    assert run(copied) == ("21.0 0\n", "")
    called.write_text("FACTOR = 2.0\n")
    assert run(copied) == (LOADED, "")


@pytest.mark.parametrize("what", ["numba", "llvmlite"])
def test_it_is_not_found_by_another_version_of_the_compiler(home: Path, what: str) -> None:
    assert run(home) == (COMPILED, "")
    program = home / "package" / "program.py"
    before = program.read_text()
    (home / "package" / "__init__.py").write_text(f"import numba, {what}\n{what}.__version__ = '99.0'\n")
    assert run(home) == (COMPILED, "")
    assert run(home) == (LOADED, "")
    assert program.read_text() == before and len(kernels(home)) == 2


def test_it_is_beside_the_sources_of_a_checkout_else_in_the_users_cache(home: Path) -> None:
    assert run(home) == (COMPILED, "")
    beside, users = home / "package" / "__pycache__", home / "user" / ".cache"
    assert len(kernels(beside)) == 1 and not users.exists()
    shutil.rmtree(beside)
    # root may write into any folder, but not into a file
    beside.write_text("")
    assert run(home) == (COMPILED, "")
    assert run(home) == (LOADED, "")
    assert len(kernels(users)) == 1


def test_an_installed_package_stays_as_it_was(home: Path) -> None:
    (home / "pyproject.toml").unlink()
    before = sorted((home / "package").rglob("*"))
    assert run(home) == (COMPILED, "")
    assert run(home) == (LOADED, "")
    assert sorted((home / "package").rglob("*")) == before
    assert len(kernels(home / "user" / ".cache")) == 1


def test_what_came_with_the_package_is_loaded_wherever_the_user_has_his_own(home: Path, tmp_path: Path) -> None:
    assert run(home) == (COMPILED, "")
    (home / "package" / "compiled").mkdir()
    (path,) = kernels(home)
    path.rename(home / "package" / "compiled" / path.name)
    (home / "user").write_text("")
    before = sorted(home.rglob("*"))
    assert run(home) == (LOADED, "")
    assert run(home, NUMBA_CACHE_DIR=str(tmp_path / "named")) == (LOADED, "")
    assert sorted(home.rglob("*")) == before and not (tmp_path / "named").exists()


CALLS = """
@kernel
def twice(x):
    return times(times(x))

from monitor.kernel_cache import LOADED
print(twice(3.0), sorted(path.name.rpartition("-")[0] for path in LOADED))
"""


def test_of_what_is_shipped_a_program_loads_what_it_calls_which_contains_the_rest(home: Path) -> None:
    (home / "package" / "program.py").write_text(PROGRAM.rpartition("print")[0] + CALLS)
    assert run(home) == ("12.0 []\n", "")
    assert len(kernels(home)) == 2
    assert run(home) == ("12.0 ['package.program.twice']\n", "")


def test_where_it_cannot_be_written_kernels_stay_in_memory_and_that_is_told(home: Path) -> None:
    (home / "package" / "__pycache__").write_text("")
    (home / "user").write_text("")
    why = f"{home}/user/.cache: Not a directory"
    before = sorted(home.rglob("*"))
    for _ in range(2):
        assert run(home) == (COMPILED, TOLD.format(why))
    assert sorted(home.rglob("*")) == before
    # by a process that has told it
    assert run(home, SYNCHROSCOPE_KERNELS_IN_MEMORY=why) == (COMPILED, "")


def test_a_folder_that_the_user_names_is_the_only_one_that_is_written(home: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    named = f"{tmp_path}/file/kernels"
    assert run(home, NUMBA_CACHE_DIR=named) == (COMPILED, TOLD.format(f"{named}: Not a directory"))
    assert run(home, NUMBA_CACHE_DIR=str(tmp_path / "new")) == (COMPILED, "")
    assert run(home, NUMBA_CACHE_DIR=str(tmp_path / "new")) == (LOADED, "")
    assert not kernels(home)


@pytest.mark.skipif(sys.platform != "linux", reason="the limit of a file's size stands for a full disk")
@pytest.mark.parametrize("room", [0, 300])
def test_a_disk_that_becomes_full_costs_a_compilation_at_every_start(home: Path, room: int) -> None:
    assert run(home, room) == (COMPILED, TOLD.format(f"{home}/user/.cache: File too large"))
    assert not [path for path in home.rglob("*.kernel*") if path.is_file()]
    assert run(home) == (COMPILED, "")
    assert run(home) == (LOADED, "")


@pytest.mark.parametrize("left", [0, 0.5, 2])
def test_a_file_cut_short_by_a_power_failure_or_not_ours_is_made_again(home: Path, left: float) -> None:
    run(home)
    (path,) = kernels(home)
    content = path.read_bytes()
    path.write_bytes(content[: int(left * len(content))] if left < 1 else b"not ours")
    assert run(home) == (COMPILED, "")
    assert run(home) == (LOADED, "")


def test_two_processes_fill_it_at_once(home: Path) -> None:
    both = [start(home, (), {}) for _ in range(2)]
    assert {finish(each)[1] for each in both} == {""}
    assert run(home) == (LOADED, "")
    assert len(list((home / "package" / "__pycache__").rglob("*.kernel*"))) == 1


def test_old_versions_are_removed(home: Path) -> None:
    run(home)
    (path,) = kernels(home)
    for number in range(20):
        old = path.with_name(f"package.program.times-{number}.kernel")
        old.write_bytes(b"")
        os.utime(old, (number, number))
    other = path.with_name("package.program.times_two-1.kernel")
    other.write_bytes(b"")
    (home / "package" / "called.py").write_text("FACTOR = 7.0\n")
    run(home)
    left = {each.name for each in kernels(home)}
    assert len(left) == 13 and {path.name, other.name, "package.program.times-19.kernel"} < left


def sources_of(kernel: FunctionType) -> set[Path]:
    """Return the files of all that a kernel refers to by name, as it is found in memory."""
    found: set[Path] = set()
    waiting = [kernel]
    while waiting:
        function = waiting.pop()
        path = Path(function.__code__.co_filename)
        found |= {path} if path.is_relative_to(ROOT / "monitor") else set()
        for name in function.__code__.co_names:
            value = function.__globals__.get(name)
            if isinstance(value, Dispatcher) and Path(value.py_func.__code__.co_filename) not in found:
                waiting.append(value.py_func)
            module = value if isinstance(value, ModuleType) else inspect.getmodule(value)
            file = Path(getattr(module, "__file__", None) or "/")
            found |= {file} if file.is_relative_to(ROOT / "monitor") else set()
    return found


def test_the_key_has_all_that_a_kernel_refers_to() -> None:
    import_module("tests.kernels")
    kernels = [each.py_func for each in compiled_functions() if isinstance(each._cache, KernelCache)]
    for function in kernels:
        files = imported_files(Path(function.__code__.co_filename), ROOT / "monitor")
        assert sources_of(function) <= set(files.values())
    assert len(kernels) > 60


def test_a_function_without_a_source_is_compiled(home: Path) -> None:
    program = "from monitor.kernel import kernel\ndef one(x): return x\nprint(kernel(one)(2.0))"
    (home / "package" / "program.py").write_text(f"exec({program!r}, {{'__name__': '__main__'}})")
    assert run(home) == ("2.0\n", "")
    assert not kernels(home)


def test_a_processor_has_the_levels_all_of_whose_instructions_it_has() -> None:
    second = {"cx16", "popcnt", "sahf", "sse4.2", "ssse3"}
    third = second | {"avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe"}
    fourth = third | {"avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl"}
    levels = ["x86-64-v4", "x86-64-v3", "x86-64-v2", "x86-64"]
    assert processor_levels("x86_64", fourth | {"aes"}) == levels
    assert processor_levels("AMD64", fourth - {"avx512vl"}) == levels[1:]
    assert processor_levels("x86_64", fourth - {"fma"}) == levels[2:]
    assert processor_levels("x86_64", {"sse2"}) == levels[3:]
    assert processor_levels("aarch64", {"neon"}) == processor_levels("arm64", set()) == ["generic"]


@pytest.mark.parametrize("level", own_levels())
def test_the_code_has_no_instruction_beyond_the_level(home: Path, level: str) -> None:
    program = (
        "import numpy as np\nfrom monitor.kernel import reduction\n@reduction\n"
        "def total(x):\n    s = 0.0\n    for i in range(x.size):\n        s += x[i] * x[i]\n    return s\n"
        "total(np.ones(9))\nprint(*total.inspect_asm().values())\n"
    )
    (home / "package" / "program.py").write_text(program)
    code, _ = run(home, NUMBA_CPU_NAME=level, NUMBA_CACHE_DIR=str(home / "kernels"))
    assert "ret" in code
    if level.startswith("x86-64"):
        assert level == "x86-64-v4" or not re.search(r"%zmm|%[xy]mm(1[6-9]|2[0-9]|3[01])|%k[0-7]", code)
        for word in ("vfmadd", "%ymm"):
            assert (word in code) == (level in ("x86-64-v3", "x86-64-v4"))


def test_numba_is_one_whose_insides_these_tests_have_seen() -> None:
    """The cache and the dispatcher derive from classes of numba that are not its interface."""
    (bound,) = (
        each
        for each in tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
        if each.startswith("numba>")
    )
    _, _, limit = bound.partition("<")
    version = tuple(map(int, numba.__version__.split(".")[:2]))
    assert version < tuple(map(int, limit.split(".")[:2]))


def test_no_kernel_calls_blas():
    """Sums of products by BLAS depend on the processor, and numba takes it from scipy.

    The missing force is left out: it is of scipy throughout, and no stream's bits depend on it.
    """
    found, kernels = [], 0
    paths = (path for folder in ("monitor", "sim", "gui", "replay") for path in (ROOT / folder).rglob("*.py"))
    for path in (path for path in paths if not path.is_relative_to(ROOT / "sim" / "missing_force")):
        for function in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(function, ast.FunctionDef):
                continue
            decorators = {ast.unparse(each).partition("(")[0] for each in function.decorator_list}
            if not decorators & {"kernel", "fused_kernel", "part", "inlined", "reduction", "njit"}:
                continue
            kernels += 1
            for node in ast.walk(function):
                name = node.attr if isinstance(node, ast.Attribute) else ""
                if isinstance(node, ast.MatMult) or name in ("dot", "vdot", "inner", "matmul", "linalg", "kron"):
                    found.append(f"{path.name}: {function.name}")
    assert kernels > 100 and not found


@part
def _twice(x):
    return 2.0 * x


def test_each_function_that_is_compiled_is_reported_once_and_the_end_always(monkeypatch):
    from numba import njit

    # not kept on disk, so that it is compiled in every run
    caller = njit(lambda x: _twice(x) + _twice(1))
    module = ModuleType("monitor.only_here")
    module.caller, module.twice = caller, _twice
    monkeypatch.setitem(sys.modules, module.__name__, module)
    reports = []
    with report_compilation(lambda *report: reports.append(report)):
        assert caller(np.float64(3.0)) == 8.0
        assert caller(np.float64(4.0)) == 10.0
    (first, total, name), (second, _, _), last = reports
    assert (second - first, name, last) == (1, "_twice", (total, total, ""))
    with report_compilation(lambda *report: reports.append(report)):
        caller(np.float64(5.0))
    assert reports[3:] == [last]
