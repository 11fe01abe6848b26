"""`synchroscope identify`: actuators of recorded runs, the force a model is missing, what drifts of one that runs."""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from monitor.commands.options import add_column_options, add_insecure_option, add_ready_option, positive
from monitor.commands.output import print_records
from monitor.commands.process import StopSignals
from monitor.messages.blocks import Channel, SignalBlock, Stream, ratio_unit
from monitor.messages.ready import Endpoints
from monitor.system.safe_text import printable
from monitor.text.blocks import Block, Column, Data, Table, Text, Tone, to_json, words
from monitor.text.numbers import number
from replay.commands import column_selection, show
from replay.identification import fit_json
from replay.tables import print_blocks, report_console

if TYPE_CHECKING:
    from monitor.transport.zeromq.signals import SignalPublisher
    from replay.formats import Recording, Selection
    from replay.identification.actuators import ActuatorFit, Identified
    from replay.identification.specimen_follower import SpecimenFollower, SpecimenModel, Told

_MAX_DELAY, _DRIFT = 0.1, 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE", help="recordings, of any format that is read")
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    group = parser.add_argument_group("fit")
    group.add_argument(
        "--max-delay", type=positive, metavar="S", help="largest delay that is searched (default 0.1, 1 at most)"
    )
    group.add_argument(
        "--lag",
        action="store_true",
        help="fit a first-order lag, too, where the record shows one: needs a motion of several frequencies",
    )
    group.add_argument(
        "--drift",
        type=int,
        metavar="N",
        help="terms of an additional polynomial in time, 0 to 6 (default 1: an offset; 2: a drift, too)",
    )
    force = parser.add_argument_group("missing force")
    force.add_argument(
        "--missing-force", action="store_true", help="recover the force that a model is missing, in place of a fit"
    )
    force.add_argument("--model", type=Path, metavar="FILE", help="TOML: mass, damping, stiffness, sensors, loads")
    force.add_argument("--out", type=Path, metavar="CSV", help="write the force, its band and the motion")
    force.add_argument("--pictures", type=Path, metavar="DIR", help="write a picture of the force into this folder")
    live = parser.add_argument_group("a specimen, live")
    live.add_argument(
        "--connect", metavar="URL", help="follow the parameters of --model in a running service's signals"
    )
    live.add_argument("--bind", metavar="URL", help="publish them here, as a rig (default: a free local port)")
    live.add_argument("--rig", metavar="NAME", help="of the service, where it has several")
    live.add_argument("--keys", metavar="DIR", help="folder of keys, if the service requires them")
    add_insecure_option(parser)
    add_ready_option(live)
    add_column_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Fit every actuator of every file and print the results; return 2 if one of them could not be fitted."""
    from replay.identification.actuators import check_settings

    if arguments.connect is not None:
        return run_live(arguments)
    for option in ("bind", "rig", "keys"):
        if getattr(arguments, option) is not None:
            raise ValueError(f"--{option}: is of --connect: give that, too")
    if not arguments.files:
        raise ValueError("no file: name the recordings, or a running service with --connect")
    if arguments.missing_force:
        from replay.commands.identify_force import run as run_missing_force

        return run_missing_force(arguments)
    for option in ("model", "out", "pictures"):
        if getattr(arguments, option) is not None:
            raise ValueError(f"--{option}: is of --missing-force: give that, too")
    arguments.max_delay = _MAX_DELAY if arguments.max_delay is None else arguments.max_delay
    arguments.drift = _DRIFT if arguments.drift is None else arguments.drift
    selection = column_selection(arguments)
    check_settings(arguments.max_delay, arguments.drift)
    records, problems = [], []
    for path in arguments.files:
        recording, found = _identified(path, selection, arguments)
        # the JSON has them as well; the exit code shows that there are some
        problems += [problem if str(path) in problem else f"{path}: {problem}" for problem in found.problems]
        if arguments.json:
            records.append(to_json(fit_blocks(path, recording, found)))
        elif recording and found.fits:
            print_blocks(fit_blocks(path, recording, found), report_console(110))
    if arguments.json:
        print_records(records, several=len(arguments.files) > 1)
    for problem in problems:
        print(f"synchroscope identify: {printable(problem)}", file=sys.stderr)
    return 2 if problems else 0


def _identified(
    path: Path, selection: Selection, arguments: argparse.Namespace
) -> tuple[Recording | None, Identified]:
    """Return a record, if it can be read, and its fits; an error becomes a problem of this record."""
    from monitor.commands.output import progress_bars
    from replay.formats import open_recording
    from replay.identification.actuators import Identified, identify

    recording = None
    try:
        recording = open_recording(path, selection)
        with progress_bars() as progress:
            return recording, identify(
                recording,
                max_delay=arguments.max_delay,
                with_lag=arguments.lag,
                n_drift=arguments.drift,
                progress=progress,
            )
    except (ValueError, OSError) as problem:
        return recording, Identified((), (str(problem),))


@dataclass(frozen=True, slots=True)
class ParameterLabel:
    """Name and unit of a parameter in tables and in JSON.

    Parameters
    ----------
    name, unit : in a table.
    factor : from SI to the unit of the table.
    key : in JSON, where the value is in SI, or in the unit of the channels.
    """

    name: str
    unit: str
    factor: float
    key: str


def parameter_label(name: str, command: Channel, measured: Channel) -> ParameterLabel:
    """Return the label of a parameter; beta_1 and so on, the terms of the polynomial, are offset and drifts."""
    if name in ("delay", "lag"):
        return ParameterLabel(name, "ms", 1e3, f"{name}_s")
    if name == "gain":
        return ParameterLabel(name, ratio_unit(measured, command), 1.0, name)
    power = int(name.removeprefix("beta_")) - 1
    if not power:
        return ParameterLabel("offset", measured.unit, 1.0, "offset")
    per = f"s^{power}" if power > 1 else "s"
    title = f"drift t^{power}" if power > 1 else "drift"
    return ParameterLabel(title, f"{measured.unit or '1'}/{per}", 1.0, f"drift_per_{per.replace('^', '')}")


def _record(path: Path, recording: Recording | None, found: Identified) -> dict[str, Any]:
    """Return the fits of one record, or why there are none; null where there is no value.

    Keys have the unit where it is one of time; other units are those of the channels.
    """
    return {
        "file": str(path),
        "sample_rate": recording.stream.sample_rate if recording else None,
        "notes": list(recording.notes) if recording else [],
        "actuators": [_actuator(each, recording.stream) for each in found.fits] if recording else [],
        "problems": list(found.problems),
    }


def _actuator(found: ActuatorFit, stream: Stream) -> dict[str, Any]:
    command, measured = stream.channels[found.pair.command], stream.channels[found.pair.measured]
    keys = tuple(parameter_label(name, command, measured).key for name in found.fit.names)
    # a parameter that was requested and is not determined has no value
    nothing = {parameter_label(name, command, measured).key: None for name in found.undetermined}
    fit = fit_json(replace(found.fit, names=keys))
    errors = dict(zip(keys, found.fit.correlated_standard_errors.tolist(), strict=True))
    intervals = found.fit.intervals().tolist()
    return {
        "actuator": found.pair.actuator,
        "command": command.name,
        "measured": measured.name,
        **fit,
        "estimates": fit["estimates"] | nothing,
        "standard_errors": fit["standard_errors"] | nothing,
        "correlated_standard_errors": errors | nothing,
        "interval_95": dict(zip(keys, intervals, strict=True)) | nothing,
        "unidentified": [*fit["unidentified"], *nothing],
        "rivals": [dict(zip(keys, rival, strict=False)) for rival in found.alternatives.tolist()],
        "explained": found.explained,
        "compared": found.compared,
        "left_out": found.left_out,
        "warnings": list(found.warnings),
        "notes": list(found.notes),
    }


_MOST_DIGITS = 7
_ROUNDING = 1e-12


def fit_blocks(path: Path, recording: Recording | None, found: Identified) -> Iterator[Block]:
    """Yield the parameters of each actuator, times in ms; the errors are for autocorrelated residuals.

    Of what could not be read programs alone are told.
    """
    yield Data(_record(path, recording, found))
    if recording is None:
        return
    yield Text(printable(str(path)), Tone.HEADING)
    for each in found.fits:
        yield _parameters(each, recording.stream)
        unit = recording.stream.channels[each.pair.measured].unit
        yield Text(
            f"{each.compared} samples compared; {100.0 * each.explained:.4g} % of the measured variance explained, "
            f"residual {f'{each.fit.sigma:.4g} {unit}'.rstrip()}"
        )
        yield from (Text(f"warning: {warning}", Tone.BAD) for warning in each.warnings)
        yield from (Text(f"note: {note}", Tone.WARNING) for note in each.notes)
    yield from (Text(f"note: {note}", Tone.WARNING) for note in recording.notes)


def _parameters(found: ActuatorFit, stream: Stream) -> Table:
    command, measured = (stream.channels[channel] for channel in (found.pair.command, found.pair.measured))
    errors, white_errors = found.fit.correlated_standard_errors, found.fit.standard_errors
    columns = np.column_stack([found.fit.parameters, errors, found.fit.intervals(), white_errors])
    known_of = dict(zip(found.fit.names, columns, strict=True))
    rows: list[Sequence[object]] = []
    for name in ("gain", "delay", "lag", *(name for name in known_of if name.startswith("beta_"))):
        label = parameter_label(name, command, measured)
        if name in known_of:
            value, error, low, high, white = (label.factor * known_of[name]).tolist()
            known = error if math.isfinite(error) else white
            numbers = (value, known), (error, error), (low, known), (high, known), (white, white)
            rows.append((label.name, label.unit, *(_number(*each) for each in numbers)))
        elif name in found.undetermined:
            rows.append((label.name, label.unit, *[None] * 5))
    titles = "estimate", "±", "95 % from", "to", "± if white"
    title = f"{command.name} -> {measured.name}"
    return Table(title, (words("parameter"), words("unit"), *map(Column, titles)), rows)


def _number(value: float, error: float) -> str:
    """Return a number to the second digit of its error."""
    digits = 4
    if math.isfinite(error) and error > 0.0 and abs(value) > _ROUNDING:
        digits = math.floor(math.log10(abs(value))) - math.floor(math.log10(error)) + 2
    return number(value, f".{min(max(digits, 2), _MOST_DIGITS)}g", rounding=_ROUNDING)


# s between two lines
_INTERVAL = 1.0
_LINGER = 2.0  # s


def run_live(arguments: argparse.Namespace) -> int:
    """Follow the parameters until the stream ends, or a signal stops it; print them at the end."""
    from monitor.client.connection import connect
    from monitor.transport.zeromq.key_files import keys_of
    from monitor.transport.zeromq.signals import SignalPublisher
    from replay.identification.specimen_follower import read_specimen_model

    if arguments.model is None:
        raise ValueError("--connect: give the model with --model FILE")
    if arguments.files:
        raise ValueError(f"--connect: {arguments.files[0]}: a live stream or files: leave one out")
    model = read_specimen_model(arguments.model)
    publisher = SignalPublisher(
        arguments.bind or "tcp://127.0.0.1:*", insecure=arguments.insecure, security=keys_of("")
    )
    live = _Live(model, publisher, quiet=arguments.json)
    try:
        with (
            StopSignals().interrupting(),
            connect(
                arguments.connect, rig=arguments.rig or "", kinds=("signals",), keys=arguments.keys or ""
            ) as stream,
        ):
            if arguments.ready_json:
                print(Endpoints((publisher.endpoint,)).json, flush=True)
            else:
                _log(f"following {arguments.connect}; publishing on {publisher.endpoint}")
            for item in stream.items():
                if isinstance(item, SignalBlock):
                    live.take(item)
    except KeyboardInterrupt:
        pass
    finally:
        publisher.close(_LINGER)
    if live.newest is None:
        raise ValueError(f"{arguments.connect}: no signals that move the specimen: nothing was followed")
    show(_live_blocks(model, live.newest), report_console(110), as_json=arguments.json)
    return 0


@dataclass
class _Live:
    """What follows the stream, and sends on what it finds.

    Parameters
    ----------
    quiet : no lines are printed meanwhile.
    """

    model: SpecimenModel
    publisher: SignalPublisher
    quiet: bool
    newest: Told | None = None
    _follower: SpecimenFollower | None = None
    _of: Stream | None = None
    _sent: Stream | None = None
    _said: float = 0.0

    def take(self, block: SignalBlock) -> None:
        """Take a block of the rig."""
        from replay.identification.specimen_follower import SpecimenFollower

        if self._of is None or block.stream != self._of:
            self._of, self._follower = block.stream, SpecimenFollower(self.model, block.stream)
            self._sent = Stream(
                f"{block.stream.rig}-model", time.time_ns(), self._follower.sample_rate, self._follower.channels
            )
        assert self._follower is not None and self._sent is not None
        index, rows = self._follower.advance(block)
        at = block.time + index / self._follower.sample_rate - block.index / block.stream.sample_rate
        self.publisher.send(SignalBlock(self._sent, index, at, rows, block.last))
        if self._follower.newest is None:
            return
        self.newest = self._follower.newest
        if not self.quiet and time.monotonic() - self._said > _INTERVAL:
            self._said = time.monotonic()
            _log(f"{self.newest.time:.1f} s: {', '.join(_words(self.model, self.newest))}")


def _words(model: SpecimenModel, told: Told) -> list[str]:
    from replay.identification.specimen_follower import parameter_words

    law = model.law()
    return [
        parameter_words(name, float(law.nominal[i]), i, told.estimate, law.followed)
        for i, name in enumerate(law.followed)
    ]


def _live_blocks(model: SpecimenModel, told: Told) -> list[Block]:
    from replay.identification.specimen_follower import DETERMINED, TOGETHER
    from sim.fitting.parameter_filter import PARAMETERS

    law, found = model.law(), told.estimate
    names = [name.replace("_", " ") for name in law.followed]
    record = {
        name: {
            "nominal": float(law.nominal[i]),
            "value": float(found.parameters[i]),
            "sd": float(found.sd[i]),
            "determined": bool(found.gained[i] >= DETERMINED),
            "only_together": bool(found.alike[i] > TOGETHER),
        }
        for i, name in enumerate(law.followed)
    }
    rows = [
        (label, PARAMETERS[name], one["nominal"], one["value"], one["sd"], one["value"] / one["nominal"] - 1.0)
        for label, (name, one) in zip(names, record.items(), strict=True)
    ]
    columns = (
        *(words("parameter"), words("unit"), Column("nominal", form=".4g"), Column("at the end", form=".5g")),
        *(Column("±", form=".2g"), Column("drift", "%", "+.1f", 100.0)),
    )
    unsure = [label for label, one in zip(names, record.values(), strict=True) if not one["determined"]]
    alike = [label for label, one in zip(names, record.values(), strict=True) if one["only_together"]]
    blocks: list[Block] = [Data({"time_s": told.time, "parameters": record}), Table("the specimen", columns, rows)]
    if unsure:
        blocks.append(Text(f"not determined by this motion: {', '.join(unsure)}", Tone.WARNING))
    if len(alike) > 1:
        blocks.append(Text(f"known only together: {', '.join(alike)}", Tone.WARNING))
    return blocks


def _log(text: str) -> None:
    print(printable(text), file=sys.stderr, flush=True)
