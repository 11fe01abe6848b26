"""Rows of the indicators panel: quantities, and the results that are drawn in each."""

from __future__ import annotations

from dataclasses import dataclass

from monitor.catalogue import Output, outputs_by_name
from monitor.messages.headline import HEADLINE, LABELS


@dataclass(frozen=True, slots=True)
class QuantityCurve:
    """One curve of a quantity.

    Parameters
    ----------
    name : of the result; its standard deviation is `name` with ``_sd``.
    label : of its indicator.
    colour : number of a series; an indicator has the same one in every row.
    secondary : drawn below the curve of the headline.
    """

    name: str
    label: str
    colour: int = 0
    secondary: bool = False


@dataclass(frozen=True, slots=True)
class Quantity:
    """One row.

    Parameters
    ----------
    key, title : of the row.
    curves : of one actuator; for several actuators the first that is computed is drawn.
    factor, unit : of the values on the display; without a unit that of the results.
    least_span : smallest range of the axis, in `unit`.
    note : sign convention and the like.
    """

    key: str
    title: str
    curves: tuple[QuantityCurve, ...]
    factor: float = 1.0
    unit: str = ""
    least_span: float = 0.0
    note: str = ""


_TRACKING = (HEADLINE, "fdb", "paei")
"""Indicators that are drawn over each other, the headline first."""
_COLOURS = {LABELS[prefix]: number for number, prefix in enumerate(_TRACKING)}


@dataclass(frozen=True, slots=True)
class _Row:
    """What is not in the catalogue of measures; see `Quantity`."""

    key: str
    least_span: float = 0.0
    note: str = ""


# by title; other rows come after these
_ROWS = {
    "delay": _Row("delay", 1.0, note="> 0 lags"),
    "ratio": _Row("ratio", 0.02, note="command/measured"),
    "phase": _Row("phase", 1.0, note="> 0 leads"),
    "tracking indicator": _Row("ti"),
    "energy error": _Row("hsem"),
    "NRMSE": _Row("nrmse", 1.0),
    "added damping": _Row("added_damping", 0.2, note="< 0 feeds energy in"),
    "peak error": _Row("peak_error"),
    "stiffness": _Row("stiffness"),
    "equivalent damping": _Row("equivalent_damping", 1.0),
    "loss of stiffness": _Row("stiffness_loss", 1.0),
    "delay, adaptive window": _Row("adaptive_delay", 1.0),
    "delay by correlation": _Row("xcorr_delay", 1.0),
    "amplitude error": _Row("amplitude_error"),
    "dominant frequency": _Row("frequency", 0.1),
    "command amplitude": _Row("amplitude"),
    "coherence": _Row("coherence", 0.1),
    "angle by TI": _Row("ti_angle", 1.0),
    "tracking indicator, normalised": _Row("ti_normalized", 0.01),
    "energy error since the start": _Row("hsem_total"),
    "energy error, of the work": _Row("hsem_index"),
    "peak error, relative": _Row("peak_error_relative", 1.0),
}


def _quantities() -> tuple[Quantity, ...]:
    """Return the rows of the catalogue, each with the curve of the headline first."""
    rows: dict[str, list[Output]] = {title: [] for title in _ROWS}
    for output in sorted(outputs_by_name().values(), key=lambda each: each.group != HEADLINE):
        if output.row:
            rows.setdefault(output.row, []).append(output)
    return tuple(_quantity(title, outputs) for title, outputs in rows.items())


def _quantity(title: str, outputs: list[Output]) -> Quantity:
    first = outputs[0]
    row = _ROWS.get(title, _Row(first.name))
    has_headline = len(outputs) > 1 and first.group == HEADLINE
    # a row without the indicators that have a colour of their own begins with the first
    numbered = not any(each.label in _COLOURS for each in outputs)
    curves = tuple(
        QuantityCurve(
            each.name,
            each.label,
            place if numbered else _COLOURS.get(each.label, 0),
            has_headline and each is not first,
        )
        for place, each in enumerate(outputs)
    )
    return Quantity(row.key, title, curves, first.display_factor, first.display_unit, row.least_span, row.note)


QUANTITIES = _quantities()
"""All rows in order; a panel omits those without results."""
