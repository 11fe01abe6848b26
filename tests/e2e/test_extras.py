"""The base installation: commands that lack a package say so in one line, all others work without it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from monitor.__main__ import _EXTRAS, _PACKAGES, COMMANDS
from monitor.system import install_command

ROOT = Path(__file__).parents[2]
ANY_PORT = "tcp://127.0.0.1:*"
HIDDEN = f"import sys; sys.modules.update(dict.fromkeys({tuple(_EXTRAS)!r})); "


def python(*words: object, folder: Path = ROOT) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *map(str, words)],
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
        check=False,
        timeout=200,
    )


def without_extras(*words: object) -> subprocess.CompletedProcess[str]:
    """Run a command in a process in which no extra is installed."""
    return python("-c", f"{HIDDEN}from monitor.__main__ import main; sys.exit(main(sys.argv[1:]))", *words)


PUBLISHING = f"--bind {ANY_PORT} --publish {ANY_PORT} --quiet"


@pytest.mark.parametrize(
    ("words", "package", "extra"),
    [
        ("gui", "PySide6", "gui"),
        (f"monitor --mqtt 127.0.0.1 {PUBLISHING}", "aiomqtt", "mqtt"),
        (f"monitor --connect lsl://rig --publish {ANY_PORT} --quiet", "pylsl", "lsl"),
        (f"monitor --lsl --insecure {PUBLISHING}", "pylsl", "lsl"),
        ("export run.h5 --to parquet", "pyarrow", "formats"),
        ("report run.h5", "Jinja2", "report"),
        ("study tracking --case i --pictures FOLDER", "matplotlib", "study"),
        ("compare a.csv b.csv", "scipy", "study"),
    ],
)
def test_a_command_without_its_packages_says_which_in_one_line(warm_kernels, words, package, extra, tmp_path) -> None:
    done = without_extras(*words.replace("FOLDER", str(tmp_path)).split())
    told = f"synchroscope {words.split()[0]} needs {package}: pip install 'synchroscope[{extra}]'\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", told)


@pytest.mark.parametrize(
    ("mark", "told"),
    [
        ("pipx_metadata.json", "pipx inject synchroscope 'synchroscope[gui]'"),
        ("pyvenv.cfg", "uv pip install --python PREFIX 'synchroscope[gui]'"),
        ("of no tool", f"{sys.executable} -m pip install 'synchroscope[gui]'"),
    ],
)
def test_an_extra_is_added_to_the_environment_that_lacks_it(mark, told, tmp_path, monkeypatch) -> None:
    (tmp_path / mark).write_text("home = /usr/bin\nuv = 0.9\n")
    monkeypatch.setattr("sys.prefix", str(tmp_path))
    monkeypatch.setenv("PATH", "/nowhere")
    assert install_command("gui") == told.replace("PREFIX", str(tmp_path))


@pytest.mark.parametrize("words", [(), *((command,) for command in COMMANDS)], ids=" ".join)
def test_help_needs_the_base_alone(words) -> None:
    done = without_extras(*words, "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(" ".join(("usage: synchroscope", *words)))


def test_a_table_is_assessed_with_the_base_alone(warm_kernels, tmp_path) -> None:
    table = tmp_path / "run.csv"
    rows = (f"{i / 200:.3f},{(i % 100) / 100:.2f},{((i - 4) % 100) / 100:.2f}" for i in range(2400))
    table.write_text("t,north.command,north.measured\n" + "\n".join(rows))
    bare, full = without_extras("assess", table, "--json"), python("-m", "monitor", "assess", table, "--json")
    assert bare.returncode == 0, bare.stderr
    assert bare.stdout == full.stdout


def test_all_public_names_are_there_with_the_base_alone() -> None:
    done = python("-c", f"{HIDDEN}import monitor; [getattr(monitor, name) for name in dir(monitor)]")
    assert (done.returncode, done.stderr) == (0, "")


def test_every_package_is_in_the_extra_that_is_named() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for package, extra in _EXTRAS.items():
        name = _PACKAGES.get(package, package)
        assert any(requirement.startswith(name) for requirement in extras[extra]), package


@pytest.mark.parametrize("name", ["replay.py", "gui.py", "sim.py"])
def test_a_file_of_the_users_that_hides_a_package_is_named(tmp_path, name) -> None:
    hiding = tmp_path / name
    hiding.write_text("")
    done = python("-m", "monitor", "recover", "x.h5", folder=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith(f"synchroscope: {hiding} hides Synchroscope's own package {hiding.stem!r}: ")
    assert done.stderr.count("\n") == 1


def test_help_tells_the_defaults() -> None:
    told = " ".join(python("-m", "monitor", "replay", "--help").stdout.split())
    assert "start S seconds after the beginning of the record (default: 0.0)" in told


@pytest.mark.parametrize("locked", sorted((ROOT / ".ci" / "locked").iterdir()), ids=lambda path: path.stem)
def test_ci_has_a_version_with_hashes_of_every_package_that_pyproject_names(locked) -> None:
    text = locked.read_text()
    assert "://" not in text, "the address of an index"
    pins = dict(re.findall(r"^(\S+)==(\S+) .*\\\n    --hash=sha256:", text, re.MULTILINE))
    assert len(pins) == text.count("==") - text.count(" == ")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    named = project["build-system"]["requires"] + project["project"]["dependencies"]
    for extra in project["project"]["optional-dependencies"].values():
        named += extra
    machine = {"python_version": locked.stem, "sys_platform": "linux", "platform_machine": "x86_64"}
    for requirement in map(Requirement, named):
        wanted = requirement.marker is None or requirement.marker.evaluate(machine)
        if wanted and requirement.name != "synchroscope":
            assert requirement.specifier.contains(pins[canonicalize_name(requirement.name)]), requirement
