"""The paths of docs/how-to.md, as its reader would go them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from monitor.__main__ import main
from sim.excitation import Earthquake

ROOT = Path(__file__).parents[2]
RATE, CHANGE, DELAYS, GAIN = 512.0, 20.0, (0.012, 0.025), 0.97

pytestmark = pytest.mark.usefixtures("warm_kernels")


def _example(name: str, *words: object) -> str:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, str(ROOT / "examples" / name), *map(str, words)]
    return subprocess.run(command, env=environment, check=True, capture_output=True, text=True, timeout=300).stdout


@pytest.fixture
def rig(tmp_path: Path) -> Path:
    """A record of a laboratory: a title, units, rounded times; the delay changes at 20 s."""
    t = np.arange(0.0, 40.0, 1.0 / RATE)
    motion = Earthquake(rms=6.0, seed=3, ground_frequency=1.5, strong=30.0).sample
    measured = GAIN * motion(t - np.where(t < CHANGE, *DELAYS)) + np.random.default_rng(1).normal(0.0, 0.03, t.size)
    path = tmp_path / "rig.csv"
    head = "Laboratory of Structures, test 17\nTime [s],Command disp [mm],Measured disp [mm]"
    np.savetxt(path, np.column_stack([t, motion(t), measured]), "%.6f,%.4f,%.4f", header=head, comments="")
    return path


def test_a_record_gives_its_delays_the_moment_of_the_change_and_a_picture(rig, tmp_path, capsys) -> None:
    series, picture = tmp_path / "delay.csv", tmp_path / "delay.png"
    assert main(["assess", str(rig), "--series", str(series)]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    found = re.search(r"delay changes from ([\d.]+) ± \S+ to ([\d.]+) ± \S+ ms at ([\d.]+) ± ([\d.]+) s", printed)
    assert found is not None, printed
    before, after, moment, sd = map(float, found.groups())
    assert (before, after) == pytest.approx((12.0, 25.0), abs=0.1)
    assert abs(moment - CHANGE) <= sd <= 1.0
    _example("plot_series.py", series, picture)
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_the_loop_compensates_the_lag_of_its_actuator() -> None:
    number = r"\s*([\d.]+) ms compensated: rms error of the position ([\d.]+)"
    (none, error), (delay, compensated) = (
        tuple(map(float, found)) for found in re.findall(number, _example("compensate_delay.py"))
    )
    assert none == 0.0
    assert delay == pytest.approx(1e3 * 15 / 1024, abs=0.1)
    assert compensated < 0.05 * error
