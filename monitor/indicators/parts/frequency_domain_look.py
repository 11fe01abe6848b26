"""FDB's look at a whole window, eight times while it slides by its length: lag, own frequency, deviations."""

from __future__ import annotations

import numpy as np

from monitor.indicators.parts.bin_reading import (
    Tone,
    copy_gains,
    delayed_tone,
    drift_tone,
    sample_weights,
    squared_magnitude,
    tone_gains,
    tone_size,
)
from monitor.indicators.parts.deviation import add_chance_agreement, weighted_sum_deviations
from monitor.indicators.parts.dominant_tone import Taper
from monitor.indicators.parts.residual import correct_for_noise, fit_least_squares, separate_bias
from monitor.indicators.parts.unrelated_motion import UNRELATED, unexplained_share
from monitor.kernel import kernel, part, reduction
from monitor.messages.blocks import Samples
from monitor.messages.reasons import Reason

# Newton steps from the tone's lag to the motion's
_STEPS = 3
# slowest and fastest change of the phase with the delay, relative to the dominant tone's
_SLOWEST, _FASTEST = 0.3, 3.0
# s a second: a faster change of the lag is a step, of delay or gain, and no drift
_FASTEST_DRIFT = 0.01
# change of the frequency, relative, over which the reading's change with it is a line
_STEP = 1e-4
# error of the ratio, times the square of the cycles a window, over its change within the delay, measured
_IMAGE_OF_DECAY = 0.15
# held between evaluations: the motion's lag, samples; change of the phase with the lag, relative to the tone's;
# standard deviations of the phase and of the logarithm of the gain; the reading of a drift of measured; that of a
# tone of the command's frequency over that of one of measured's own; why there is no lag
LAG, PHASE_RATE, PHASE_SD, GAIN_SD, DRIFT_RE, DRIFT_IM, OWN, REASON = range(8)
N_HELD = 8
# rows of the work array, see `fit_delayed` and `_fit_delay_rate`
_DELAYED, _SLOPE, _RESIDUAL, _BIAS, _RATE = range(5)
N_WORK_ROWS = 5


@kernel
def look(
    command: Samples,
    measured: Samples,
    tone: Tone,
    tone_m: complex,
    bins_c: Samples,
    bins_m: Samples,
    taper: Taper,
    correct: bool,
    of_motion: bool,
    hidden: bool,
    half: Samples,
    first_bin: int,
    circle: Samples,
    held: Samples,
    work: Samples,
) -> complex:
    """Write what is held until the next look, (N_HELD,), and return measured's tone without its drift.

    Parameters
    ----------
    command, measured : (n_window,) each.
    tone_m : measured's tone, from which a drift is not taken yet.
    hidden : the offset hides the bin.
    """
    n_window = command.shape[0]
    k, frequency, pole = tone.k, tone.frequency, tone.pole
    product, omega = tone_m * tone.command.conjugate(), 2.0 * np.pi * frequency / n_window
    lag, phase_rate, start, stop, width = -np.arctan2(product.imag, product.real) / omega, 1.0, 0, 0, 0
    unexplained, gain, rate = np.nan, np.nan, 0.0
    for step in range(_STEPS):
        last = step == _STEPS - 1
        if last and abs(lag) < n_window and _SLOWEST <= phase_rate <= _FASTEST:
            start, stop, unexplained, drift, gain, width, rate = _fit(command, measured, lag, of_motion, work)
            if of_motion and np.isfinite(unexplained):
                # a drift against the command is not part of the motion
                drift_reading = drift * n_window * drift_tone(bins_c, k, pole, taper, half, first_bin)
                held[DRIFT_RE], held[DRIFT_IM] = drift_reading.real, drift_reading.imag
                tone_m -= drift_reading
        if of_motion:
            before = delayed_tone(bins_c, k, frequency, pole, taper, lag - 0.5, n_window)
            after = delayed_tone(bins_c, k, frequency, pole, taper, lag + 0.5, n_window)
            delayed = delayed_tone(bins_c, k, frequency, pole, taper, lag, n_window)
            product, difference = before * after.conjugate(), tone_m * delayed.conjugate()
            phase_rate = np.arctan2(product.imag, product.real) / omega
            lag -= np.arctan2(difference.imag, difference.real) / (min(max(phase_rate, _SLOWEST), _FASTEST) * omega)
    held[REASON] = Reason.OFFSET.value if hidden else _reason(phase_rate, unexplained)
    if held[REASON] != Reason.VALID.value:
        return tone_m
    held[LAG], held[PHASE_RATE], held[OWN], by_rate = lag, phase_rate, 1.0, 0.0
    slope, rates = work[_SLOPE, start:stop], work[_RATE, start:stop]
    if of_motion:
        by_rate = _read_own_frequency(held, bins_c, bins_m, tone, rate, taper, half, first_bin, n_window)
    separate_bias(slope, work[_RESIDUAL, start:stop], work[_BIAS, start:stop], gain, width)
    sample_weights(
        work[_DELAYED], work[_SLOPE], start, stop, tone_m if correct else tone.raw_m, bins_m, k, pole, taper, correct,
        circle,
    )  # fmt: skip
    if of_motion:
        for t in range(stop - start):
            slope[t] += by_rate * rates[t]
    phase_sd, gain_sd = weighted_sum_deviations(
        work[_DELAYED], work[_SLOPE], work[_RESIDUAL], work[_BIAS], start, stop
    )
    held[PHASE_SD] = add_chance_agreement(phase_sd, unexplained)
    if of_motion:
        # what the image of a tone that decays leaves
        delayed = delayed_tone(bins_c, k, frequency, pole, taper, lag, n_window)
        decay = 0.5 * np.log(squared_magnitude(tone.command) / squared_magnitude(delayed))
        gain_sd = np.hypot(gain_sd, _IMAGE_OF_DECAY * decay / (frequency * frequency))
    held[GAIN_SD] = add_chance_agreement(gain_sd, unexplained)
    return tone_m


@reduction
def _fit(
    command: Samples, measured: Samples, lag: float, of_motion: bool, work: Samples
) -> tuple[int, int, float, float, float, int, float]:
    """Fit measured by the delayed command, with a drift of the lag for the delay of the motion.

    Returns
    -------
    start, stop, unexplained, drift, gain, width : see `fit_delayed` and `fit_least_squares`; the rows of ``work`` are
        as there, but for the bias, which is still the motion.
    rate : change of the lag per sample.
    """
    start, stop, whole, drift, gain, width = fit_least_squares(
        command, measured, lag, work[_DELAYED], work[_SLOPE], work[_RESIDUAL], work[_BIAS]
    )
    if width == 0:
        return start, stop, np.nan, drift, gain, width, 0.0
    delayed, slope, residual = work[_DELAYED, start:stop], work[_SLOPE, start:stop], work[_RESIDUAL, start:stop]
    rate = _fit_delay_rate(delayed, slope, residual, work[_RATE, start:stop], gain) if of_motion else 0.0
    motion = work[_BIAS, start:stop]
    drift_change, gain_change = correct_for_noise(command, whole, start, width, delayed, motion, slope, residual)
    gain += gain_change
    return (
        start,
        stop,
        unexplained_share(motion, slope, residual, gain, width, whole),
        drift + drift_change,
        gain,
        width,
        rate,
    )


@kernel
def _read_own_frequency(
    held: Samples, bins_c: Samples, bins_m: Samples, tone: Tone, rate: float, taper: Taper, half: Samples,
    first_bin: int, n_window: int,
) -> float:  # fmt: skip
    """Write what measured reads at its own frequency, while the delay drifts; return its change by the rate."""
    k, size, by_rate = tone.k, abs(tone.scale) * tone_size(bins_c, tone.k, tone.pole, taper), 0.0
    for change in (-_STEP, -rate):
        own = tone.frequency * (1.0 + change)
        sine = np.sin(np.pi * own / n_window)
        own_scale, own_pole = tone_gains(k - first_bin, first_bin, own, sine, half, taper, n_window, bins_m)
        held[OWN] = size / (abs(own_scale) * tone_size(bins_m, k, own_pole, taper))
        by_rate = np.log(held[OWN]) / _STEP if change == -_STEP else by_rate
    copy_gains(bins_c, bins_m)
    return by_rate


@part
def _reason(phase_rate: float, unexplained: float) -> int:
    """Return why there is no lag, or that there is one."""
    if not _SLOWEST <= phase_rate <= _FASTEST:
        return Reason.NO_TONE.value
    if not unexplained < UNRELATED:
        # without a fit the lag is beyond the window
        return Reason.LAG.value if np.isnan(unexplained) else Reason.UNRELATED.value
    return Reason.VALID.value


@reduction
def _fit_delay_rate(delayed: Samples, slope: Samples, residual: Samples, weights: Samples, gain: float) -> float:
    """Return the change of the lag per sample, and remove its part from the residual, (n,) each; 0 for a step.

    Parameters
    ----------
    weights : overwritten: the derivatives of the change by each sample of measured.
    gain : measured over command.
    """
    n = delayed.shape[0]
    middle, first = 0.5 * (n - 1), delayed[0]
    sum_z = sum_a = sum_b = tilt_z = tilt_a = tilt_b = zz = za = zb = zr = aa = ab = bb = 0.0
    x = -middle
    for t in range(n):
        a, b = delayed[t] - first, slope[t]
        z = x * b
        sum_z, sum_a, sum_b = sum_z + z, sum_a + a, sum_b + b
        tilt_z, tilt_a, tilt_b = tilt_z + x * z, tilt_a + x * a, tilt_b + x * b
        zz, za, zb, zr = zz + z * z, za + z * a, zb + z * b, zr + z * residual[t]
        aa, ab, bb = aa + a * a, ab + a * b, bb + b * b
        x += 1.0
    per_sample, per_tilt = 1.0 / n, 12.0 / (n * (n * float(n) - 1.0))
    mean_a, bend = per_sample * sum_a, 2.0 * za - zz
    zz -= per_sample * sum_z * sum_z + per_tilt * tilt_z * tilt_z
    za -= mean_a * sum_z + per_tilt * tilt_z * tilt_a
    zb -= per_sample * sum_z * sum_b + per_tilt * tilt_z * tilt_b
    aa -= mean_a * sum_a + per_tilt * tilt_a * tilt_a
    ab -= mean_a * sum_b + per_tilt * tilt_a * tilt_b
    bb -= per_sample * sum_b * sum_b + per_tilt * tilt_b * tilt_b
    area = aa * bb - ab * ab
    by_a, by_b = (za * bb - zb * ab) / area, (zb * aa - za * ab) / area
    power = zz - by_a * za - by_b * zb
    rate = zr / (gain * power)
    if not abs(rate) < _FASTEST_DRIFT:
        for t in range(n):
            weights[t] = 0.0
        return 0.0
    # of the second order the fit has taken the gain's part, by parts the sum over x^2 (d^2 a/dt^2) (a - mean)
    bend -= 2.0 * mean_a * sum_z
    bend += middle * middle * (slope[0] * (0.0 - mean_a) - slope[n - 1] * (delayed[n - 1] - first - mean_a))
    size, by_gain = 0.25 * gain * rate * rate, 0.5 * gain * rate * rate * bend / aa
    mean_a += first
    offset = per_sample * (sum_z - by_b * sum_b) - by_a * mean_a
    drift, scale = per_tilt * (tilt_z - by_a * tilt_a - by_b * tilt_b), 1.0 / (gain * power)
    by_rate = rate * gain
    x = 1.0 - middle
    for t in range(1, n - 1):
        # what delay, gain, offset and drift of measured do not change
        z = x * slope[t] - by_a * delayed[t] - by_b * slope[t] - offset - drift * x
        weights[t] = scale * z
        residual[t] -= by_rate * z + size * x * x * (slope[t - 1] - slope[t + 1]) - by_gain * (delayed[t] - mean_a)
        x += 1.0
    weights[0] = weights[n - 1] = residual[0] = residual[n - 1] = 0.0
    return float(rate)
