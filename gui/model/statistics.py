"""Statistics of curves between two instants, and spectra of a channel."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from monitor.messages.blocks import Samples


@dataclass(frozen=True, slots=True)
class CurveStatistics:
    """Statistics of one curve; NaN where they are unknown.

    Parameters
    ----------
    minimum, maximum, mean, rms : in the unit of the values.
    slope : of the line of least squares, per second.
    """

    minimum: float = math.nan
    maximum: float = math.nan
    mean: float = math.nan
    rms: float = math.nan
    slope: float = math.nan

    @property
    def peak_to_peak(self) -> float:
        """Maximum less minimum."""
        return self.maximum - self.minimum


def statistics(x: Samples, values: Samples) -> list[CurveStatistics]:
    """Return the statistics of columns of values, (n, n_curves), at the instants `x`, (n,); NaN is left out."""
    return [_of_column(x, values[:, k]) for k in range(values.shape[1])]


def _of_column(x: Samples, column: Samples) -> CurveStatistics:
    known = np.isfinite(column)
    if not known.all():
        x, column = x[known], column[known]
    if not len(column):
        return CurveStatistics()
    mean = float(column.mean())
    from_middle = x - x.mean()
    spread = float(from_middle @ from_middle)
    slope = float(from_middle @ (column - mean)) / spread if spread > 0.0 else math.nan
    rms = math.sqrt(float(column @ column) / len(column))
    return CurveStatistics(float(column.min()), float(column.max()), mean, rms, slope)


_OVERLAP = 0.5


@dataclass(frozen=True, slots=True)
class Spectrogram:
    """Amplitude spectral density over time.

    Parameters
    ----------
    times : (n_segments,), s, centres of the segments after the first sample.
    frequencies : (n_frequencies,), Hz.
    density : (n_segments, n_frequencies), unit/√Hz; NaN for segments with a gap.
    """

    times: Samples
    frequencies: Samples
    density: Samples

    @property
    def mean(self) -> Samples:
        """(n_frequencies,), root mean square over the segments without a gap; NaN where there is none."""
        valid = self.density[np.isfinite(self.density[:, 0])]
        if not len(valid):
            return np.full(len(self.frequencies), np.nan)
        found: Samples = np.sqrt(np.mean(valid**2, axis=0))
        return found


def segment_length(n_samples: int, sample_rate: float, seconds: float) -> int:
    """Return the samples of a segment of about `seconds`: a power of two, at most `n_samples`."""
    wanted = max(2.0, min(float(n_samples), seconds * sample_rate))
    return 1 << int(np.log2(wanted))


def spectrogram(samples: Samples, sample_rate: float, n_segment: int, most: int = 500) -> Spectrogram:
    """Return the spectrogram of a channel, one-sided, by Welch's method: Hann windows, overlapping by half.

    Parameters
    ----------
    samples : (n_samples,); NaN for missing samples.
    sample_rate : Hz.
    n_segment : samples of a segment, even.
    most : segments at most; of a longer record they overlap less, or not at all.

    Raises
    ------
    ValueError : there are fewer samples than one segment has.
    """
    if len(samples) < n_segment:
        raise ValueError(f"{len(samples)} samples are fewer than a segment of {n_segment}")
    step = max(round(n_segment * (1.0 - _OVERLAP)), -(-(len(samples) - n_segment) // max(1, most - 1)), 1)
    segments = np.lib.stride_tricks.sliding_window_view(samples, n_segment)[::step]
    taper = np.hanning(n_segment + 1)[:-1]
    centred = segments - segments.mean(axis=1, keepdims=True)
    power = np.abs(np.fft.rfft(centred * taper, axis=1)) ** 2 / (sample_rate * np.sum(taper**2))
    # the negative frequencies; neither zero nor Nyquist's has one
    power[:, 1:-1] *= 2.0
    times = ((np.arange(len(segments)) * step + 0.5 * n_segment) / sample_rate).astype(np.float64)
    frequencies = np.fft.rfftfreq(n_segment, 1.0 / sample_rate).astype(np.float64)
    return Spectrogram(times, frequencies, np.sqrt(power).astype(np.float64))


def occupied_band(frequencies: Samples, density: Samples, share: float = 0.999) -> float:
    """Return the frequency [Hz] below which `share` of the power is; the highest where that is unknown."""
    power = np.cumsum(np.nan_to_num(density) ** 2)
    if not power[-1] > 0.0:
        return float(frequencies[-1])
    return float(frequencies[int(np.searchsorted(power, share * power[-1]))])
