"""FDB: phase error, delay and amplitude ratio at the command's dominant frequency.

Eqs. 4 and 5 of the review (Mirza Hessabi and Mercan 2015). In numpy: `reference.frequency_domain`. Settings:
`FrequencyDomainSettings`. The kernel slides the bins around the peak at every sample (`_slide`); searches the tone
and looks at the whole window eight times a window (`_search`, `_look`); reads a row where one is due (`_read`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from monitor.catalogue import CATALOGUE
from monitor.config.analysis import FrequencyDomainSettings
from monitor.indicators.base import PassIndicator
from monitor.indicators.parts import memory as kinds
from monitor.indicators.parts.bin_reading import (
    N_ROWS,
    NEIGHBOURS,
    NO_TONE,
    Tone,
    delayed_tone,
    non_tonal_share,
    read_tones,
    squared_magnitude,
)
from monitor.indicators.parts.dominant_tone import (
    BELOW,
    N_TRACKED,
    SPAN,
    STEP_C,
    STEP_M,
    TAPERS,
    Taper,
    choose_bins,
    drift_exceeded,
    half_angles,
    set_bins,
    slide_bins,
    tapered,
    tapered_peak,
    transform_both,
    unit_circle,
    unpack_bins,
)
from monitor.indicators.parts.fourier import Transform, new_transform
from monitor.indicators.parts.frequency_domain_look import (
    DRIFT_IM,
    DRIFT_RE,
    GAIN_SD,
    LAG,
    N_HELD,
    N_WORK_ROWS,
    OWN,
    PHASE_RATE,
    PHASE_SD,
    REASON,
    look,
)
from monitor.indicators.parts.memory import FDB, open_state
from monitor.indicators.parts.sample_loop import (
    advance_row_clock,
    clear_row,
    is_good,
    new_gate,
    new_held,
    next_position,
    start_row_clock,
    update_gate,
    write_reason,
)
from monitor.indicators.parts.swept_area import add_damping
from monitor.kernel import inlined, kernel
from monitor.messages.blocks import Samples
from monitor.messages.reasons import Reason


class FrequencyDomainValues(NamedTuple):
    """Values of FDB for one actuator.

    ``ratio`` command/measured (> 1 undershoot); ``phase`` rad, positive: measured leads; ``delay`` s,
    positive: measured lags; ``frequency`` Hz, the command's dominant one; ``amplitude`` of the command there;
    ``ratio_sd``, ``phase_sd`` rad, ``delay_sd`` s: one standard deviation; ``added_damping``: damping ratio that
    the error of an elastic specimen adds to the structure, per unit of the specimen's share of the stiffness unless
    that is given; negative where the measured signal lags; ``reason``: `Reason` of no value.
    """

    ratio: float
    phase: float
    delay: float
    frequency: float
    amplitude: float
    ratio_sd: float
    phase_sd: float
    delay_sd: float
    added_damping: float
    reason: float


class FrequencyDomainIndicator(PassIndicator[FrequencyDomainValues]):
    """Frequency-domain-based error indicators (Mirza Hessabi and Mercan), exact for a steady tone.

    Parameters
    ----------
    sample_rate : Hz.
    window : s; 2.5 cycles or more of the slowest motion of interest, and never less than one.
    n_pairs, every : see `WindowedIndicator`.
    options : fields of `FrequencyDomainSettings`.

    Notes
    -----
    Eqs. 4 and 5 of Mirza Hessabi and Mercan 2015, with three corrections: both signals are read at the command's peak
    bin, because peaks in neighbouring bins put the phase off by about pi (`peak`); the phase is measured minus
    command, so that a lead is positive; and the tone's image at the negative frequency is removed at the tone's own
    frequency, which lies between the bins (`image_correction`; not at own peaks). Without noise the result is then
    exact from one cycle in the window on, whatever the start phase, the offsets and the taper. Frequency and
    amplitude are exact in all variants. Of the tapers Hann's has the side lobes that fall off fastest.

    A tapered bin of an earthquake contains many frequencies. The delay is therefore the one of the command, under its
    taper, at which its bin has the phase of the measured one (`bin_reading`, ours): exact for any motion, and for a
    steady tone equal to phase over frequency, which is what `delay_of` the tone gives: in an earthquake a tenth off.
    The phase is that of the delay at the dominant frequency. The ratio is the paper's, |C|/|M| at one instant: in a
    motion of delay tau that decays or grows as exp(s t) it is exp(s tau) times the actuator's, which
    `broadband_ratio` is. While the delay drifts by r a second, measured is a tone of the frequency f (1 - r): its bin
    is read at that.

    Of unrelated signals frequency and amplitude, which are the command's alone, are valid. So it is for a motion of
    one cycle a window that is not a tone: no bin is free of the offset.

    The peak bin, the gate, the standard deviations and the change of the phase with the delay are updated eight times
    a window, at every `hop`-th sample, from a transform of the whole window; in between the bins around the peak are
    tracked (`dominant_tone`) and read at each sample. When a spike of a million times the motion leaves the window,
    nothing is valid until the next transform.
    The added damping is `loop_damping` (ours).
    """

    outputs = CATALOGUE["fdb"].outputs
    value_type = FrequencyDomainValues
    settings: FrequencyDomainSettings = FrequencyDomainSettings()
    smallest_window = 32
    part = FDB
    evaluations = 8

    def _plan(self) -> None:
        self._bins = choose_bins(self.n_window, self.sample_rate, self.settings.band)

    def new_arrays(self) -> FdbState:
        """Return the initial arrays."""
        n, pairs, settings = self.n_window, self.n_pairs, self.settings
        taper, bins, own = TAPERS[settings.taper], self._bins, settings.peak == "own"
        correct = settings.image_correction and not own
        return FdbState(
            self.hop, self.sample_rate, own, correct, correct and settings.delay_of == "motion",
            taper.near, taper.far, settings.gate, settings.relative_gate, bins.first, bins.low, bins.high,
            settings.share or 0.0, half_angles(n, bins), unit_circle(n), np.zeros((pairs, 4, N_TRACKED)),
            np.zeros((pairs, 3)), np.zeros(pairs, np.int64), np.zeros((pairs, 2), np.int64),
            new_held(pairs, N_HELD, REASON), np.zeros((N_WORK_ROWS, n)),
            np.zeros((N_ROWS, NEIGHBOURS)), np.zeros((N_ROWS, NEIGHBOURS)), *new_transform(n), *new_gate(pairs),
        )  # fmt: skip


_MIN_POWER_RATIO, _LARGEST_SD = 1e-12, 0.3  # the latter in rad, of the phase: above it no value is valid
# share of the command's power outside the tone, where the offset hides a neighbour of its bin
_MAX_NON_TONAL = 0.02
# Cramer-Rao bound of a frequency, in cycles a window, over that of a phase, as variances
_FREQUENCY_NOISE = 3.0 / np.pi**2
# columns of the results
_RATIO, _PHASE, _DELAY, _FREQUENCY, _AMPLITUDE, _RATIO_SD, _PHASE_SD, _DELAY_SD, _DAMPING, _REASON = range(10)


class FdbState(NamedTuple):
    """Settings and arrays of FDB.

    ``hop`` samples; ``own_peaks``, ``correct``, ``of_motion``: what is read; ``near``, ``far``: `Taper`;
    ``absolute``, ``relative``: gate; ``first_bin``, ``low_bin``, ``high_bin``: `Bins`; ``share``: 0 for none;
    ``half`` (2, n_bins) and ``circle`` (2, n_window): see `dominant_tone`; ``bins`` (n_pairs, 4, 8): the tracked
    bins; ``steps`` (n_pairs, 3): largest steps since the last transform; ``good`` (n_pairs,): consecutive good
    samples; ``found`` (n_pairs, 2): bin of the peak, and whether the gate is open; ``held`` (n_pairs, 8) between
    evaluations; ``work`` (5, n_window); ``bins_c``, ``bins_m`` (4, 5): see `read_neighbours`; ``radices`` ..
    ``buffers``: `Transform`.
    """

    hop: kinds.Count
    sample_rate: kinds.Number
    own_peaks: kinds.Flag
    correct: kinds.Flag
    of_motion: kinds.Flag
    near: kinds.Number
    far: kinds.Number
    absolute: kinds.Number
    relative: kinds.Number
    first_bin: kinds.Count
    low_bin: kinds.Count
    high_bin: kinds.Count
    share: kinds.Number
    half: kinds.Matrix
    circle: kinds.Matrix
    bins: kinds.Cube
    steps: kinds.Matrix
    good: kinds.IntVector
    found: kinds.IntMatrix
    held: kinds.Matrix
    work: kinds.Matrix
    bins_c: kinds.Matrix
    bins_m: kinds.Matrix
    radices: kinds.IntVector
    table: kinds.Matrix
    chirp: kinds.Matrix
    chirp_spectrum: kinds.Matrix
    buffers: kinds.Matrix
    gate_peak: kinds.Vector
    gate_lowest: kinds.Vector
    gate_start: kinds.IntVector


open_fdb = open_state(FdbState)


@kernel
def advance_fdb(
    x_c: Samples, x_m: Samples, columns: kinds.IntMatrix, first: int, every: int, out: Samples, memory: Samples,
    n: int, ring: Samples, at: int,
) -> None:  # fmt: skip
    """Take samples, (n_samples, n_channels), the first at `at` in the ring; write rows, (n_rows, n_pairs, 10)."""
    state = open_fdb(memory, n)
    n_window = state.circle.shape[1]
    row_clock = start_row_clock(first, every)
    for i in range(x_c.shape[0]):
        row_clock = advance_row_clock(row_clock, every)
        row_due, row, begin, end = row_clock.due, row_clock.row, at + 1 - n_window, at + 1
        for pair in range(columns.shape[1]):
            _slide(state, pair, x_c[i, columns[0, pair]], x_m[i, columns[1, pair]], ring, begin)
            if row_due:
                clear_row(out, row, pair, state.held[pair, REASON])
            due = (first + i + pair) % state.hop == 0 or state.good[pair] == n_window
            if state.good[pair] < n_window or not (row_due or due):
                continue
            command, measured = ring[pair, 0, begin:end], ring[pair, 1, begin:end]
            tone, hidden = _search(state, pair, command, measured, due)
            amplitude = 2.0 * np.sqrt(squared_magnitude(tone.command)) / abs(tone.scale)
            reason = _command_reason(state, pair, tone, amplitude, due)
            if reason == Reason.VALID.value:
                if row_due:
                    out[row, pair, _FREQUENCY] = tone.frequency * state.sample_rate / n_window
                    out[row, pair, _AMPLITUDE] = amplitude
                reason, of_measured = _look(state, pair, tone, hidden, command, measured, due)
                if row_due and reason == Reason.VALID.value:
                    reason = _read(state, pair, tone, of_measured, command, measured, out[row, pair])
            write_reason(out, row_due, row, pair, reason)
        at = next_position(at, ring)


@inlined
def _slide(state: FdbState, pair: int, c: float, m: float, ring: Samples, begin: int) -> None:
    """Slide the tracked bins of a pair by one sample; its window begins at `begin` in the ring."""
    if not is_good(c, m):
        state.good[pair], state.held[pair, REASON] = 0, Reason.BAD_SAMPLE.value
        return
    state.good[pair] += 1
    if state.good[pair] > state.circle.shape[1]:
        d_c, d_m = c - ring[pair, 0, begin - 1], m - ring[pair, 1, begin - 1]
        slide_bins(state.bins[pair], state.found[pair, 0] - BELOW, state.circle, d_c, d_m)
        steps = state.steps[pair]
        steps[STEP_C], steps[STEP_M] = max(steps[STEP_C], d_c * d_c), max(steps[STEP_M], d_m * d_m)
        steps[SPAN] = max(steps[SPAN], d_c * d_c)


@inlined
def _search(state: FdbState, pair: int, command: Samples, measured: Samples, due: bool) -> tuple[Tone, bool]:
    """Return the dominant tone, and whether the offset hides it, from a transform of the window where it is `due`."""
    taper, first_bin, low, n_window = Taper(state.near, state.far), state.first_bin, state.low_bin, len(command)
    bins, buffers = state.bins[pair], state.buffers
    # the first bin whose neighbours under the taper do not include bin 0
    visible = 3 if taper.far != 0.0 else 2 if taper.near != 0.0 else 1
    size_c = size_m = 0.0
    if due:
        plan = Transform(state.radices, state.table, state.chirp, state.chirp_spectrum, buffers)
        size_c, size_m, span = transform_both(command, measured, plan)
        unpack_bins(buffers, n_window, first_bin, state.half.shape[1], size_c, False)
        state.steps[pair, STEP_C], state.steps[pair, STEP_M], state.steps[pair, SPAN] = 0.0, 0.0, span
    tone, hidden = NO_TONE, False
    for _ in range(2):
        if due:
            peak = tapered_peak(buffers[2], buffers[3], low - first_bin, state.high_bin - first_bin, taper)
            state.found[pair, 0] = first_bin + peak
            set_bins(bins, state.found[pair, 0] - BELOW, buffers, n_window, size_c, size_m)
        k = state.found[pair, 0]
        tone = read_tones(bins, k, first_bin, state.half, state.circle, taper, state.bins_c, state.bins_m)
        of_size = tone.command * (1.0 / tone.scale)
        hidden = due and k < visible and non_tonal_share(command, of_size, tone.frequency) > _MAX_NON_TONAL
        if not hidden or state.own_peaks or visible > state.high_bin:
            break
        # a motion other than a tone has its peak in a bin that the offset hides: the first one without it is read
        low = visible
    return tone, hidden


@inlined
def _command_reason(state: FdbState, pair: int, tone: Tone, amplitude: float, due: bool) -> int:
    """Return why the command has no tone, or that it has one."""
    # no values until the next transform
    if drift_exceeded(state.steps[pair, STEP_C], squared_magnitude(tone.raw_c)):
        return Reason.UNCERTAIN.value
    if due:
        held, n_window = state.held[pair], state.circle.shape[1]
        held[LAG], held[DRIFT_RE], held[DRIFT_IM], held[REASON] = np.nan, 0.0, 0.0, Reason.FEW_CYCLES.value
        gate = state.gate_peak, state.gate_lowest, state.gate_start
        state.found[pair, 1] = update_gate(
            *gate, state.absolute, state.relative, pair, amplitude, state.good[pair], n_window
        )
    if not state.found[pair, 1]:
        return Reason.GATE.value
    # less than one cycle is not a tone, nor are rounding and leakage of a motion outside the band
    if not (tone.frequency > 0.999 and amplitude * amplitude > _MIN_POWER_RATIO * state.steps[pair, SPAN]):
        return Reason.FEW_CYCLES.value
    return Reason.VALID.value


@inlined
def _look(
    state: FdbState, pair: int, tone: Tone, hidden: bool, command: Samples, measured: Samples,
    due: bool,
) -> tuple[int, complex]:  # fmt: skip
    """Look at the window where that is `due`; return why there is no value, and measured's tone without its drift."""
    held, tone_m = state.held[pair], tone.measured
    if not due:
        tone_m -= complex(held[DRIFT_RE], held[DRIFT_IM])
    # below 1e-12 of the command a measured amplitude is rounding of a constant channel
    power_c = squared_magnitude(tone.command)
    if power_c == 0.0 or squared_magnitude(tone_m) <= 1e-24 * power_c:
        return Reason.CONSTANT.value, tone_m
    if drift_exceeded(state.steps[pair, STEP_M], squared_magnitude(tone.raw_m)):
        return Reason.UNCERTAIN.value, tone_m
    if due:
        tone_m = look(
            command, measured, tone, tone_m, state.bins_c, state.bins_m, Taper(state.near, state.far), state.correct,
            state.of_motion, hidden, state.half, state.first_bin, state.circle, held, state.work,
        )  # fmt: skip
    if np.isnan(held[LAG]):
        return int(held[REASON]), tone_m
    is_certain = held[PHASE_SD] / held[PHASE_RATE] <= _LARGEST_SD
    return Reason.VALID.value if is_certain else Reason.UNCERTAIN.value, tone_m


@inlined
def _read(
    state: FdbState, pair: int, tone: Tone, tone_m: complex, command: Samples,
    measured: Samples, values: Samples,
) -> int:  # fmt: skip
    """Write the values of a pair, (10,), but for frequency and amplitude; return why there are none."""
    held, tone_c, n_window = state.held[pair], tone.command, state.circle.shape[1]
    omega = 2.0 * np.pi * tone.frequency / n_window
    phase_sd = held[PHASE_SD] / held[PHASE_RATE]
    delay_sd = phase_sd / omega
    if state.of_motion:
        delayed = delayed_tone(
            state.bins_c, tone.k, tone.frequency, tone.pole, Taper(state.near, state.far), held[LAG], n_window
        )
        difference = tone_m * delayed.conjugate()
        lag = held[LAG] - np.arctan2(difference.imag, difference.real) / (held[PHASE_RATE] * omega)
        phase, own = -omega * lag, held[OWN]
    else:
        if not state.correct:
            tone_c, tone_m = tone.raw_c, tone.raw_m
        if state.own_peaks:
            tone_m = _own_peak(state, command, measured)
        product = tone_m * tone_c.conjugate()
        phase, own = np.arctan2(product.imag, product.real), 1.0
        if squared_magnitude(tone_m) == 0.0:
            return Reason.CONSTANT.value
        lag, turns_off = -phase / omega, phase / tone.frequency
        delay_sd *= np.sqrt(1.0 + _FREQUENCY_NOISE * turns_off * turns_off)
    ratio = np.sqrt(squared_magnitude(tone_c) / squared_magnitude(tone_m)) / own
    values[_RATIO], values[_RATIO_SD] = ratio, ratio * held[GAIN_SD]
    values[_PHASE], values[_PHASE_SD] = phase, phase_sd
    values[_DELAY], values[_DELAY_SD] = lag / state.sample_rate, delay_sd / state.sample_rate
    values[_DAMPING] = add_damping(np.cos(phase) / ratio, np.sin(phase) / ratio, state.share)
    return Reason.VALID.value


@inlined
def _own_peak(state: FdbState, command: Samples, measured: Samples) -> complex:
    """Return measured's tapered bin at its own peak."""
    taper, first_bin, buffers = Taper(state.near, state.far), state.first_bin, state.buffers
    plan = Transform(state.radices, state.table, state.chirp, state.chirp_spectrum, buffers)
    _, size_m, _ = transform_both(command, measured, plan)
    unpack_bins(buffers, state.circle.shape[1], first_bin, state.half.shape[1], size_m, True)
    low, high = state.low_bin - first_bin, state.high_bin - first_bin
    return tapered(buffers[2], buffers[3], tapered_peak(buffers[2], buffers[3], low, high, taper), taper)
