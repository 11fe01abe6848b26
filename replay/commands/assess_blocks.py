"""An assessment as blocks: what people are told of a record, and what programs are."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from monitor.catalogue import CODE_UNIT, display_unit, outputs_by_name
from monitor.commands.output import with_units
from monitor.messages.headline import COMPARED_QUANTITIES, FALLBACKS, HEADLINE, LABELS
from monitor.system.safe_text import printable
from monitor.text.blocks import Block, Column, Data, Table, Text, Tone, words
from monitor.text.numbers import number
from replay.assessment.wording import (
    COMPARED_AS,
    change_words,
    comparison_row,
    compensator_words,
    headline_words,
    missing_words,
    unresolved_transfer,
    whole_record_notes,
    worst_actuator,
)

if TYPE_CHECKING:
    from monitor.messages.blocks import Column as ResultColumn
    from monitor.messages.blocks import Samples, TransferBlock
    from replay.assessment import Assessment, HeadlineEstimate, PairAssessment
    from replay.assessment.change_points import Segmentation
    from replay.assessment.results import RecordWarning


_OUTPUTS = outputs_by_name()
_FIRST = (HEADLINE, *FALLBACKS, "")


def group_of(name: str) -> str:
    """Return the group of a result in the catalogue; empty for none."""
    return _OUTPUTS[name].group if name in _OUTPUTS else ""


def headline_first(columns: Iterable[ResultColumn]) -> list[ResultColumn]:
    """Return the columns of the headline first, then of the indicators compared with it, then the others."""
    groups = dict.fromkeys((*_FIRST, *(output.group for output in _OUTPUTS.values())))
    order = {group: i for i, group in enumerate(groups)}
    return sorted(columns, key=lambda column: order[group_of(column.name)])


_DEGREES = 180.0 / math.pi
_FREQUENCIES = 8
_COHERENT = 0.5
# marks values that contradict the headline
_MARK = "≠"


def assessment_blocks(
    path: Path, assessment: Assessment, notes: Sequence[str], reading: Sequence[str] = ()
) -> Iterator[Block]:
    """Yield the assessment of one record; times in ms, angles in degrees, a dash where there is no value.

    Notes that are in `reading`, on how the file was read, come before the tables, which are wrong where these are.
    """
    yield Data(_record(path, assessment, notes))
    yield Text(
        f"{printable(str(path))} {assessment.samples} samples, {assessment.duration:.4g} s at "
        f"{assessment.stream.sample_rate:g} Hz, window {assessment.settings.window:.4g} s",
        Tone.HEADING,
    )
    # with times in another unit all that follows is wrong
    doubts = [warning for warning in assessment.warnings_of(None) if warning.code == "time_unit"]
    yield from _warnings("warning", doubts)
    several = len(assessment.pairs) > 1
    for found in assessment.pairs:
        yield Text(headline_words(found, assessment), Tone.STRONG)
    doubted = {warning.text for warning in doubts}
    yield from _notes(note for note in notes if note in reading and note not in doubted)
    if several:
        rows = [comparison_row(found, assessment) for found in assessment.pairs]
        columns = [
            words(title) if place in (0, len(COMPARED_AS) - 1) else Column(title)
            for place, title in enumerate(COMPARED_AS)
        ]
        yield Table("actuators compared", columns, rows)
        yield Text(worst_actuator(assessment), Tone.STRONG)
    for actuator, summary in assessment.compensators.items():
        yield Text(f"{actuator}: {compensator_words(summary)}")
    for found in assessment.pairs:
        yield from _pair(found, assessment)
        prefix = f"warning, {found.pair.actuator}" if several else "warning"
        yield from _warnings(prefix, assessment.warnings_of(found.pair.actuator))
    yield from _warnings("warning", (each for each in assessment.warnings_of(None) if each not in doubts))
    yield from _notes(note for note in notes if note not in reading)


def _warnings(prefix: str, warnings: Iterable[RecordWarning]) -> Iterator[Block]:
    return (Text(f"{prefix}: {warning.text}", Tone.BAD) for warning in warnings)


def _notes(notes: Iterable[str]) -> Iterator[Block]:
    return (Text(f"note: {note}", Tone.WARNING) for note in notes)


def _pair(found: PairAssessment, assessment: Assessment) -> Iterator[Block]:
    units = {c.name: c.unit for c in assessment.series.columns if c.actuator == found.pair.actuator}
    table, empty = _indicators(found, assessment)
    yield table
    for line in change_words(found, assessment):
        yield Text(line, Tone.STRONG)
    yield from map(Text, missing_words(found))
    if empty:
        yield Text(f"without a value: {', '.join(empty)}")
    yield Text(_whole(found, units, assessment.stream.sample_rate))
    if assessment.transfer is not None:
        unresolved = unresolved_transfer(found, assessment)
        yield Text(unresolved) if unresolved else _transfer(assessment.transfer, found.pair.actuator)


def _indicators(found: PairAssessment, assessment: Assessment) -> tuple[Table, list[str]]:
    """Return a row for each result, the headline's first, and the names of the results without a value."""
    channels = assessment.stream.channels
    title = f"{channels[found.pair.command].name} -> {channels[found.pair.measured].name}"
    valid = [(LABELS[each], found.presence[each].valid) for each in LABELS if each in found.presence]
    rows: list[tuple[str, ...] | None] = []
    empty, group = [], None
    for column in headline_first(c for c in assessment.series.columns if c.actuator == found.pair.actuator):
        if column.name.startswith("fei_") or column.name.endswith(("_sd", "_total", "_reason")):
            continue
        unit, factor = _shown_as(column)
        spread = found.spreads[column.name]
        if not math.isfinite(spread.median):
            empty.append(column.name)
            continue
        if group not in (None, group_of(column.name)):
            rows.append(None)
        group = group_of(column.name)
        numbers = (_shown(factor * each) for each in (spread.mean, spread.p05, spread.p95))
        uncertainty = _uncertainty(found, column.name, factor)
        rows.append(
            (column.name, unit, _shown(factor * spread.median), uncertainty, _mark(found, column.name), *numbers)
        )
    # a column without any entry only takes room
    quantities = (
        Column(title if title not in ("±", _MARK) or any(row and row[i] for row in rows) else None)
        for i, title in enumerate(("median", "±", _MARK, "mean", "5 %", "95 %"), 2)
    )
    shares = ", ".join(f"{label} {100 * share:.0f} %" for label, share in valid)
    columns = words("indicator"), words("unit"), *quantities
    return Table(f"{title}; valid: {shares}", columns, rows), empty


def _uncertainty(found: PairAssessment, name: str, factor: float) -> str:
    """Return the standard deviation of a result; ``changes`` where the headline's value changes within the record.

    The median of any measure over both levels is then a number between them, however narrow the band of a window.
    """
    headline, doubt = found.headline, found.spreads.get(f"{name}_sd")
    kind = name.rpartition("_")[2]
    if headline is not None and (
        (kind in ("delay", "phase") and headline.delay_range is not None)
        or (kind == "ratio" and headline.ratio_range is not None)
    ):
        return "changes"
    return _shown(factor * doubt.median, 2) if doubt else ""


def _mark(found: PairAssessment, name: str) -> str:
    """Return the share of instants at which a delay or ratio contradicts the headline; empty if small."""
    how = found.contradicts.get(group_of(name))
    compared = name.removeprefix(f"{group_of(name)}_") in COMPARED_QUANTITIES.get(group_of(name), ())
    return f"{_MARK} {100 * how.fraction:.0f} %" if compared and how is not None and how.often else ""


def _whole(found: PairAssessment, units: dict[str, str], rate: float) -> str:
    # under a taper: most records end in mid-motion
    fei, criteria = found.whole.fei_tapered, found.whole.criteria
    parts = [
        f"whole record: FEI (Hann taper) phase {_shown(_DEGREES * fei.phase, unit='°')} at "
        f"{_shown(fei.frequency, unit='Hz')}, ratio {_shown(fei.ratio)}, delay* {_shown(1e3 * fei.delay, unit='ms')}"
    ]
    known = {"J1": (criteria.j1, "ms"), "J2": (criteria.j2, "%"), "J3": (criteria.j3, "%")}
    parts.append(", ".join(f"{name} {_shown(value, unit=unit)}" for name, (value, unit) in known.items()))
    parts += [f"{name} {_shown(total)} {units[name]}" for name, total in found.totals.items() if math.isfinite(total)]
    notes = whole_record_notes(found, rate)
    return "; ".join(parts) + (f" ({'; '.join(notes)})" if notes else "")


def _transfer(transfer: TransferBlock, actuator: str) -> Block:
    """Return the transfer function at a few coherent frequencies, evenly spread."""
    good = np.flatnonzero(np.nan_to_num(transfer.curve(actuator, "coherence")) > _COHERENT)
    if not len(good):
        return Text("transfer function: not shown, no frequency is coherent enough")
    shown = sorted(set(good[np.linspace(0, len(good) - 1, _FREQUENCIES).astype(int)].tolist()))
    names = "coherence", "ratio", "phase", "delay", "delay_sd"
    curves = [transfer.frequency, *(transfer.curve(actuator, name) for name in names)]
    columns = (
        *(Column("frequency", "Hz"), Column("coherence", form=".3g"), Column("ratio")),
        *(
            Column("phase", "°", factor=_DEGREES),
            Column("delay", "ms", factor=1e3),
            Column("±", form=".2g", factor=1e3),
        ),
    )
    rows = [[curve[i] for curve in curves] for i in shown]
    return Table("transfer function, ratio command over measured", columns, rows)


def _shown_as(column: ResultColumn) -> tuple[str, float]:
    """Return the display unit of a column, and the factor; those of the catalogue."""
    output = _OUTPUTS.get(column.name)
    return (display_unit(output.display_unit, column.unit), output.display_factor) if output else (column.unit, 1.0)


def _shown(value: float, digits: int = 4, unit: str = "") -> str:
    return number(value, f".{digits}g", unit, rounding=1e-12)


def _record(path: Path, assessment: Assessment, notes: Sequence[str]) -> dict[str, Any]:
    """Return what programs are told; times in ms, angles in rad, null where there is no value."""
    return {
        "file": str(path),
        "sample_rate": assessment.stream.sample_rate,
        "samples": assessment.samples,
        "duration_s": assessment.duration,
        "window_s": assessment.settings.window,
        "share": assessment.settings.share,
        "notes": notes,
        "warnings": [{"code": w.code, "actuator": w.actuator, "text": w.text} for w in assessment.warnings],
        "pairs": [_pair_record(found, assessment) for found in assessment.pairs],
    }


def _pair_record(found: PairAssessment, assessment: Assessment) -> dict[str, Any]:
    channels = assessment.stream.channels
    pair: dict[str, Any] = {
        "actuator": found.pair.actuator,
        "command": channels[found.pair.command].name,
        "measured": channels[found.pair.measured].name,
        "headline": _headline(found.headline),
    }
    for column in assessment.series.columns:
        if column.actuator != found.pair.actuator or column.name.startswith("fei_") or column.unit == CODE_UNIT:
            continue
        group = group_of(column.name)
        # within its group the index of HSEM has no name of its own
        name = "normalized" if column.name == group else column.name.removeprefix(f"{group}_")
        key, factor = _key(name, column)
        value: object = (
            factor * found.totals[column.name]
            if column.name in found.totals
            else {name: factor * value for name, value in asdict(found.spreads[column.name]).items()}
        )
        (pair.setdefault(group, {}) if group else pair)[key] = value
    if "specimen" in pair:
        pair["specimen"] |= _segmentation("stiffness", found.stiffness, 1.0, "")
    for group, how in found.contradicts.items():
        pair[group]["contradicts"] = how.fraction
    pair["fei"], pair["fei_tapered"] = with_units(found.whole.fei), with_units(found.whole.fei_tapered)
    pair["criteria"] = with_units(found.whole.criteria)
    pair["transfer"] = _transfer_record(assessment.transfer, found.pair.actuator)
    pair["valid_fraction"] = found.valid_fraction
    pair["missing"] = {
        measure: {reason.name.lower(): share for reason, share in presence.missing.items()}
        for measure, presence in found.presence.items()
    }
    summary = assessment.compensators.get(found.pair.actuator)
    units = {name: (f"{name}_fraction", 1.0) for name in ("adapting", "limited")}
    units |= {"delay": ("delay_ms", 1e3), "delay_range": ("delay_range_ms", 1e3), "bridged": ("bridged_samples", 1.0)}
    pair["compensator"] = None if summary is None else with_units(summary, units)
    return pair


def _headline(headline: HeadlineEstimate | None) -> dict[str, Any] | None:
    if headline is None:
        return None
    found = {"indicator": HEADLINE, **with_units(headline)}
    segmentations = {name: found.pop(f"{name}_segments") for name in ("delay", "ratio")}
    seconds = {"start": ("start_s", 1.0), "stop": ("stop_s", 1.0)}
    for name, factor, unit in (("delay", 1e3, "_ms"), ("ratio", 1.0, "")):
        departure = found[f"{name}_departure"]
        units = seconds | {"value": (f"{name}{unit}", factor), "sd": (f"{name}_sd{unit}", factor)}
        found[f"{name}_departure"] = None if departure is None else with_units(departure, units)
    return (
        found
        | _segmentation("delay", segmentations["delay"], 1e3, "_ms")
        | _segmentation("ratio", segmentations["ratio"], 1.0, "")
    )


def _segmentation(name: str, segmentation: Segmentation, factor: float, unit: str) -> dict[str, Any]:
    """Return the changes of a value, steps and drifts; times in s after the record's first sample."""
    seconds = {field: (f"{field}_s", 1.0) for field in ("time", "time_uncertainty", "start", "stop")}
    renamed = {"before": "from", "before_sd": "from_sd", "after": "to", "after_sd": "to_sd"}
    renamed |= {"first": "from", "last": "to", "sd": "sd"}
    units = seconds | {field: (f"{key}{unit}", factor) for field, key in renamed.items()}
    return {
        f"{name}_changes": [with_units(step, units) for step in segmentation.steps],
        f"{name}_drifts": [with_units(segment, units) for segment in segmentation.drifts],
    }


def _key(name: str, column: ResultColumn) -> tuple[str, float]:
    if name.startswith("delay"):
        return f"{name}_ms", 1e3
    suffix = {"s": "_s", "rad": "_rad", "Hz": "_hz"}.get(column.unit, "")
    return name + suffix, 1.0


def _transfer_record(transfer: TransferBlock | None, actuator: str) -> dict[str, Samples] | None:
    if transfer is None:
        return None
    known = np.isfinite(transfer.curve(actuator, "coherence"))
    curves = {"frequency_hz": transfer.frequency[known]}
    for column in transfer.stream.columns:
        if column.actuator == actuator:
            key, factor = _key(column.name, column)
            curves[key] = factor * transfer.curve(actuator, column.name)[known]
    return curves
