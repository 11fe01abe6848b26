"""Cost of an indicator value: every pair, every sample, against numpy on the whole window."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from statistics import median
from typing import Any

import numpy as np

from benchmarks.alternatives import ellipse_by_eig, ellipse_by_lstsq, fft_of_window
from benchmarks.figures import NS, Figure
from benchmarks.timing import in_turns, median_ratio
from monitor.blocks import Samples
from monitor.config import IndicatorSettings
from monitor.indicators.base import WindowedIndicator
from monitor.indicators.catalogue import all_indicators
from monitor.indicators.frequency_domain import FrequencyDomainIndicator
from monitor.indicators.peak_error import PeakError
from monitor.indicators.phase_amplitude import PhaseAmplitudeIndices
from monitor.indicators.rms_error import RootMeanSquareError
from monitor.indicators.tracking_indicator import TrackingIndicator

SUMMARY = "one indicator value, against numpy on the window"
RATE, N_WINDOW, BLOCK = 1024.0, 1024, 64
MOST_NS, MOST_RATIO = 500.0, 0.01
NAMES: dict[type, str] = {
    FrequencyDomainIndicator: "FDB",
    PhaseAmplitudeIndices: "PAEI",
    TrackingIndicator: "TI",
    RootMeanSquareError: "NRMSE",
    PeakError: "peak error",
}
BANDS = {"to 102 Hz": None, "to 30 Hz": (0.0, 30.0)}


def run(quick: bool) -> Iterator[Figure]:
    """Yield ns per pair and sample for 1 and 64 pairs; both bands for FDB, which alone depends on it."""
    per_turn, windows, repeats = (256, 4, 2) if quick else (16384, 96, 21)
    for n_pairs in (1, 64):
        n = max(BLOCK, per_turn // n_pairs)
        x_c, x_m = signals(2 * N_WINDOW + n, n_pairs)
        runs: dict[str, Callable[[], object]] = {}
        for band_name, band in BANDS.items():
            settings = IndicatorSettings(window=N_WINDOW / RATE, band=band)
            for indicator in all_indicators(settings, RATE, n_pairs):
                name = NAMES[type(indicator)]
                if name == "FDB":
                    name = f"FDB {band_name}"
                elif band is not None:
                    continue
                indicator.update_block(x_c[: 2 * N_WINDOW], x_m[: 2 * N_WINDOW])
                runs[name] = partial(_stream, indicator, x_c[2 * N_WINDOW :], x_m[2 * N_WINDOW :])
        theirs = _alternatives(x_c[:, 0].copy(), x_m[:, 0].copy(), windows)
        taken = in_turns(runs | theirs, repeats)
        other = {name: [1e9 * t / windows for t in taken[name]] for name in theirs}
        for name in runs:
            ours = [1e9 * t / (n * n_pairs) for t in taken[name]]
            yield from _compared(name, n_pairs, ours, other)


def _stream(indicator: WindowedIndicator[Any], x_c: Samples, x_m: Samples) -> None:
    for start in range(0, len(x_c), BLOCK):
        indicator.update_block(x_c[start : start + BLOCK], x_m[start : start + BLOCK])


def _alternatives(x_c: Samples, x_m: Samples, windows: int) -> dict[str, Callable[[], object]]:
    hann = np.hanning(N_WINDOW + 1)[:-1]

    def slide(analyse: Callable[[Samples, Samples], object]) -> None:
        for start in range(windows):
            analyse(x_c[start : start + N_WINDOW], x_m[start : start + N_WINDOW])

    return {
        "FFT and argmax": partial(slide, partial(fft_of_window, hann=hann, high=N_WINDOW // 10)),
        "eig fit": partial(slide, ellipse_by_eig),
        "lstsq fit": partial(slide, ellipse_by_lstsq),
    }


def _compared(name: str, n_pairs: int, ours: list[float], other: dict[str, list[float]]) -> Iterator[Figure]:
    against = {"FDB": ("FFT and argmax",), "PAEI": ("eig fit", "lstsq fit")}.get(name.split()[0], ())
    case = f"{name}, {n_pairs} pair{'s' * (n_pairs > 1)}"
    if not against:
        yield Figure("kernels", case, median(ours), NS, min(ours))
    for alternative in against:
        theirs = other[alternative]
        ratio = median_ratio(ours, theirs)
        yield Figure(
            "kernels", case, median(ours), NS, min(ours), alternative, median(theirs), ratio, MOST_NS, MOST_RATIO
        )


def signals(n: int, n_pairs: int) -> tuple[Samples, Samples]:
    """Return noisy tones and their late, smaller copies, (n, n_pairs) each."""
    t = np.arange(n)[:, None] / RATE
    frequency = np.linspace(3.0, 9.0, n_pairs)
    noise = np.random.default_rng(1).normal(scale=0.01, size=(2, n, n_pairs))
    x_c = np.sin(2.0 * np.pi * frequency * t) + noise[0]
    return x_c, 0.95 * np.sin(2.0 * np.pi * frequency * (t - 0.008)) + noise[1]
