"""Figures as SVG: rows of curves over one axis, and plots of one signal over another; every text is escaped."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]

WIDTH = 720.0
_LEFT, _RIGHT, _TOP, _ROW, _SPACE, _BOTTOM = 62.0, 12.0, 22.0, 116.0, 32.0, 44.0
_SQUARE = 300.0
# around the values, as a fraction of their range
_MARGIN = 0.06
# values outside these percentiles are rare, and do not set the scale
_RARE = 0.5


@dataclass(frozen=True, eq=False)
class Curve:
    """Values (n,) over an axis; ``style`` is a class of the style sheet; ``band`` (n,) is a half width."""

    name: str
    values: Values
    style: str
    band: Values | None = None


@dataclass(frozen=True, eq=False)
class Row:
    """Curves with one scale; ``at_least`` are values that the scale includes."""

    title: str
    unit: str
    curves: tuple[Curve, ...]
    at_least: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Mark:
    """A span of the axis that is shaded, or an instant; ``style`` is a class of the style sheet."""

    start: float
    stop: float
    style: str


@dataclass(frozen=True, eq=False)
class Plane:
    """One signal, ``y`` (n,), over another, ``x`` (n,)."""

    title: str
    x_title: str
    y_title: str
    x: Values
    y: Values
    diagonal: bool


def rows_figure(
    title: str, description: str, x: Values, x_title: str, rows: Sequence[Row], marks: Sequence[Mark], columns: int
) -> str:
    """Return rows over the axis `x` (n,), each curve as its envelope in so many columns of the picture.

    Parameters
    ----------
    title, description : for those who do not see the picture.
    """
    height = _TOP + len(rows) * _ROW + (len(rows) - 1) * _SPACE + _BOTTOM
    low, high = _limits(float(np.min(x)), float(np.max(x)))
    width = WIDTH - _LEFT - _RIGHT
    parts = [_opening(title, description, height, (low, high), x_title.partition("[")[2].rstrip("]"))]

    def place(value: float) -> float:
        return _LEFT + width * (value - low) / (high - low)

    for i, row in enumerate(rows):
        top = _TOP + i * (_ROW + _SPACE)
        bottom_value, top_value = _scale(row)
        scale = _ROW / (top_value - bottom_value)
        data = f"data-low='{bottom_value:.9g}' data-high='{top_value:.9g}' data-top='{top:g}'"
        data += f" data-unit='{_text(row.unit)}'"
        parts.append(f"<g class='row' {data}><svg x='{_LEFT:g}' y='{top:g}' width='{width:g}' height='{_ROW:g}'>")
        for mark in marks:
            at = place(mark.start) - _LEFT
            wide = max(1.5, place(mark.stop) - _LEFT - at)
            parts.append(f"<rect class='{mark.style}' x='{at:.1f}' y='0' width='{wide:.1f}' height='{_ROW:g}'/>")
        for tick in _ticks(bottom_value, top_value, 4):
            y = scale * (top_value - tick)
            parts.append(f"<line class='grid' x1='0' x2='{width:g}' y1='{y:.1f}' y2='{y:.1f}'/>")
        for curve in row.curves:
            px = width * (x - low) / (high - low)
            parts += _curve(curve, px, top_value, scale, columns)
        parts.append("</svg>")
        for tick in _ticks(bottom_value, top_value, 4):
            y = top + scale * (top_value - tick) + 4.0
            parts.append(_label(_LEFT - 6.0, y, _number(tick), "tick", "end"))
        name = f"{row.title} [{row.unit}]" if row.unit else row.title
        parts.append(_label(_LEFT, top - 7.0, name, anchor="start"))
        parts.append(_frame(_LEFT, top, width, _ROW) + "</g>")
    parts += _x_axis(place, low, high, height - _BOTTOM, x_title, 6)
    return "".join([*parts, "</svg>"])


def planes_figure(title: str, description: str, planes: Sequence[Plane]) -> str:
    """Return one or two planes, side by side."""
    side = _SQUARE - 20.0
    parts = [_opening(title, description, _TOP + side + _BOTTOM, None)]
    for i, plane in enumerate(planes):
        left = _LEFT + i * (_SQUARE + 62.0) if len(planes) > 1 else 0.5 * (WIDTH - side)
        (x_low, x_high), (y_low, y_high) = _limits(*_extent(plane.x)), _limits(*_extent(plane.y))
        if plane.diagonal:
            x_low, x_high = y_low, y_high = min(x_low, y_low), max(x_high, y_high)
        px = side * (plane.x - x_low) / (x_high - x_low)
        py = side * (y_high - plane.y) / (y_high - y_low)
        parts.append(f"<svg x='{left:g}' y='{_TOP:g}' width='{side:g}' height='{side:g}'>")
        if plane.diagonal:
            parts.append(f"<line class='diagonal' x1='0' y1='{side:g}' x2='{side:g}' y2='0'/>")
        parts.append(f"<path class='curve measured' d='{_path(px, py)}'/></svg>")
        for tick in _ticks(y_low, y_high, 4):
            y = _TOP + side * (y_high - tick) / (y_high - y_low) + 4.0
            parts.append(_label(left - 6.0, y, _number(tick), "tick", "end"))
        for tick in _ticks(x_low, x_high, 4):
            at = left + side * (tick - x_low) / (x_high - x_low)
            y = _TOP + side + 16.0
            parts.append(_label(at, y, _number(tick), "tick"))
        parts.append(_label(left, _TOP - 7.0, plane.title, anchor="start"))
        below = _TOP + side + 36.0
        parts.append(_label(left + side / 2, below, plane.x_title))
        turned = f"transform='translate({left - 50:g} {_TOP + side / 2:g}) rotate(-90)'"
        parts.append(f"<text class='name' {turned} text-anchor='middle'>{_text(plane.y_title)}</text>")
        parts.append(_frame(left, _TOP, side, side))
    return "".join([*parts, "</svg>"])


def envelope(px: Values, values: Values, columns: int, width: float) -> tuple[Values, Values, Values]:
    """Return centre, minimum and maximum of the finite values in each of the columns; NaN where it has none.

    Parameters
    ----------
    px : (n,) positions, ascending, from 0 to `width`.
    """
    if len(values) <= 2 * columns:
        return px, values, values
    column = np.clip((px * columns / width).astype(np.intp), 0, columns - 1)
    low, high = np.full(columns, np.inf), np.full(columns, -np.inf)
    finite = np.isfinite(values)
    np.minimum.at(low, column[finite], values[finite])
    np.maximum.at(high, column[finite], values[finite])
    empty = low > high
    low[empty] = high[empty] = np.nan
    return (np.arange(columns) + 0.5) * width / columns, low, high


def _curve(curve: Curve, px: Values, top_value: float, scale: float, columns: int) -> Iterator[str]:
    width = WIDTH - _LEFT - _RIGHT
    if curve.band is not None:
        x, _, upper = envelope(px, curve.values + curve.band, columns, width)
        _, lower, _ = envelope(px, curve.values - curve.band, columns, width)
        for piece in _pieces(np.isfinite(upper) & np.isfinite(lower)):
            # far outside there is nothing to see, and long numbers
            limits = -2.0 * _ROW, 3.0 * _ROW
            above, below = (np.clip(scale * (top_value - each[piece]), *limits) for each in (upper, lower))
            outline = _path(np.concatenate([x[piece], x[piece][::-1]]), np.concatenate([above, below[::-1]]))
            yield f"<path class='band {curve.style}' d='{outline}Z'/>"
    x, low, high = envelope(px, curve.values, columns, width)
    doubled = np.repeat(x, 2)
    y = np.clip(scale * (top_value - np.column_stack([low, high]).ravel()), -2.0 * _ROW, 3.0 * _ROW)
    if np.array_equal(low, high, equal_nan=True):
        doubled, y = x, y[::2]
    yield f"<path class='curve {curve.style}' data-name='{_text(curve.name)}' d='{_path(doubled, y)}'/>"


def _pieces(known: NDArray[np.bool_]) -> Iterator[slice]:
    edges = np.flatnonzero(np.diff(np.concatenate([[0], known.astype(np.int8), [0]])))
    for start, stop in edges.reshape(-1, 2).tolist():
        yield slice(start, stop)


def _path(x: Values, y: Values) -> str:
    """Return a path through (n,) points, broken where one is not finite."""
    parts = []
    for piece in _pieces(np.isfinite(x) & np.isfinite(y)):
        points = [f"{a:.1f} {b:.1f}" for a, b in zip(x[piece].tolist(), y[piece].tolist(), strict=True)]
        points = [point for point, _ in groupby(points)]
        # a single point is drawn as a dot by round caps
        parts.append("M" + "L".join(points if len(points) > 1 else points * 2))
    return "".join(parts)


def _scale(row: Row) -> tuple[float, float]:
    ends = list(row.at_least)
    for curve in row.curves:
        values = curve.values[np.isfinite(curve.values)]
        if not len(values):
            continue
        low, high = np.percentile(values, (_RARE, 100.0 - _RARE))
        # of a typical band: a wide one where nothing moves would hide the curve
        half = 0.0 if curve.band is None else float(np.nanmedian(np.append(curve.band, 0.0)))
        ends += [low - half, high + half]
    return _limits(*_extent(np.array(ends)))


def _extent(values: Values) -> tuple[float, float]:
    finite = values[np.isfinite(values)]
    return (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 1.0)


def _limits(low: float, high: float) -> tuple[float, float]:
    wide = high - low
    if wide <= 1e-9 * max(abs(low), abs(high), 1e-300):
        wide = max(abs(high), 1e-9)
    return low - _MARGIN * wide, high + _MARGIN * wide


def _ticks(low: float, high: float, about: int) -> list[float]:
    """Return round numbers within limits: about so many, and at least half of that."""
    raw = (high - low) / about
    power = 10.0 ** math.floor(math.log10(raw))
    for step in (10.0 * power, 5.0 * power, 2.0 * power, power):
        ticks = [step * i for i in range(math.ceil(low / step), math.floor(high / step) + 1)]
        if step < 1.999 * raw and len(ticks) >= about / 2:
            break
    return ticks


def _number(value: float) -> str:
    return f"{value + 0.0:.4g}".replace("-", "−")


def _frame(left: float, top: float, width: float, height: float) -> str:
    return f"<rect class='frame' x='{left:g}' y='{top:g}' width='{width:g}' height='{height:g}'/>"


def _x_axis(
    place: Callable[[float], float], low: float, high: float, y: float, title: str, about: int
) -> Iterator[str]:
    for tick in _ticks(low, high, about):
        yield _label(place(tick), y + 16.0, _number(tick), "tick")
    yield _label(place(0.5 * (low + high)), y + 36.0, title)


def _opening(title: str, description: str, height: float, x_range: tuple[float, float] | None, axis: str = "") -> str:
    data = ""
    if x_range is not None:
        data = (
            f" class='rows' tabindex='0' data-left='{_LEFT:g}' data-width='{WIDTH - _LEFT - _RIGHT:g}' "
            f"data-row='{_ROW:g}' data-from='{x_range[0]:.9g}' data-to='{x_range[1]:.9g}' data-axis='{_text(axis)}'"
        )
    label = _text(f"{title}. {description}")
    return f"<svg viewBox='0 0 {WIDTH:g} {height:g}' role='img' aria-label='{label}'{data}>"


def _label(x: float, y: float, text: str, style: str = "name", anchor: str = "middle") -> str:
    return f"<text class='{style}' x='{x:.1f}' y='{y:.1f}' text-anchor='{anchor}'>{_text(text)}</text>"


def _text(text: str) -> str:
    # characters that XML has not, such as escape sequences, as a replacement character
    return escape("".join(c if c.isprintable() else "�" for c in text), quote=True)
