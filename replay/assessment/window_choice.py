"""How long a window a recording needs, from the dominant motion of its commands."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from replay.formats import Recording

_BLOCK = 4096


def choose_window(recording: Recording, default: float) -> tuple[float, str]:
    """Return a window for a recording, s, and a note when it is not the default.

    The default where it holds 2.5 cycles of every command's dominant motion and the record holds two
    windows; else 2.5 cycles where that fits; else three quarters of the record.
    """
    duration = recording.n_samples / recording.stream.sample_rate
    frequency = min(_dominant_frequencies(recording), default=np.nan)
    if not frequency > 0.0:
        return min(default, 0.5 * duration), ""
    window = max(default, 2.5 / frequency)
    if 2.0 * window > duration:
        window = min(2.5 / frequency, 0.75 * duration)
    if window == default:
        return window, ""
    return window, f"window {window:.4g} s, chosen for this record"


def _dominant_frequencies(recording: Recording) -> Iterator[float]:
    commands: Any = [
        np.concatenate([block.samples[:, pair.command] for block in recording.blocks(_BLOCK)])
        for pair in recording.stream.pairs
    ]
    for command in commands:
        command = np.nan_to_num(command - np.nanmean(command)) if np.isfinite(command).any() else command * 0.0
        n = len(command)
        # padded, so that a record of two cycles gives its frequency to a few percent, and of the velocity, so
        # that the motion is found beside a slow drift or a lasting displacement
        spectrum = np.abs(np.fft.rfft(command * np.hanning(n), 8 * n))
        power = (spectrum * np.arange(len(spectrum))) ** 2 * (np.arange(len(spectrum)) < 0.8 * n)
        peak = int(power.argmax())
        if power[peak] > 0.0:
            yield peak * recording.stream.sample_rate / (8 * n)
