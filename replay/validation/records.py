"""What a validation is given: measured records, also of run files, predictions of a model, and a tolerance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from monitor.ensembles.files import read_ensemble
from monitor.ensembles.plan_files import read_tolerance_table
from monitor.messages.blocks import Channel, Samples
from monitor.reliability.curves import Reliability
from monitor.reliability.ensemble import Ensemble
from monitor.reliability.gaussian import ErrorCorrelation, GaussianReliability
from monitor.reliability.site import SiteReliability
from monitor.reliability.tolerance import RELATIVE, Tolerance, ToleranceError, TolerancePolicy, parse_tolerance
from monitor.system.files import check_regular
from replay.formats import read_tables
from replay.formats.base import RecordingError, Selection
from replay.formats.clock import check_times
from replay.formats.columns import SECONDS, TableColumn, find_column, listing
from replay.formats.run_file import is_run_file, open_run_file
from replay.formats.signal_table import SignalTable
from replay.formats.times import dated_times

_SMALL = 0.05  # of its peak: below it a literal tolerance means little

OF_WHAT = {
    TolerancePolicy.LITERAL: "of the measurement",
    TolerancePolicy.FLOORED: "of the measurement or of its rms, whichever is larger",
    TolerancePolicy.PEAK: "of the measurement's peak",
}
"""What a share is of, in words."""


@dataclass(frozen=True, slots=True)
class ToleranceChoice:
    """What was written, not yet applied to a record.

    Parameters
    ----------
    policy : see `TolerancePolicy`.
    value : a share, or in the response's unit.
    path : the file of a varying tolerance, with the columns time and tolerance.
    """

    policy: TolerancePolicy
    value: float = float("nan")
    path: Path | None = None

    def __str__(self) -> str:
        if self.policy is TolerancePolicy.VARYING:
            return f"as in {self.path}"
        return f"{100.0 * self.value:g} % {OF_WHAT[self.policy]}" if self.policy in RELATIVE else f"{self.value:g}"

    def applied(self, instants: Samples, measured: Samples) -> Tolerance:
        """Return the tolerance at a model's instants (n_times,), s, for measurements (n_times, n_replicates).

        Raises
        ------
        ToleranceError : a share is of nothing, or the file of tolerances cannot be used.
        """
        if self.policy is not TolerancePolicy.VARYING:
            return Tolerance.from_records(self.policy, self.value, measured)
        assert self.path is not None
        return Tolerance(TolerancePolicy.VARYING, profile=read_tolerance_table(self.path, instants))

    def warning(self, measured: Samples) -> str:
        """Return what the user should know of it for these measurements; empty if nothing."""
        if self.policy is not TolerancePolicy.LITERAL:
            return ""
        size = np.abs(measured[np.isfinite(measured)])
        # a record that is zero throughout is no more than a share of its peak everywhere
        small = int((size <= _SMALL * size.max(initial=0.0)).sum())
        if not small:
            return ""
        return (
            f"a literal tolerance is next to nothing where the measurement is: {small} of {len(size)} samples are "
            "within 5 % of the peak from zero; --policy floored or peak gives them more"
        )


def read_tolerance(text: str, policy: str | None = None) -> ToleranceChoice:
    """Read ``8%``, ``0.08``, or the name of a file.

    Parameters
    ----------
    text, policy : see `parse_tolerance`; or, without a policy, a file of tolerances over time.

    Raises
    ------
    ToleranceError : it is neither, not positive, or does not go with the policy.
    """
    if Path(text).is_file():
        if policy is not None:
            raise ToleranceError(f"tolerance {text}: a file of tolerances goes without a policy, not with {policy}")
        return ToleranceChoice(TolerancePolicy.VARYING, path=Path(text))
    chosen, value = parse_tolerance(text, policy)
    return ToleranceChoice(chosen, value)


RESPONSE = "response"


@dataclass(frozen=True, slots=True, eq=False)
class MeasuredRecord:
    """One replicate as it was recorded.

    Parameters
    ----------
    name : for messages.
    time : (n_samples,), s, rising.
    response : (n_samples,), in `unit`; NaN where a sample is missing.
    unit : empty if the file has none.
    notes : what the reader took for granted.
    """

    name: str
    time: Samples
    response: Samples
    unit: str = ""
    notes: tuple[str, ...] = ()

    @property
    def dt(self) -> float:
        """The median step, s."""
        return float(np.median(np.diff(self.time)))


def read_record(path: Path, time: str | None = None, response: str | None = None) -> MeasuredRecord:
    """Read a table with a column of times and one of the response.

    Parameters
    ----------
    path : a file of any format but a run file.
    time, response : columns by name or number; by default the ones called so, or the only two there are.

    Raises
    ------
    RecordingError : the file or a column is not there, or the times do not rise; one line with the file's name.
    """
    return record_and_table(path, time, response)[0]


def record_and_table(
    path: Path, time: str | None = None, response: str | None = None
) -> tuple[MeasuredRecord, SignalTable]:
    """Return what `read_record` returns, and the table that it is in."""
    try:
        table, signal = _response(read_tables(path), time, response)
        times, notes = _table_times(table, time)
        check_times(times, table.place, advice="")
        wrong = np.flatnonzero(np.diff(times) <= 0.0)
        if len(wrong):
            raise RecordingError(f"the time does not rise at {table.place(int(wrong[0]) + 1)}")
        values = table.column(signal).copy()
    except RecordingError as problem:
        text = str(problem)
        raise RecordingError(text if text.startswith(str(path)) else f"{path}: {text}") from None
    return MeasuredRecord(str(path), times, values, signal.unit, (*table.notes, *notes)), table


def _table_times(table: SignalTable, name: str | None) -> tuple[Samples, tuple[str, ...]]:
    """Return (n_rows,) s, and what is taken for granted of them."""
    if name is None and table.times is not None:
        return table.times, ()
    clock = _time_column(table, name)
    if clock is None:
        assert table.rate is not None
        return table.start + np.arange(table.n_rows) / table.rate, (f"evenly spaced at {table.rate:g} Hz",)
    if clock.position in table.days:
        dated, notes = dated_times(table, clock)
        return dated - dated[0], (f"the times of {clock.name} count from the first sample", *notes)
    times = table.column(clock)
    factor = SECONDS.get(clock.unit.strip().lower() or "s")
    if factor is None:
        raise RecordingError(f"the times of {clock.name!r} are in {clock.unit!r}, which is not a time unit")
    return factor * times, ()


def _time_column(table: SignalTable, name: str | None) -> TableColumn | None:
    """Return the column of times; None where the file gives times or a rate in its place."""
    columns = table.columns
    if name is not None:
        return find_column(columns, name)
    if table.times is not None:
        return None
    named = [column for column in columns if column.is_time] or [c for c in columns if c.position in table.days]
    if not named and table.rate is not None:
        return None
    # without a header the first of two can be nothing else
    if named or len(columns) == 2:
        return (named or list(columns))[0]
    raise RecordingError(f"no column of times among {listing(columns)}: name it with --time NAME")


def _response(tables: Sequence[SignalTable], time: str | None, name: str | None) -> tuple[SignalTable, TableColumn]:
    """Return the column of the response and its table."""
    every = [column for table in tables for column in table.columns]
    owner = {column.position: table for table in tables for column in table.columns}
    if name is not None:
        found = find_column(every, name)
        return owner[found.position], found
    named = [column for column in every if RESPONSE in (column.stem.strip().lower(), column.own.strip().lower())]
    if len(named) == 1:
        return owner[named[0].position], named[0]
    clocks = (
        [_time_column(table, time) for table in tables]
        if len(tables) == 1 or time is None
        else [find_column(every, time)]
    )
    others = [column for column in every if column not in clocks]
    if len(others) == 1:
        return owner[others[0].position], others[0]
    raise RecordingError(f"which of {listing(others) or 'no column'} is the response: name it with --response NAME")


_BLOCK = 1 << 16
_HEAD = 64


def is_run(path: Path) -> bool:
    """Whether a file is a run that the monitor recorded, by its first bytes; False if it cannot be read."""
    try:
        check_regular(path)
        with path.open("rb") as file:
            return is_run_file(path, file.read(_HEAD), Selection())
    except OSError:
        return False


def read_run(path: Path, response: str | None = None) -> MeasuredRecord:
    """Return one channel of a run.

    Its times count from the rig's sample 0, as they do for a model that is validated live. Lost samples are missing.

    Parameters
    ----------
    path : of the run file.
    response : the channel; by default the one called so, or the only one.

    Raises
    ------
    RecordingError : the file cannot be read, the channel is not there, or the rig was restarted in the run.
    """
    recording = open_run_file(path, Selection())
    channels = recording.stream.channels
    position = _position(path, channels, response)
    blocks = [block for block in recording.blocks(_BLOCK) if len(block)]
    epochs = {block.stream.epoch for block in blocks}
    if len(epochs) > 1:
        raise RecordingError(
            f"{path}: the rig was restarted in it, it holds {len(epochs)} tests: record each by itself"
        )
    if not blocks:
        raise RecordingError(f"{path}: holds no samples")
    numbers = np.concatenate([block.index + np.arange(len(block)) for block in blocks])
    time = numbers / recording.stream.sample_rate
    values = np.concatenate([block.samples[:, position] for block in blocks])
    return MeasuredRecord(str(path), time, values, channels[position].unit, recording.notes)


def _position(path: Path, channels: tuple[Channel, ...], response: str | None) -> int:
    names = [channel.name for channel in channels]
    name = response or (RESPONSE if RESPONSE in names else names[0] if len(names) == 1 else None)
    if name in names:
        return names.index(name)
    problem = (
        f"no channel {response!r}" if response else "which channel is the response: name it with --response NAME"
    )
    raise RecordingError(f"{path}: {problem}; there are {', '.join(names)}")


DEVIATION = "standard_deviation"
_ENSEMBLES = (".npz", ".h5", ".hdf5", ".hdf", ".he5")


@dataclass(frozen=True, slots=True, eq=False)
class Prediction:
    """A model without realizations.

    Parameters
    ----------
    time, response, deviation : (n_times,), s, and the expected response and the standard deviation of its error in
        `unit`.
    sensor_deviation : standard deviation of the measurement's noise, in that unit.
    errors : correlation of the errors at different instants.
    """

    time: Samples
    response: Samples
    deviation: Samples
    unit: str = ""
    name: str = "prediction"
    sensor_deviation: float = 0.0
    errors: ErrorCorrelation = ErrorCorrelation.COMMON

    @property
    def mean(self) -> Samples:
        """(n_times,): the expected response."""
        return self.response


Model = Ensemble | Prediction


def read_model(
    path: Path, sensor_deviation: float = 0.0, errors: ErrorCorrelation = ErrorCorrelation.COMMON
) -> Model:
    """Read an ensemble (npz, HDF5) or a prediction (a table: time, response, standard_deviation).

    Raises
    ------
    ValueError : the file does not hold one; or an ensemble is given a sensor's deviation, which its measurements
        have already.
    """
    if path.suffix.lower() in _ENSEMBLES:
        if sensor_deviation:
            raise ValueError(f"{path}: a sensor's deviation goes with a prediction, not with an ensemble")
        return read_ensemble(path)
    record, table = record_and_table(path)
    try:
        deviation = table.column(find_column(table.columns, DEVIATION)).copy()
    except RecordingError as problem:
        raise RecordingError(f"{path}: {problem}; a prediction needs time, response and {DEVIATION}") from None
    if not (np.isfinite(record.response).all() and np.isfinite(deviation).all()):
        raise RecordingError(f"{path}: a prediction must have a number in every cell")
    return Prediction(record.time, record.response, deviation, record.unit, str(path), sensor_deviation, errors)


def model_reliability(model: Model, tolerance: Tolerance, measured: Samples, window: int) -> Reliability:
    """Return the reliabilities of a model over all its instants, for measurements (n_times, n_replicates)."""
    instants, n_replicates = np.arange(len(model.time)), measured.shape[1]
    if isinstance(model, Ensemble):
        return SiteReliability(model, tolerance, n_replicates, window).update(instants, measured).reliability
    return GaussianReliability(
        model.response,
        model.deviation,
        tolerance,
        sensor_deviation=model.sensor_deviation,
        errors=model.errors,
        n_replicates=n_replicates,
        window=window,
    ).update(instants, measured)


def check_same_time(models: Sequence[Model]) -> None:
    """Raise ValueError unless all sites have the same instants."""
    first = models[0]
    for other in models[1:]:
        if len(other.time) != len(first.time) or not np.allclose(other.time, first.time, rtol=0.0, atol=1e-9):
            raise ValueError(f"{first.name} and {other.name} have different instants: give all sites the same")
