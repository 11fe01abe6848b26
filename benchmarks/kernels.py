"""Cost of an indicator value: every pair, every sample, against numpy on the whole window."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from statistics import median
from typing import Any

import numpy as np

from benchmarks.alternatives import ellipse_by_eig, ellipse_by_lstsq, fft_of_window
from benchmarks.figures import NS, Figure
from benchmarks.timing import in_turns, median_ratio
from monitor.config import IndicatorSettings
from monitor.indicators.adaptive_phase_amplitude import AdaptivePhaseAmplitudeIndices
from monitor.indicators.base import WindowedIndicator
from monitor.indicators.broadband_delay import BroadbandDelayIndicator
from monitor.indicators.energy_error import HybridSimulationErrorMonitor
from monitor.indicators.frequency_domain import FrequencyDomainIndicator
from monitor.indicators.frequency_evaluation import FrequencyEvaluationIndex
from monitor.indicators.phase_amplitude import PhaseAmplitudeIndices
from monitor.indicators.tracking_error import PeakErrorIndicator, RmsErrorIndicator
from monitor.indicators.tracking_indicator import TrackingIndicator
from monitor.indicators.tracking_pass import create_indicators
from monitor.indicators.transfer_function import TransferFunction
from monitor.messages.blocks import Samples

SUMMARY = "one indicator value, against numpy on the window"
RATE, N_WINDOW, BLOCK = 1024.0, 1024, 64
MOST_NS, MOST_RATIO = 500.0, 0.01
MOST_TOGETHER_NS = 3000.0
TOGETHER = "all measures"
NAMES: dict[type, str] = {
    FrequencyDomainIndicator: "FDB",
    PhaseAmplitudeIndices: "PAEI",
    TrackingIndicator: "TI",
    RmsErrorIndicator: "NRMSE",
    PeakErrorIndicator: "peak error",
    AdaptivePhaseAmplitudeIndices: "adaptive PAEI",
    HybridSimulationErrorMonitor: "HSEM",
    BroadbandDelayIndicator: "broadband delay",
    FrequencyEvaluationIndex: "FEI",
    TransferFunction: "transfer function",
}
# samples before anything is timed: the longest window is full, and a sample of every evaluation has been
WARM = 8 * N_WINDOW
BANDS = {"to 102 Hz": None, "to 30 Hz": (0.0, 30.0)}


def run(quick: bool) -> Iterator[Figure]:
    """Yield ns per pair and sample for 1 and 64 pairs; a narrower band for FDB too, which depends on it most."""
    per_turn, windows, repeats = (256, 4, 2) if quick else (16384, 96, 21)
    for n_pairs in (1, 64):
        n = max(BLOCK, per_turn // n_pairs)
        x_c, x_m = signals(WARM + n, n_pairs)
        runs: dict[str, Callable[[], object]] = {}
        for band_name, band in BANDS.items():
            settings = IndicatorSettings(window=N_WINDOW / RATE, band=band)
            indicators: list[WindowedIndicator[Any]] = [*create_indicators(settings, RATE, n_pairs, with_force=True)]
            indicators.append(TransferFunction(RATE, settings.transfer_segment, n_pairs=n_pairs))
            for indicator in indicators:
                name = NAMES.get(type(indicator), type(indicator).__name__)
                if name == "FDB":
                    name = f"FDB {band_name}"
                elif band is not None:
                    continue
                _stream([indicator], x_c[:WARM], x_m[:WARM])
                runs[name] = partial(_stream, [indicator], x_c[WARM:], x_m[WARM:])
            if band is None:
                runs[TOGETHER] = partial(_stream_together, indicators, x_c[WARM:], x_m[WARM:])
        theirs = _alternatives(x_c[:, 0].copy(), x_m[:, 0].copy(), windows)
        taken = in_turns(runs | theirs, repeats)
        other = {name: [1e9 * t / windows for t in taken[name]] for name in theirs}
        for name in runs:
            ours = [1e9 * t / (n * n_pairs) for t in taken[name]]
            yield from _compared(name, n_pairs, ours, other)


def _stream(indicators: Sequence[WindowedIndicator[Any]], x_c: Samples, x_m: Samples) -> None:
    for start in range(0, len(x_c), BLOCK):
        c, m = x_c[start : start + BLOCK], x_m[start : start + BLOCK]
        for indicator in indicators:
            # an elastic specimen
            indicator.update_block(c, m, m if indicator.needs_force else None)


def _stream_together(indicators: Sequence[WindowedIndicator[Any]], x_c: Samples, x_m: Samples) -> None:
    """Hand a block to all of them as the service does: the signals are laid out once."""
    for start in range(0, len(x_c), BLOCK):
        c, m = x_c[start : start + BLOCK].copy(), x_m[start : start + BLOCK].copy()
        for indicator in indicators:
            indicator.advance(c, m, start, m if indicator.needs_force else None)


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
    if name == TOGETHER:
        both = [a + b for a, b in zip(other["FFT and argmax"], other["eig fit"], strict=True)]
        ratio = median_ratio(ours, both)
        instead = "FFT and eig fit"
        yield Figure(
            "kernels", case, median(ours), NS, min(ours), instead, median(both), ratio, MOST_TOGETHER_NS, MOST_RATIO
        )
    elif not against:
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
