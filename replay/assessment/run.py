"""Assess a recording: choose the window, run the indicators, summarise."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from functools import partial

import numpy as np
from numpy.typing import NDArray

from monitor.catalogue import needs_force
from monitor.config import MEASURES, IndicatorSettings, SettingsError, load_settings
from monitor.engine.monitor import Monitor, UnfitSettingsError, Update
from monitor.indicators.base import LARGEST_WINDOW
from monitor.kernel import report_compilation
from monitor.messages.blocks import Column, ResultStream, Samples, TransferBlock
from monitor.system.safe_text import printable
from replay import Progress, silent
from replay.assessment.record_passes import dominant_frequencies, whole_records
from replay.assessment.record_survey import RecordSurvey, survey_record
from replay.assessment.results import Assessment, Series
from replay.assessment.statistics import assess_pair
from replay.assessment.warnings import find_warnings
from replay.formats import Recording
from replay.formats.base import sample_numbers

BLOCK = 4096
"""Samples that are computed at a time."""


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
    frequency = min(dominant_frequencies(recording), default=np.nan)
    if not frequency > 0.0:
        return min(default, 0.5 * duration), ""
    window = max(default, 2.5 / frequency)
    if 2.0 * window > duration:
        window = min(2.5 / frequency, 0.75 * duration)
    if window == default:
        return window, ""
    return window, f"window {window:.4g} s, chosen for this record"


# the statistics of ten million values are no better than those of one million
_MOST_ROWS = 2_000_000
# with half overlap: about six averages
_FEWEST_SEGMENTS = 4
_FEW_WINDOWS = 3.0
_SHORTEST_SEGMENT = 32  # samples


def assess(
    recording: Recording,
    settings: IndicatorSettings,
    *,
    thin: bool = True,
    fei: bool = True,
    progress: Progress = silent,
) -> Assessment:
    """Run the engine over a recording, as it would run live.

    The results are in memory, and four bytes a sample of the commands while the window is chosen; the signals
    themselves only for FEI, as far as the recording does not hold them.

    Parameters
    ----------
    settings : of the indicators.
    thin : evaluate every n-th sample of a record that is longer than the statistics need; a note says so.
    fei : evaluate FEI of the whole record; NaN without.
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
    capacity = -(-recording.n_samples // settings.every)
    computed = updates(recording, settings, progress)
    survey = survey_record(recording)
    series, transfer, interpolated = _collect(computed, capacity, survey)
    if interpolated:
        notes.append(
            f"{interpolated} samples in gaps of up to {settings.bridge:g} s are interpolated (--bridge): windows "
            "with them have values, with wider bands"
        )
    wholes = whole_records(recording, settings.max_delay, fei=fei, window=settings.window, bridge=settings.bridge)
    pairs = tuple(
        assess_pair(whole, pair, series.elapsed, series.of(pair.actuator), settings.window, settings.relative_gate)
        for pair, whole in zip(stream.pairs, wholes, strict=True)
    )
    lacking = [] if settings.measures == MEASURES else list(filter(needs_force, settings.measures))
    if lacking and all(pair.force is None for pair in stream.pairs):
        notes.append(f"{' and '.join(lacking)} needs a force: name its column with --force")
    warnings = find_warnings(recording, settings, pairs, survey)
    return Assessment(
        stream,
        settings,
        recording.n_samples,
        pairs,
        series,
        transfer,
        warnings,
        tuple(notes),
        survey.compensators,
        survey.start,
        survey.missing,
        survey.gaps,
        survey.restarts,
    )


def _show_compilation(progress: Progress, done: int, total: int, name: str) -> None:
    if name:
        progress("compiling kernels", done, total)


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
    # to list what may be compiled takes longer than to assess a short record
    compiled = nullcontext() if progress is silent else report_compilation(partial(_show_compilation, progress))
    with compiled:
        for block in recording.blocks(BLOCK):
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


def _collect(
    computed: Iterator[Update], capacity: int, survey: RecordSurvey
) -> tuple[Series, TransferBlock | None, int]:
    """Return the results of all updates, the last transfer function, and the number of interpolated samples.

    Parameters
    ----------
    capacity : rows of results that are expected: the results are in memory once.
    survey : of the record, with the number of the sample at each start of the publisher.
    """
    rows = interpolated = 0
    columns: tuple[Column, ...] = ()
    stream: ResultStream | None = None
    times, values = np.empty(0), np.empty((0, 0))
    transfer: TransferBlock | None = None
    # of each block: epoch, index and number of rows
    blocks: list[tuple[int, int, int]] = []
    for update in computed:
        results, transfer = update.results, update.transfer or transfer
        interpolated += update.interpolated
        if results is None:
            continue
        if stream is None:
            stream = results.stream
            columns = stream.columns
            # each column is contiguous, as the statistics read them
            times, values = np.empty(capacity), np.empty((capacity, len(columns)), order="F")
        stop = rows + len(results)
        if stop > len(times):
            # restarts of the publisher give more rows
            more = max(stop, len(times) + len(times) // 4)
            times, values = _longer(times, more), _longer(values, more)
        step = results.stream.every / results.stream.sample_rate
        times[rows:stop] = results.time + step * np.arange(len(results))
        values[rows:stop] = results.values
        blocks.append((results.stream.epoch, results.index, len(results)))
        rows = stop
    # smaller differences are rounding
    times, elapsed = times[:rows].round(9), _elapsed(blocks, survey, stream).round(9)
    return Series(times, elapsed, values[:rows], columns), transfer, interpolated


def _elapsed(
    blocks: Sequence[tuple[int, int, int]], survey: RecordSurvey, stream: ResultStream | None
) -> NDArray[np.float64]:
    """Return (n,) s after the record's first sample, of the results of blocks: epoch, index and rows of each."""
    if stream is None:
        return np.empty(0)
    epoch, index, rows = np.array(blocks, dtype=np.int64).T
    first = sample_numbers(survey.starts, epoch, index)
    parts = [number + stream.every * np.arange(n) for number, n in zip(first, rows, strict=True)]
    return np.asarray(survey.start + np.concatenate(parts) / stream.sample_rate)


def _longer(values: Samples, rows: int) -> Samples:
    found = np.empty((rows, *values.shape[1:]), order="F")
    found[: len(values)] = values
    return found
