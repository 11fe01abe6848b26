"""Which results stand in which row of the indicators over time."""

from __future__ import annotations

from dataclasses import dataclass

from monitor.catalogue import Output, outputs_by_name
from monitor.messages.headline import HEADLINE, LABELS


@dataclass(frozen=True, slots=True)
class Measure:
    """One curve of a quantity: the result it shows, by name; its standard deviation is `name` with ``_sd``.

    `colour` is the number of a series: an indicator has the same one in every row. What is `beside` the headline is
    drawn below it.
    """

    name: str
    label: str
    colour: int = 0
    beside: bool = False


@dataclass(frozen=True, slots=True)
class Quantity:
    """What one row shows.

    Parameters
    ----------
    key, title : of the row.
    note : where its sign turns, or the like.
    measures : over each other for one actuator; of several actuators the first that is computed is shown.
    factor, unit : of the values shown; no unit: the results' own.
    least_span : in `unit`; changes that are smaller are none.
    usual : shown unless others are chosen.
    """

    key: str
    title: str
    measures: tuple[Measure, ...]
    factor: float = 1.0
    unit: str = ""
    least_span: float = 0.0
    usual: bool = True
    note: str = ""


_TRACKING = (HEADLINE, "fdb", "paei")
"""Whose values are drawn over each other, the headline first."""
_COLOURS = {LABELS[prefix]: number for number, prefix in enumerate(_TRACKING)}


@dataclass(frozen=True, slots=True)
class _Row:
    """What the catalogue does not say of a row: see `Quantity`."""

    key: str
    least_span: float = 0.0
    usual: bool = True
    note: str = ""


# by title; what is not here comes after them and is not usual
_ROWS = {
    "delay": _Row("delay", 1.0, note="> 0 lags"),
    "ratio": _Row("ratio", 0.02, note="command/measured"),
    "phase": _Row("phase", 1.0, note="> 0 leads"),
    "tracking indicator": _Row("ti"),
    "energy error": _Row("hsem"),
    "NRMSE": _Row("nrmse", 1.0),
    "added damping": _Row("added_damping", 0.2, note="< 0 feeds energy in"),
    "peak error": _Row("peak_error"),
    "delay, adaptive window": _Row("adaptive_delay", 1.0, usual=False),
    "delay by correlation": _Row("xcorr_delay", 1.0, usual=False),
    "amplitude error": _Row("amplitude_error", usual=False),
    "dominant frequency": _Row("frequency", 0.1, usual=False),
    "command amplitude": _Row("amplitude", usual=False),
    "coherence": _Row("coherence", 0.1, usual=False),
    "angle by TI": _Row("ti_angle", 1.0, usual=False),
    "tracking indicator, normalised": _Row("ti_normalized", 0.01, usual=False),
    "energy error since the start": _Row("hsem_total", usual=False),
    "energy error, of the work": _Row("hsem_index", usual=False),
    "peak error, relative": _Row("peak_error_relative", 1.0, usual=False),
}


def _quantities() -> tuple[Quantity, ...]:
    """Return the rows of the catalogue; in each the headline's curve first."""
    rows: dict[str, list[Output]] = {title: [] for title in _ROWS}
    for output in sorted(outputs_by_name().values(), key=lambda each: each.group != HEADLINE):
        if output.row:
            rows.setdefault(output.row, []).append(output)
    return tuple(_quantity(title, outputs) for title, outputs in rows.items())


def _quantity(title: str, outputs: list[Output]) -> Quantity:
    first = outputs[0]
    row = _ROWS.get(title, _Row(first.name, usual=False))
    headed = len(outputs) > 1 and first.group == HEADLINE
    measures = tuple(
        Measure(each.name, each.label, _COLOURS.get(each.label, 0), headed and each is not first) for each in outputs
    )
    return Quantity(
        row.key, title, measures, first.display_factor, first.display_unit, row.least_span, row.usual, row.note
    )


QUANTITIES = _quantities()
"""All rows there can be, in their order; those without a result are left out."""
