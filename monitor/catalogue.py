"""Catalogue of measures: the class of each, its columns and how they are displayed.

It is the only place where a measure is registered: results, tables, JSON and the window's rows follow from it.
Programs that compute nothing read it too, so it imports nothing: classes are named, and loaded when they are used.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, NamedTuple

SIGNAL_UNIT = "signal"
RATIO_UNIT = "ratio"
ENERGY_UNIT = "energy"
STIFFNESS_UNIT = "stiffness"
MEASURED_UNIT = "measured"
PER_SHARE = "1/share"
CODE_UNIT = "code"
"""Of a column of reasons, `monitor.messages.reasons.Reason`."""

RELIABILITY = "reliability"
"""The reliability of a model, where measures are named whose kernels are being compiled."""

_DISPLAY = {"s": ("ms", 1e3), "rad": ("°", 180.0 / math.pi)}
_PERCENT = ("%", 1e2)


class Output(NamedTuple):
    """Column of results.

    Parameters
    ----------
    name : of the column.
    unit : of the published value; ``signal`` is the command's unit, ``ratio`` command over measured, ``energy`` force
        times measured, ``stiffness`` force over measured, ``measured`` that of measured, ``1/share`` per
        unit of the specimen's share of the stiffness, 1 where it is set, and ``code`` the reason why the columns that
        begin with the same name have no value.
    label : of its curve, among those of other measures in the same row.
    row : heading of its row in the window; empty: none.
    group : heading of its section in tables, and object in JSON; empty: none.
    same_unit : valid only where command and measured have the same unit.
    display : display unit, and the factor to it from `unit`; None: ms for s, ° for rad.
    """

    name: str
    unit: str
    label: str = ""
    row: str = ""
    group: str = ""
    same_unit: bool = False
    display: tuple[str, float] | None = None

    @property
    def is_code(self) -> bool:
        """Whether it holds codes of reasons: 0 where there is a value, never NaN."""
        return self.unit == CODE_UNIT

    @property
    def display_unit(self) -> str:
        """Display unit; empty: the published one."""
        return (self.display or _DISPLAY.get(self.unit, ("", 1.0)))[0]

    @property
    def display_factor(self) -> float:
        """Factor from the published to the displayed value."""
        return (self.display or _DISPLAY.get(self.unit, ("", 1.0)))[1]


@dataclass(frozen=True, slots=True)
class MeasureEntry:
    """Registered measure.

    Parameters
    ----------
    indicator : ``module:class`` of a `WindowedIndicator`; empty: it has no columns in the results.
    outputs : its columns.
    cost : µs per sample of 64 actuators; 0 for a measure that is too cheap to be paused under overload.
    needs_force : it has no value without the restoring force.
    """

    indicator: str = ""
    outputs: tuple[Output, ...] = ()
    cost: float = 0.0
    needs_force: bool = False

    def load(self) -> Any:
        """Return the class, of a subclass of `WindowedIndicator`."""
        module, _, name = self.indicator.partition(":")
        return getattr(import_module(module), name)


def columns_of(measure: str, label: str, *columns: Output, group: str = "") -> tuple[Output, ...]:
    """Return the columns of a measure with label and group, see `Output`; last, the reason why they have no value."""
    reason = Output(f"{measure}_reason", CODE_UNIT, same_unit=all(column.same_unit for column in columns))
    return tuple(column._replace(label=label, group=group) for column in (*columns, reason))


CATALOGUE: dict[str, MeasureEntry] = {
    "fdb": MeasureEntry(
        "monitor.indicators.frequency_domain:FrequencyDomainIndicator",
        columns_of(
            "fdb",
            "FDB",
            Output("fdb_ratio", RATIO_UNIT, row="ratio"),
            Output("fdb_phase", "rad", row="phase"),
            Output("fdb_delay", "s", row="delay"),
            Output("fdb_frequency", "Hz", row="dominant frequency"),
            Output("fdb_amplitude", SIGNAL_UNIT, row="command amplitude"),
            Output("fdb_ratio_sd", RATIO_UNIT),
            Output("fdb_phase_sd", "rad"),
            Output("fdb_delay_sd", "s"),
            Output("fdb_added_damping", PER_SHARE, row="added damping", same_unit=True, display=_PERCENT),
            group="fdb",
        ),
        cost=12.0,
    ),
    "paei": MeasureEntry(
        "monitor.indicators.phase_amplitude:PhaseAmplitudeIndices",
        columns_of(
            "paei",
            "PAEI",
            Output("paei_ratio", RATIO_UNIT, row="ratio"),
            Output("paei_amplitude_error", SIGNAL_UNIT, row="amplitude error", same_unit=True),
            Output("paei_phase", "rad", row="phase"),
            Output("paei_delay", "s", row="delay"),
            Output("paei_ratio_sd", RATIO_UNIT),
            Output("paei_phase_sd", "rad"),
            Output("paei_delay_sd", "s"),
            group="paei",
        ),
        cost=12.0,
    ),
    "paei_adaptive": MeasureEntry(
        "monitor.indicators.adaptive_phase_amplitude:AdaptivePhaseAmplitudeIndices",
        columns_of(
            "paei_adaptive",
            "PAEI",
            Output("paei_adaptive_ratio", RATIO_UNIT),
            Output("paei_adaptive_amplitude_error", SIGNAL_UNIT, same_unit=True),
            Output("paei_adaptive_phase", "rad"),
            Output("paei_adaptive_delay", "s", row="delay, adaptive window"),
            Output("paei_adaptive_ratio_sd", RATIO_UNIT),
            Output("paei_adaptive_phase_sd", "rad"),
            Output("paei_adaptive_delay_sd", "s"),
            Output("paei_adaptive_window", "s"),
            group="paei_adaptive",
        ),
        cost=15.0,
    ),
    "ti": MeasureEntry(
        "monitor.indicators.tracking_indicator:TrackingIndicator",
        columns_of(
            "ti",
            "TI",
            Output("ti", f"{SIGNAL_UNIT}^2", row="tracking indicator"),
            Output("ti_total", f"{SIGNAL_UNIT}^2"),
            Output("ti_normalized", "1", row="tracking indicator, normalised", same_unit=True),
            Output("ti_angle", "rad", row="angle by TI"),
            Output("ti_angle_sd", "rad"),
        ),
        cost=7.0,
    ),
    "nrmse": MeasureEntry(
        "monitor.indicators.tracking_error:RmsErrorIndicator",
        columns_of(
            "nrmse",
            "NRMSE",
            Output("nrmse", "1", row="NRMSE", same_unit=True, display=_PERCENT),
            Output("nrmse_std", "1", same_unit=True),
            Output("nrmse_range", "1", same_unit=True),
            Output("nrmse_measured", "1", same_unit=True),
        ),
    ),
    "peak_error": MeasureEntry(
        "monitor.indicators.tracking_error:PeakErrorIndicator",
        columns_of(
            "peak_error",
            "peak error",
            Output("peak_error", SIGNAL_UNIT, row="peak error", same_unit=True),
            Output("peak_error_relative", "1", row="peak error, relative", same_unit=True, display=_PERCENT),
        ),
    ),
    "hsem": MeasureEntry(
        "monitor.indicators.energy_error:HybridSimulationErrorMonitor",
        columns_of(
            "hsem",
            "HSEM",
            Output("hsem_energy", ENERGY_UNIT, row="energy error", same_unit=True),
            Output("hsem_energy_total", ENERGY_UNIT, row="energy error since the start", same_unit=True),
            Output("hsem", "1", row="energy error, of the work", same_unit=True),
            Output("hsem_added_damping", PER_SHARE, row="added damping", same_unit=True, display=_PERCENT),
            group="hsem",
        ),
        needs_force=True,
    ),
    "specimen": MeasureEntry(
        "monitor.indicators.specimen:SpecimenIndicator",
        tuple(
            output._replace(group="specimen")
            for output in (
                Output("specimen_stiffness", STIFFNESS_UNIT, "of the window", row="stiffness"),
                Output("specimen_stiffness_sd", STIFFNESS_UNIT),
                Output("specimen_loss", "1", "since the start", row="loss of stiffness", display=_PERCENT),
                Output("specimen_loss_sd", "1", display=_PERCENT),
                Output("specimen_residual", MEASURED_UNIT, "without force", row="residual displacement"),
                Output("specimen_residual_sd", MEASURED_UNIT),
                Output("specimen_reason", CODE_UNIT),
                Output("specimen_damping", "1", "of the window", row="equivalent damping", display=_PERCENT),
                Output("specimen_damping_sd", "1", display=_PERCENT),
                Output("specimen_damping_reason", CODE_UNIT),
                Output("specimen_tangent", STIFFNESS_UNIT, "tangent", row="stiffness"),
                Output("specimen_tangent_sd", STIFFNESS_UNIT),
                Output("specimen_tangent_reason", CODE_UNIT),
                Output("specimen_ductility", "1", "largest since the start", row="ductility"),
                Output("specimen_ductility_reason", CODE_UNIT),
                Output("specimen_energy_total", ENERGY_UNIT, "since the start", row="work on the specimen"),
                Output("specimen_energy_total_sd", ENERGY_UNIT),
                Output("specimen_energy_reason", CODE_UNIT),
                Output("specimen_loop_stiffness", STIFFNESS_UNIT, "secant of a loop", row="stiffness"),
                Output("specimen_loop_stiffness_sd", STIFFNESS_UNIT),
                Output("specimen_loop_damping", "1", "of a loop", row="equivalent damping", display=_PERCENT),
                Output("specimen_loop_damping_sd", "1", display=_PERCENT),
                Output("specimen_loop_energy", ENERGY_UNIT, "of a loop", row="energy of a loop"),
                Output("specimen_loop_energy_sd", ENERGY_UNIT),
                Output("specimen_loop_reason", CODE_UNIT),
            )
        ),
        cost=14.0,
        needs_force=True,
    ),
    "broadband": MeasureEntry(
        "monitor.indicators.broadband_delay:BroadbandDelayIndicator",
        (
            Output("xcorr_delay", "s", "xcorr", "delay by correlation", "xcorr"),
            Output("xcorr_peak", "1", "xcorr", "", "xcorr"),
            Output("broadband_delay", "s", "broadband", "delay", "broadband"),
            Output("broadband_ratio", RATIO_UNIT, "broadband", "ratio", "broadband"),
            Output("broadband_coherence", "1", "broadband", "coherence", "broadband"),
            Output("broadband_delay_sd", "s", "broadband", "", "broadband"),
            Output("broadband_ratio_sd", RATIO_UNIT, "broadband", "", "broadband"),
            Output("xcorr_delay_sd", "s", "xcorr", "", "xcorr"),
            Output("broadband_play", SIGNAL_UNIT, "broadband", "play", "broadband"),
            Output("xcorr_reason", CODE_UNIT, "xcorr", "", "xcorr"),
            Output("broadband_reason", CODE_UNIT, "broadband", "", "broadband"),
        ),
        cost=45.0,
    ),
    "fei": MeasureEntry(
        "monitor.indicators.frequency_evaluation:FrequencyEvaluationIndex",
        columns_of(
            "fei",
            "FEI",
            Output("fei_ratio", RATIO_UNIT),
            Output("fei_phase", "rad"),
            Output("fei_delay", "s"),
            Output("fei_frequency", "Hz"),
            Output("fei_ratio_sd", RATIO_UNIT),
            Output("fei_phase_sd", "rad"),
            Output("fei_delay_sd", "s"),
        ),
        cost=15.0,
    ),
    # published as a message of its own
    "transfer": MeasureEntry(cost=10.0),
}


def display_unit(shown: str, published: str) -> str:
    """Return the display unit of a value published in a unit, where the catalogue's is `shown`."""
    return f"{shown}/share" if shown and published == PER_SHARE else shown or published


def outputs_by_name() -> Mapping[str, Output]:
    """Return all columns of all measures by name."""
    return {output.name: output for entry in CATALOGUE.values() for output in entry.outputs}


def needs_force(measure: str) -> bool:
    """Return whether a measure has no value without the restoring force."""
    return measure in CATALOGUE and CATALOGUE[measure].needs_force


def measure_of(column: str) -> str:
    """Return the measure of a column; empty for those of a model."""
    return _MEASURES.get(column, "")


def reason_column(column: str) -> str:
    """Return the column with the reason why this one has no value; empty for those of a model."""
    return _REASONS.get(column, "")


_MEASURES = {output.name: measure for measure, entry in CATALOGUE.items() for output in entry.outputs}
_REASONS = {
    output.name: reason.name
    for entry in CATALOGUE.values()
    # the longest prefix counts
    for reason in sorted(entry.outputs, key=lambda each: len(each.name))
    for output in entry.outputs
    if reason.is_code and output.name.startswith(reason.name.removesuffix("_reason"))
}
