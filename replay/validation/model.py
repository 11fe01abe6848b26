"""Predictions of a model: realizations, or a mean with its standard deviation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from monitor.ensembles.reader import read_ensemble
from monitor.messages.blocks import Samples
from monitor.reliability.curves import Reliability
from monitor.reliability.ensemble import Ensemble
from monitor.reliability.gaussian import ErrorCorrelation, GaussianReliability
from monitor.reliability.site import SiteReliability
from monitor.reliability.tolerance import Tolerance
from replay.formats.base import RecordingError
from replay.formats.columns import find_column
from replay.validation.records import record_and_table

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
