"""The cache of compiled kernels on disk: where it is, and what happens where it cannot be read or written."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TOLD = "kernels stay in memory, and are compiled again at every start: {}; "
TOLD += "set NUMBA_CACHE_DIR to a folder that can be written\n"
SOURCE = """
import sys
from {module} import kernel

@kernel
def twice(x):
    return 2.0 * x

if len(sys.argv) > 1:
    # no file can be larger: as on a full disk, which also has room for a name
    import resource, signal
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), resource.RLIM_INFINITY))
print(twice(3.0), sum(twice.stats.cache_hits.values()))
"""
COMPILED, LOADED = "6.0 0\n", "6.0 1\n"

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(params=["monitor.kernel", "sim.kernels"])
def run(request: pytest.FixtureRequest, tmp_path: Path) -> Run:
    """Run a program with a kernel; its folder is `package`, the user's home is `home`."""
    (tmp_path / "package").mkdir()
    program = tmp_path / "package" / "program.py"
    program.write_text(SOURCE.format(module=request.param))
    unset = ("XDG_CACHE_HOME", "LOCALAPPDATA", "NUMBA_CACHE_DIR")
    environment = {name: value for name, value in os.environ.items() if name not in unset}
    environment |= {"PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1", "HOME": str(tmp_path / "home")}

    def start(*words: object, **more: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, str(program), *map(str, words)]
        return subprocess.run(
            command, env=environment | more, capture_output=True, text=True, timeout=200, check=True, cwd=tmp_path
        )

    return start


def said(done: subprocess.CompletedProcess[str]) -> tuple[str, str]:
    return done.stdout, done.stderr


def test_it_is_beside_the_sources_else_in_the_users_cache(run: Run, tmp_path: Path) -> None:
    assert said(run()) == (COMPILED, "")
    assert said(run()) == (LOADED, "")
    beside = tmp_path / "package" / "__pycache__"
    assert len(list(beside.glob("synchroscope-kernels-*"))) == 1
    beside.rename(tmp_path / "away")
    # root may write into any folder, but not into a file
    beside.write_text("")
    assert said(run()) == (COMPILED, "")
    assert said(run()) == (LOADED, "")
    assert len(list((tmp_path / "home" / ".cache").glob("synchroscope-kernels-*"))) == 1


def test_where_it_cannot_be_written_kernels_stay_in_memory_and_that_is_told(run: Run, tmp_path: Path) -> None:
    (tmp_path / "package" / "__pycache__").write_text("")
    (tmp_path / "home").write_text("")
    why = f"{tmp_path}/home/.cache: Not a directory"
    before = sorted(tmp_path.rglob("*"))
    for _ in range(2):
        assert said(run()) == (COMPILED, TOLD.format(why))
    assert sorted(tmp_path.rglob("*")) == before
    # a process that was started by one that has told it
    assert said(run(SYNCHROSCOPE_KERNELS_IN_MEMORY=why)) == (COMPILED, "")


def test_a_folder_that_the_user_names_is_the_only_one(run: Run, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    named = f"{tmp_path}/file/kernels"
    assert said(run(NUMBA_CACHE_DIR=named)) == (COMPILED, TOLD.format(f"{named}: Not a directory"))
    assert said(run(NUMBA_CACHE_DIR=str(tmp_path / "new"))) == (COMPILED, "")
    assert said(run(NUMBA_CACHE_DIR=str(tmp_path / "new"))) == (LOADED, "")


def test_no_other_folder_is_taken_for_a_part_that_cannot_be_written(run: Run, tmp_path: Path) -> None:
    run()
    (path,) = (tmp_path / "package").rglob("*.nbi")
    shutil.rmtree(path.parent)
    path.parent.write_text("")
    why = f"{path.parents[1]}: a folder in it cannot be written"
    assert said(run()) == (COMPILED, TOLD.format(why))
    assert said(run()) == (COMPILED, TOLD.format(why))


@pytest.mark.skipif(sys.platform != "linux", reason="the limit of a file's size stands for a full disk")
@pytest.mark.parametrize("room", [0, 300])
def test_a_disk_that_becomes_full_costs_a_compilation_at_every_start(run: Run, tmp_path: Path, room: int) -> None:
    done = run(room)
    assert done.stdout == COMPILED
    assert done.stderr.startswith(TOLD.partition("{}")[0] + str(tmp_path / "package" / "__pycache__"))
    assert "File too large" in done.stderr and done.stderr.count("\n") == 1
    assert said(run()) == (COMPILED, "")
    assert said(run()) == (LOADED, "")


@pytest.mark.parametrize("kind", ["nbi", "nbc"])
@pytest.mark.parametrize("left", [0, 0.5])
def test_a_file_cut_short_by_a_power_failure_is_made_again(run: Run, tmp_path: Path, kind: str, left: float) -> None:
    run()
    (path,) = (tmp_path / "package").rglob(f"*.{kind}")
    os.truncate(path, int(left * path.stat().st_size))
    assert said(run()) == (COMPILED, "")
    assert said(run()) == (LOADED, "")
