"""Nothing is read or written past the end of an array: a compiled kernel would not notice, plain Python does."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

UNCOMPILED = """
import sys
import numpy as np
from monitor.config import IndicatorSettings
from monitor.indicators.catalogue import all_indicators
from monitor.indicators.transfer_function import TransferFunction

n, rate = int(sys.argv[1]), 100.0
rng = np.random.default_rng(n)
for band in (None, (0.5, 40.0)):
    for lag in (1, n // 4, -n // 4):
        x_c = rng.normal(size=5 * n)
        x_m = np.roll(x_c, lag) + 0.1 * rng.normal(size=5 * n)
        x_c[3] = np.nan
        settings = IndicatorSettings(window=n / rate, band=band, max_delay=10.0)
        transfer = TransferFunction(rate, n / rate, band=band)
        for indicator in (*all_indicators(settings, rate, 1, with_force=True), transfer):
            indicator.update_block(x_c, x_m, x_m if indicator.needs_force else None)
print("done")
"""


@pytest.mark.parametrize("n_window", [16, 17, 18, 25, 50])
def test_short_windows_and_wide_bands(n_window):
    command = [sys.executable, "-W", "ignore", "-c", UNCOMPILED, str(n_window)]
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == "done", done.stderr
