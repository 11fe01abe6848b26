"""A motion of known delay and ratio, and how a recording is judged by it: without what reads or assesses it."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from replay.formats import Recording, RecordingError, Selection, open_recording

RATE, N, DELAY, GAIN = 200.0, 1600, 0.012, 0.98
TIMES = np.arange(N) / RATE
_FREQUENCIES = 1.3, 0.7


def command(times: np.ndarray) -> np.ndarray:
    """Return the command, mm, at some instants, s."""
    return 10.0 * np.sin(2 * np.pi * 1.3 * times) + 4.0 * np.sin(2 * np.pi * 0.7 * times + 1.0)


def measured(times: np.ndarray) -> np.ndarray:
    """Return what follows it by `DELAY`, smaller by `GAIN`."""
    return GAIN * command(times - DELAY)


def check_delay(recording: Recording, *, scale: float = 1.0, tolerance: float = 1e-4) -> None:
    """Check delay, s, and gain of the only pair, by a fit of its two tones at the times of its samples.

    Parameters
    ----------
    scale : of the gain, where both signals are in other units.
    """
    (pair,) = recording.stream.pairs
    times, rows = [], []
    for block in recording.blocks(1 << 20):
        times.append(block.time + np.arange(len(block)) / block.stream.sample_rate)
        rows.append(block.samples[:, [pair.command, pair.measured]])
    t, values = np.concatenate(times), np.concatenate(rows)
    assert len(t) > N // 2
    good = np.isfinite(values).all(axis=1)
    t, values = t[good] - t[0], values[good]
    tones = [np.exp(2j * np.pi * f * t) for f in _FREQUENCIES]
    basis = np.column_stack([*(part for tone in tones for part in (tone.real, -tone.imag)), np.ones(len(t))])
    fits = np.linalg.lstsq(basis, values, rcond=None)[0]
    for k, frequency in enumerate(_FREQUENCIES):
        sent, came = fits[2 * k] + 1j * fits[2 * k + 1]
        late = -np.angle(came / sent) / (2 * np.pi * frequency)
        assert abs(late - DELAY) < tolerance, f"{late * 1e3:.4f} ms at {frequency} Hz; {recording.notes}"
        assert abs(abs(came / sent) / (GAIN * scale) - 1.0) < 3e-3, f"{abs(came / sent)} at {frequency} Hz"


def refusal(path: Path, selection: Selection | None = None) -> str:
    """Return the one line with which a file is refused, empty where it is not."""
    try:
        open_recording(path, selection or Selection())
    except RecordingError as problem:
        assert "\n" not in str(problem)
        return str(problem)
    return ""
