"""Reading of a run file's row: from what the recorder stored, without computing an indicator."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from monitor.config import IndicatorSettings
from monitor.messages.blocks import Event, EventKind
from monitor.messages.headline import HEADLINE, QUANTITIES
from monitor.messages.recordings import NO_RESULTS, RunRow
from monitor.recording import RunFileError, RunReader
from monitor.recording.layout import CLEAN
from monitor.recording.opening import ForeignHdf5Error
from monitor.system.safe_text import printable
from replay.assessment.statistics import headline_of
from replay.assessment.summary import SEPARATOR, events_counted, start_of, time_of_delay
from replay.formats.base import EpochStart, sample_numbers
from replay.formats.run_file import covered, epoch_starts, unjudged_times

# rows of results that are read at once; of these only the columns below are kept
_ROWS = 1 << 14
_COLUMNS = (*(f"{HEADLINE}_{quantity}{end}" for quantity in QUANTITIES for end in ("", "_sd")), "fdb_amplitude")
_DEFAULTS = IndicatorSettings()
_LARGEST = 1e300  # a number of JSON may be beyond any float


class _Worst(NamedTuple):
    actuator: str
    delay: float
    at: float | None


def read_row(folder: Path, file: str) -> RunRow | None:
    """Return the row of a run file; None of an HDF5 file of another program.

    A file that cannot be read gives a row with its problem.
    """
    path = folder / file
    try:
        with RunReader(path) as reader:
            return _row(reader, file)
    except ForeignHdf5Error:
        return None
    except Exception as problem:  # noqa: BLE001  whatever it is, the other runs are listed
        text = str(problem).removeprefix(str(path)).lstrip(": ")
        return RunRow(file, problem=printable(text) or type(problem).__name__)


def _row(reader: RunReader, file: str) -> RunRow:
    stream, events = reader.stream, reader.events()
    gaps = sum(event.kind is EventKind.GAP for event in events)
    passed, starts = _extent(reader, events)
    lost = max(0, passed - reader.n_samples)
    first = float(reader.signal_rows(0, 1)[2][0]) if reader.n_samples else math.nan
    last = float(reader.signal_rows(reader.n_samples - 1, reader.n_samples)[2][0]) if reader.n_samples else math.nan
    unjudged = unjudged_times(((event, event.time) for event in events), first, last)
    window, gate = _window(reader.settings)
    problems = list(reader.warnings)
    try:
        worst = _worst(reader, starts, window, gate)
        problems += filter(None, [reader.results_message()])
    except RunFileError as problem:
        worst = None
        problems.append(str(problem))
    return RunRow(
        file,
        start_of(first, reader.created),
        passed / stream.sample_rate,
        stream.sample_rate,
        reader.n_samples,
        stream.rig,
        SEPARATOR.join(pair.actuator for pair in stream.pairs),
        _outcome(reader),
        None if worst is None else float(1e3 * worst.delay),
        None if worst is None else worst.at,
        None if worst is None else worst.actuator,
        *events_counted(events),
        max(gaps, int(lost > 0)),
        lost,
        max(0, len(starts) - 1),
        window,
        reader.path.stat().st_size,
        printable(SEPARATOR.join(problems)),
        covered(span for each in unjudged.values() for span in each.spans),
        SEPARATOR.join(unjudged),
    )


def _outcome(reader: RunReader) -> str:
    """Return the outcome; a whole file of signals alone has no results that could be bad."""
    alone = reader.outcome == CLEAN and reader.result_stream is None
    return NO_RESULTS if alone else reader.outcome


def _extent(reader: RunReader, events: Sequence[Event]) -> tuple[int, list[EpochStart]]:
    """Return the samples from the first to the last, with those that are missing, and the starts of the publisher."""
    if not reader.n_samples:
        return 0, []
    epoch, index, _, _ = (
        np.concatenate(ends)
        for ends in zip(
            reader.signal_rows(0, 1), reader.signal_rows(reader.n_samples - 1, reader.n_samples), strict=True
        )
    )
    # without a restart the two ends are enough: the numbers of a long run are many
    passed = int(index[1]) + 1 - int(index[0])
    if epoch[0] == epoch[1] and passed >= reader.n_samples and all(e.kind is not EventKind.RESTART for e in events):
        return passed, [EpochStart(int(epoch[0]), int(index[0]), 0)]
    starts, passed = epoch_starts(reader.numbering())
    return passed, [EpochStart(start.epoch, start.index, start.passed) for start in starts]


def _window(settings: Mapping[str, Any]) -> tuple[float, float]:
    """Return the window [s] and the relative gate of a run's settings, which may be damaged or of a newer version."""
    indicators = settings.get("indicators")
    given: Mapping[str, Any] = indicators if isinstance(indicators, dict) else {}
    window, gate = given.get("window"), given.get("relative_gate")
    return (
        float(window) if isinstance(window, int | float) and 0.0 < window < _LARGEST else _DEFAULTS.window,
        float(gate) if isinstance(gate, int | float) and 0.0 <= gate < 1.0 else _DEFAULTS.relative_gate,
    )


def _worst(reader: RunReader, starts: Sequence[EpochStart], window: float, gate: float) -> _Worst | None:
    """Return the delay farthest from zero of all actuators; None where none was recorded.

    Parameters
    ----------
    starts : of the publisher; empty without samples.
    """
    if reader.result_stream is None or not reader.n_results:
        return None
    places: dict[str, dict[str, int]] = {}
    for place, column in enumerate(reader.result_stream.columns):
        if column.name in _COLUMNS:
            places.setdefault(column.actuator, {})[column.name] = place
    used = [place for own in places.values() for place in own.values()]
    if not used:
        return None
    epoch, index, values = _results(reader, used)
    # without samples, the time is from the first result on
    starts = starts or [EpochStart(int(epoch[0]), int(index[0]), 0)]
    time = sample_numbers(starts, epoch, index) / reader.stream.sample_rate
    found = []
    for actuator, own in places.items():
        series = {name: values[:, used.index(place)] for name, place in own.items()}
        headline = headline_of(time, series, window, gate)
        delay = math.nan if headline is None else headline.farthest_delay
        if math.isfinite(delay):
            at = time_of_delay(delay, headline, time, series[f"{HEADLINE}_delay"])
            found.append(_Worst(actuator, delay, at))
    return max(found, key=lambda worst: abs(worst.delay), default=None)


def _results(
    reader: RunReader, used: Sequence[int]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Return epoch and index (m,), and values (m, n_used), of the results, read in parts: all may be gigabytes."""
    epochs, indices, values = [], [], []
    for start in range(0, reader.n_results, _ROWS):
        epoch, index, _, rows = reader.result_rows(start, start + _ROWS)
        epochs.append(epoch)
        indices.append(index)
        values.append(rows[:, used])
    return np.concatenate(epochs), np.concatenate(indices), np.concatenate(values)
