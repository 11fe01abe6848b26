"""`synchroscope identify --connect URL --model FILE`: which part of the model drifts, in a test that runs?"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from monitor.commands.output import print_json
from monitor.commands.process import StopSignals
from monitor.messages.blocks import SignalBlock, Stream
from monitor.messages.ready import Endpoints
from monitor.system.safe_text import printable
from monitor.text.blocks import Block, Column, Data, Table, Text, Tone, to_json, words
from replay.tables import print_blocks, report_console

if TYPE_CHECKING:
    from monitor.transport.zeromq.signals import SignalPublisher
    from replay.identification.specimen_follower import SpecimenFollower, SpecimenModel, Told

# s between two lines
_INTERVAL = 1.0
_LINGER = 2.0  # s


def run(arguments: argparse.Namespace) -> int:
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
    blocks = list(_blocks(model, live.newest))
    if arguments.json:
        print_json(to_json(blocks))
    else:
        print_blocks(blocks, report_console(110))
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


def _blocks(model: SpecimenModel, told: Told) -> list[Block]:
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
