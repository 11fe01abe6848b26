"""Assess a recording: choose the window, run the indicators, summarise."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from monitor.config import MEASURES, IndicatorSettings, SettingsError, load_settings
from monitor.engine.monitor import Monitor, UnfitSettingsError, Update
from monitor.indicators.base import LARGEST_WINDOW
from monitor.kernel import report_compilation
from monitor.messages.blocks import Column
from monitor.messages.transfer import TransferBlock
from monitor.system.safe_text import printable
from replay import Progress, silent
from replay.assessment.results import Assessment, Series
from replay.assessment.signal_checks import read_signals, summarise_compensators
from replay.assessment.statistics import assess_pair, whole_record
from replay.assessment.warnings import find_warnings
from replay.formats import Recording

_BLOCK = 4096


def record_settings(recording: Recording, given: Mapping[str, object]) -> tuple[IndicatorSettings, list[str]]:
    """Return the settings for a recording, and notes on them: those given, else those of a run file, else defaults.

    Raises
    ------
    SettingsError : those that are given are wrong.
    """
    recorded: object = getattr(recording, "settings", {}).get("indicators")
    chosen: dict[str, object] = {**(recorded if isinstance(recorded, dict) else {}), **given}
    notes = []
    try:
        settings = load_settings(None, {"indicators": chosen}).indicators
    except SettingsError as problem:
        # raises again if those that are given are wrong; else the settings in the file are
        chosen = dict(given)
        settings = load_settings(None, {"indicators": chosen}).indicators
        notes.append(f"the settings in the file are not valid and were ignored: {printable(str(problem))}")
    if "window" not in chosen:
        window, note = choose_window(recording, settings.window)
        settings = settings.model_copy(update={"window": window})
        notes += [note] if note else []
    return settings, notes


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
        # so that the motion is found despite a slow drift or a lasting displacement
        spectrum = np.abs(np.fft.rfft(command * np.hanning(n), 8 * n))
        power = (spectrum * np.arange(len(spectrum))) ** 2 * (np.arange(len(spectrum)) < 0.8 * n)
        peak = int(power.argmax())
        if power[peak] > 0.0:
            yield peak * recording.stream.sample_rate / (8 * n)


# the statistics of ten million values are no better than those of one million
_MOST_ROWS = 2_000_000
# with half overlap: about six averages
_FEWEST_SEGMENTS = 4
_FEW_WINDOWS = 3.0
_SHORTEST_SEGMENT = 32  # samples


def assess(
    recording: Recording, settings: IndicatorSettings, *, thin: bool = True, progress: Progress = silent
) -> Assessment:
    """Run the engine over a recording, as it would run live.

    Parameters
    ----------
    settings : of the indicators.
    thin : evaluate every n-th sample of a record that is longer than the statistics need; a note says so.
    progress : called with the number of samples done.

    Raises
    ------
    ValueError : the recording has no command and measured pair, or the settings do not fit it.
    """
    stream = recording.stream
    if not stream.pairs:
        raise ValueError(
            "the recording has no command and measured channels: name them with --command, --measured; "
            "validate, and identify --missing-force, are for channels without actuators"
        )
    if not recording.n_samples:
        raise ValueError("the recording holds no samples")
    notes = list(recording.notes)
    if thin:
        settings, note = thinned(settings, recording.n_samples)
        notes += [note] if note else []
    windows = recording.n_samples / (settings.window * stream.sample_rate)
    if 1.0 <= windows < _FEW_WINDOWS:
        notes.append(
            f"the record holds only {windows:.1f} windows of {settings.window:.4g} s: mean, 5 % and 95 % are of "
            "overlapping windows and underestimate the scatter"
        )
    series, transfer = _collect(updates(recording, settings, progress))
    signals = read_signals(recording)
    time = record_time(series.time, float(signals.time[0]))
    pairs = tuple(
        assess_pair(
            whole_record(recording, pair, settings.max_delay),
            pair,
            time,
            series.of(pair.actuator),
            settings.window,
            settings.relative_gate,
        )
        for pair in stream.pairs
    )
    requested = settings.measures != MEASURES and "hsem" in settings.measures
    if requested and all(pair.force is None for pair in stream.pairs):
        notes.append("hsem needs a force: name its column with --force")
    warnings = find_warnings(recording, settings, pairs, signals)
    compensators = summarise_compensators(signals, stream)
    return Assessment(
        stream,
        settings,
        recording.n_samples,
        pairs,
        series,
        transfer,
        warnings,
        tuple(notes),
        compensators,
        float(signals.time[0]),
        signals.missing,
        signals.gaps,
        signals.restarts,
    )


def _show_compilation(progress: Progress, done: int, total: int, name: str) -> None:
    if name:
        progress("compiling kernels", done, total)


def record_time(time: NDArray[np.float64], start: float) -> NDArray[np.float64]:
    """Return (n,) times of results after the record's first sample, s, without the jumps at restarts of the rig."""
    steps = np.diff(time)
    usual = float(np.median(steps)) if len(steps) else 0.0
    return np.asarray(start + np.concatenate([[0.0], np.cumsum(np.where(steps > 0.0, steps, usual))])[: len(time)])


def _for_a_record(settings: IndicatorSettings, recording: Recording) -> IndicatorSettings:
    """Average the transfer function over the whole record, in enough segments for a coherence."""
    duration = recording.n_samples / recording.stream.sample_rate
    # the window is half as long again as a segment, for the lags
    largest = LARGEST_WINDOW / (1.6 * recording.stream.sample_rate * max(1, len(recording.stream.pairs)))
    segment = min(settings.transfer_segment, duration / _FEWEST_SEGMENTS, largest)
    measures = settings.measures
    if segment * recording.stream.sample_rate < _SHORTEST_SEGMENT:
        measures = tuple(measure for measure in measures if measure != "transfer")
    return settings.model_copy(
        update={"transfer_segment": segment, "transfer_memory": math.inf, "measures": measures}
    )


def thinned(settings: IndicatorSettings, n_samples: int) -> tuple[IndicatorSettings, str]:
    """Return the settings for a record of that length, with results at fewer samples of a long one, and a note."""
    every = max(settings.every, -(-n_samples // _MOST_ROWS))
    if every == settings.every:
        return settings, ""
    return settings.model_copy(update={"every": every}), f"a long record: results at every {every}-th sample only"


def updates(
    recording: Recording,
    settings: IndicatorSettings,
    progress: Progress = silent,
    report_unfit: Callable[[str], None] | None = None,
) -> Iterator[Update]:
    """Yield what the engine computes of a recording, block by block; the transfer function is of the whole record.

    Parameters
    ----------
    progress : called with the number of samples done.
    report_unfit : called with the reason where the settings do not fit the recording; without it, that is raised.
    """
    monitor, done = Monitor(_for_a_record(settings, recording)), 0
    with report_compilation(partial(_show_compilation, progress)):
        for block in recording.blocks(_BLOCK):
            try:
                update = monitor.update(block)
            except UnfitSettingsError as problem:
                if report_unfit is None:
                    raise
                report_unfit(str(problem))
                update = problem.update
            done += len(block)
            progress("samples", done, recording.n_samples)
            yield update
        yield Update(None, None, (), monitor.finish())


def _collect(computed: Iterator[Update]) -> tuple[Series, TransferBlock | None]:
    """Return the results of all updates, and the last transfer function."""
    times, values = [], []
    columns: tuple[Column, ...] = ()
    transfer: TransferBlock | None = None
    for update in computed:
        results, transfer = update.results, update.transfer or transfer
        if results is not None:
            columns = results.stream.columns
            step = results.stream.every / results.stream.sample_rate
            times.append(results.time + step * np.arange(len(results)))
            values.append(results.values)
    if not values:
        return Series(np.empty(0), np.empty((0, 0)), ()), transfer
    # smaller differences are rounding
    return Series(np.concatenate(times).round(9), np.concatenate(values), columns), transfer
