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


def test_signals_are_taken_note_of_before_numpy_is_loaded():
    assert "numpy" not in run("import sys, monitor.__main__; print(*sys.modules)")


@pytest.mark.parametrize("package", ["monitor", "sim", "replay", "gui"])
def test_a_package_publishes_its_types(package):
    """As the classifier `Typing :: Typed` promises: without the marker, type checkers ignore the annotations."""
    assert (ROOT / package / "py.typed").is_file()


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


NO_SCIPY = """
import sys

class NoScipy:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "scipy":
            raise ModuleNotFoundError(f"{name} is not installed", name=name)
        return None

sys.meta_path.insert(0, NoScipy())
"""


@pytest.mark.parametrize("package", ["indicators", "engine", "messages", "config", "alarms", "reliability", "wire"])
def test_a_package_is_imported_without_scipy(package):
    code = f"""
import importlib, pkgutil, monitor, monitor.{package} as package

for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
    importlib.import_module(module.name)
print(*[name for name in sys.modules if name.partition(".")[0] == "scipy"])
"""
    assert run(NO_SCIPY + code) == []


def test_the_engine_computes_every_measure_without_scipy():
    """scipy takes a third of a second to import; without it numba has no BLAS for `@` in a kernel."""
    code = """
import numpy as np
from monitor.engine.monitor import Monitor, warm_up
from monitor.config import MEASURES, IndicatorSettings
from monitor.indicators.benchmark_criteria import benchmark_criteria
from monitor.indicators.frequency_evaluation import frequency_evaluation_index
from monitor.messages.blocks import Channel, Role, SignalBlock, Stream

warm_up(bandpass=True)
t = np.arange(1500) / 100.0
samples = np.stack([np.sin(9.0 * t), 0.9 * np.sin(9.0 * (t - 0.03)), 2.0 * np.sin(9.0 * (t - 0.03))], axis=1)
roles = (Role.COMMAND, Role.MEASURED, Role.FORCE)
stream = Stream("rig", 1, 100.0, tuple(Channel(role.value, role, "m", "a") for role in roles))
monitor = Monitor(IndicatorSettings(window=2.0, bandpass=(0.5, 20.0), yield_displacement=0.5))
update = monitor.update(SignalBlock(stream, 0, 0.0, samples, last=True))
names = [column.name for column in update.results.stream.columns]
last = update.results.values[-1]
assert abs(last[names.index("broadband_delay")] - 0.03) < 1e-3
assert update.transfer is not None and set(MEASURES) == set(monitor.settings.measures)
benchmark_criteria(samples[:, 0], samples[:, 1], 100.0)
frequency_evaluation_index(samples[:, 0], samples[:, 1], 100.0)
print(*[name for name, value in zip(names, last) if np.isnan(value)])
print(*[name for name in sys.modules if name.partition(".")[0] == "scipy"])
"""
    assert run(NO_SCIPY + code) == []
