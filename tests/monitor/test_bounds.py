"""Nothing is read or written past the end of an array: a compiled kernel would not notice, plain Python does."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

UNCOMPILED = """
import sys
import numpy as np
from monitor.config import MEASURES, IndicatorSettings
from monitor.indicators.tracking_pass import create_indicators
from monitor.indicators.transfer_function import TransferFunction

rate = 100.0
for n in map(int, sys.argv[1:]):
    rng = np.random.default_rng(n)
    # of fewer samples some refuse a window
    refuse = (("fdb", "paei") if n < 32 else ()) + (("broadband", "fei") if n < 24 else ())
    measures = [measure for measure in MEASURES if not measure.startswith(refuse)]
    for band in (None, (0.5, 40.0)):
        for lag in (1, n // 4, -n // 4):
            x_c = rng.normal(size=5 * n)
            x_m = np.roll(x_c, lag) + 0.1 * rng.normal(size=5 * n)
            x_c[3] = np.nan
            settings = IndicatorSettings(measures=measures, window=n / rate, band=band, max_delay=10.0)
            transfer = TransferFunction(rate, n / rate, band=band)
            for indicator in (*create_indicators(settings, rate, 1, with_force=True), transfer):
                indicator.update_block(x_c, x_m, x_m if indicator.needs_force else None)
    print(n)
"""


RELIABILITY = """
import sys
import numpy as np
from monitor.reliability.ensemble import Ensemble, sort_ensemble
from monitor.reliability.joint import JointReliability
from monitor.reliability.site import SiteReliability
from monitor.reliability.tolerance import Tolerance, TolerancePolicy

instants = np.arange(7)
for m in map(int, sys.argv[1:]):
    rng = np.random.default_rng(m)
    sound = sort_ensemble(0.1 * instants, np.round(rng.normal(size=(7, m)), 1))
    # in a damaged file realizations are named that are not there; the ends of each instant are looked at before
    order = sound.order.copy()
    order[:, 1:-1] = rng.integers(2 * m, 2**32, size=(7, max(m - 2, 0)))
    damaged = Ensemble(sound.time, sound.response, order)
    for n in (1, 3):
        measured = np.round(rng.normal(size=(7, n)), 1)
        both = [measured, measured[:, :1]]
        for size in (1e-9, 0.5, 100.0):
            tolerance = Tolerance(TolerancePolicy.ABSOLUTE, size)
            for ensemble in (sound, damaged):
                for window in (0, 1, 3, 7, 8):
                    SiteReliability(ensemble, tolerance, n, window).update(instants, measured)
                JointReliability([ensemble] * 2, [tolerance] * 2, [n, 1]).update(instants, both)
    print(m)
"""


def run_uncompiled(code, sizes):
    # in one process, which is slower to start than to run
    words = [str(size) for size in sizes]
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    command = [sys.executable, "-W", "ignore", "-c", code, *words]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=240)
    assert done.stdout.split() == words, done.stderr


@pytest.mark.slow
def test_short_windows_and_wide_bands():
    run_uncompiled(UNCOMPILED, (16, 17, 18, 25, 32, 33, 34, 50))


def test_reliability_of_few_realizations_and_of_a_damaged_order():
    run_uncompiled(RELIABILITY, (1, 2, 3, 40))
