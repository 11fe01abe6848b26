"""What an import costs: names and codecs load nothing heavy, kernels only when they are asked for."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HEAVY = ("numba", "pandas", "h5py", "zmq", "scipy")


def run(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.mark.parametrize(
    "package", ["monitor", "monitor.wire.native", "monitor.messages.blocks", "sim", "replay", "gui"]
)
def test_an_import_loads_nothing_heavy(package):
    loaded = run(f"import sys, {package}; print(*sorted(set({HEAVY!r}) & set(sys.modules)))")
    assert loaded == []


def test_the_indicators_are_at_the_front_door():
    code = (
        "from monitor import FrequencyDomainIndicator, PhaseAmplitudeIndices\n"
        "print(FrequencyDomainIndicator.__module__, PhaseAmplitudeIndices.__module__)"
    )
    assert run(code) == ["monitor.indicators.frequency_domain", "monitor.indicators.phase_amplitude"]


def test_every_public_name_is_there_and_no_other():
    code = (
        "import monitor\n"
        "print(*[name for name in monitor.__all__ if not hasattr(monitor, name)])\n"
        "assert not hasattr(monitor, 'no_such_name')"
    )
    assert run(code) == []


def test_dir_lists_the_public_names_and_nothing_else():
    code = "import monitor\nprint(*dir(monitor))"
    names = run(code)
    assert names == sorted(names)
    assert {"connect", "Rig", "Monitor", "SignalBlock"} <= set(names)
    assert not [name for name in names if name.startswith("_") or name in ("annotations", "lazy_loader")]


def test_the_package_is_imported_at_once():
    code = "from time import perf_counter\nbegan = perf_counter()\nimport monitor\nprint(perf_counter() - began)"
    assert min(float(run(code)[0]) for _ in range(3)) < 0.1
