"""`synchroscope identify RUN --missing-force --model FILE`: what force is my model missing?"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from monitor.commands.output import progress_bars
from monitor.system.files import check_regular
from monitor.system.safe_text import printable
from monitor.text.blocks import Block, Column, Data, Figure, Table, Text, Tone, words
from replay.commands import column_selection, show
from replay.identification.missing_force import LARGEST_RESIDUAL, find_missing_force, force_drawing
from replay.pictures import save_figures
from replay.tables import report_console

if TYPE_CHECKING:
    from replay.identification.force_model import ForceModel
    from replay.identification.missing_force import FoundForce
    from sim.missing_force.law_fit import LawFit

# of a time history in JSON; --out has all
_MOST_POINTS = 2000
_LAWS_SHOWN = 3
_BAND = 1.96


def run(arguments: argparse.Namespace) -> int:
    """Recover the force, print it, and write what was asked for."""
    _check(arguments)
    from replay.formats import Selection, hdf5, mat73, open_recording, run_file
    from replay.identification.force_model import read_force_model

    path: Path = arguments.files[0]
    model = read_force_model(arguments.model)
    if arguments.pictures:
        # raises before the work if it is not installed, or the folder cannot be written
        import matplotlib  # noqa: F401

        arguments.pictures.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        raise ValueError(f"{path}: there is no such file")
    try:
        # a run file knows its channels; in a table every column is one
        check_regular(path)
        with path.open("rb") as file:
            head = file.read(4096)
        formats = (mat73.FORMAT, hdf5.FORMAT, run_file.FORMAT)
        is_run = next((each for each in formats if each.accepts(path, head, Selection())), None) is run_file.FORMAT
        recording = open_recording(path, column_selection(arguments, auxiliary=not is_run))
        with progress_bars() as progress:
            found = find_missing_force(recording, model, progress)
    except ValueError as problem:
        raise ValueError(str(problem) if str(path) in str(problem) else f"{path}: {problem}") from None
    blocks = list(force_blocks(path, arguments.model, model, found))
    show(blocks, report_console(110), as_json=arguments.json)
    if arguments.out:
        write_csv(arguments.out, found)
    if arguments.pictures:
        print(*save_figures(blocks, arguments.pictures), file=sys.stderr)
    return 0


def _check(arguments: argparse.Namespace) -> None:
    if arguments.model is None:
        raise ValueError("--missing-force: give the model with --model FILE")
    if len(arguments.files) != 1:
        raise ValueError(f"--missing-force: {len(arguments.files)} files: give one run")
    others = {"--max-delay": arguments.max_delay, "--drift": arguments.drift, "--lag": arguments.lag or None}
    others |= {"--command": arguments.command or None, "--measured": arguments.measured or None}
    others |= {"--force": arguments.force or None}
    for option, value in others.items():
        if value is not None:
            raise ValueError(f"{option}: is of a fit of actuators: leave it out with --missing-force")


def _record(path: Path, model_path: Path, model: ForceModel, found: FoundForce) -> dict[str, Any]:
    """Return what was found; SI units, the time history thinned to 2000 instants."""
    recovered, time = found.recovered, found.recovered.time
    every = -(-len(time) // _MOST_POINTS)
    return {
        "file": str(path),
        "model": str(model_path),
        "instants": len(time),
        "forces": [_force(model, found, e) for e in range(len(model.missing))],
        "nothing_missing": all(found.nothing),
        "laws": [
            _law(found, law, chance) for law, chance in zip(found.laws, found.weights[1:].tolist(), strict=True)
        ],
        "noise": {
            "known": recovered.sigma_known,
            "sensors": [
                {"channel": each.channel, "dof": each.dof, "quantity": each.quantity, "sd": float(sd)}
                for each, sd in zip(model.sensor, found.noise, strict=True)
            ],
        },
        "orders": {str(order): chance for order, chance in recovered.orders.items()},
        "by_laws": 1.0 - float(found.weights[0]),
        "history": {
            "time": time[::every],
            "force": found.force[::every].T,
            "force_sd": found.force_sd[::every].T,
            "displacement": recovered.smoothed.displacement[::every].T,
            "velocity": recovered.smoothed.velocity[::every].T,
        },
        "warnings": list(found.warnings),
        "notes": list(found.notes),
    }


def _force(model: ForceModel, found: FoundForce, e: int) -> dict[str, Any]:
    # where the load is not known the band is as wide as without a record
    known = np.isfinite(np.asarray(found.problem.load)).all(axis=1) & np.isfinite(found.force[:, e])
    force, sd, time = (each[known] for each in (found.force[:, e], found.force_sd[:, e], found.recovered.time))
    place, at = model.missing[e], int(np.argmax(np.abs(force))) if len(force) else None
    # of a force that is nowhere known, or of which no sensor sees a constant part
    numbers = dict.fromkeys(("rms", "rms_sd", "mean", "largest", "largest_sd", "largest_at"), np.nan)
    if at is not None:
        sizes = [float(np.sqrt(np.mean(each**2))) for each in (force, sd)]
        mean = float(np.mean(force)) if found.sees_constant else np.nan
        largest = [float(each[at]) for each in (force, sd, time)]
        numbers = dict(zip(numbers, (*sizes, mean, *largest), strict=True))
    return {
        "place": place.name,
        "dof": place.dof,
        "between": place.between,
        **numbers,
        "known": float(np.mean(known)),
        "share": float(found.share[e]),
        "seen": float(found.recovered.seen[e]),
        "nothing_missing": found.nothing[e],
    }


def _law(found: FoundForce, law: LawFit, chance: float) -> dict[str, Any]:
    residual = found.residual(law)
    errors = law.standard_errors if residual <= LARGEST_RESIDUAL else np.full(len(law.names), np.nan)
    return {
        "terms": list(law.names),
        "coefficients": dict(zip(law.names, law.coefficients.tolist(), strict=True)),
        "standard_errors": dict(zip(law.names, errors.tolist(), strict=True)),
        "units": dict(zip(law.names, (term.unit for terms in law.laws for term in terms), strict=True)),
        "criterion": law.criterion,
        "probability": chance,
        "residual_over_noise": None if law.fit is None else residual,
        "diverges": law.fit is None,
    }


def force_blocks(path: Path, model_path: Path, model: ForceModel, found: FoundForce) -> Iterator[Block]:
    """Yield each force with its band, the laws, and reasons for doubt."""
    yield Data(_record(path, model_path, model, found))
    yield Text(printable(str(path)), Tone.HEADING)
    # before the tables, which look the same where they are invalid
    yield from (Text(f"warning: {warning}", Tone.BAD) for warning in found.warnings)
    rows = [
        (one["place"], one["rms"], one["rms_sd"], one["largest"], one["largest_sd"], one["largest_at"], one["share"])
        for one in (_force(model, found, e) for e in range(len(model.missing)))
    ]
    band, share = Column("± (95 %)", "", ".3g", _BAND), Column("of the restoring force", "%", ".3g", 100.0)
    columns = words("place"), Column("rms", "N"), band, Column("largest", "N"), band, Column("at", "s"), share
    yield Table("missing force", columns, rows)
    for e, nothing in enumerate(found.nothing):
        if nothing and e in found.recovered.unseen():
            yield Text(f"{model.missing[e].name}: zero is within the band, but the sensors hardly see this force.")
        elif nothing:
            yield Text(f"{model.missing[e].name}: nothing is missing, zero is within the band all along.")
    if not all(found.nothing):
        by_laws = 1.0 - found.weights[0]
        how = "that of its laws" if by_laws > 0.5 else "one of no law that was tried"
        yield Text(f"force and band: {how} (probability {max(by_laws, 1.0 - by_laws):.3g})")
    fitted = [law for law in found.laws if np.isfinite(law.criterion)]
    shown = [law for i, law in enumerate(fitted) if i == 0 or _is_determined(law)][:_LAWS_SHOWN]
    if shown and any(any(law.laws) for law in shown):
        yield _laws(shown, [place.name for place in model.missing], [found.residual(law) for law in shown])
    sensors = ", ".join(f"{each.channel} {sd:.3g}" for each, sd in zip(model.sensor, found.noise, strict=True))
    known, n = "given" if found.recovered.sigma_known else "estimated", len(found.recovered.time)
    yield Text(f"noise, {known}, SI: {sensors}; {n} instants")
    yield Figure("missing-force", partial(force_drawing, found, [place.name for place in model.missing]))
    for note in found.notes:
        yield Text(note if note.startswith("note at ") else f"note: {note}", Tone.WARNING)


def _is_determined(law: LawFit) -> bool:
    """Return whether every coefficient is beyond its 95 % band about zero."""
    return bool(np.all(np.abs(law.coefficients) > _BAND * law.standard_errors))


def _laws(laws: list[LawFit], places: Sequence[str], residuals: Sequence[float]) -> Table:
    rows: list[Sequence[object] | None] = []
    for law, residual in zip(laws, residuals, strict=True):
        rows += [None] if rows else []
        ends: tuple[object, ...] = residual, law.criterion - laws[0].criterion
        done = 0
        for place, own in zip(places, law.laws, strict=True):
            if not own:
                rows.append((place, "no force", "", "", "", *ends))
            for i, term in enumerate(own):
                error = law.standard_errors[done] if residual <= LARGEST_RESIDUAL else None
                value = law.coefficients[done]
                rows.append((place if i == 0 else "", term.name, term.unit, value, error, *ends))
                done += 1
                ends = "", ""
            ends = "", ""
    numbers = (
        *(Column("coefficient", form=".5g"), Column("standard\nerror", form=".2g")),
        Column("residual /\nnoise", form=".3g"),
        Column("BIC above\nthe first's", form="+.3g"),
    )
    named = words("place") if len(places) > 1 else Column(None)
    columns = named, words("law"), words("unit"), *numbers
    return Table("laws of stretch x [m] and rate v [m/s], the best first", columns, rows)


def write_csv(path: Path, found: FoundForce) -> None:
    """Write time, forces with their standard deviations, displacements, velocities, whether there is a sample; SI."""
    recovered = found.recovered
    smoothed, f, n = recovered.smoothed, found.problem.n_forces, found.problem.structure.dofs
    header = ["time [s]"]
    columns = [recovered.time]
    for e in range(f):
        header += [f"force_{e + 1} [N]", f"force_{e + 1}_sd [N]"]
        columns += [found.force[:, e], found.force_sd[:, e]]
    for i in range(n):
        header += [f"displacement_{i + 1} [m]", f"velocity_{i + 1} [m/s]"]
        columns += [smoothed.displacement[:, i], smoothed.velocity[:, i]]
    header.append("sampled")
    columns.append(found.sampled.astype(np.float64))
    try:
        np.savetxt(path, np.column_stack(columns), delimiter=",", header=",".join(header), comments="", fmt="%.10g")
    except OSError as problem:
        raise ValueError(f"--out {path}: {problem.strerror or problem}") from problem
