"""Runs for reports: the demonstration, and a bad one: clipped, quantised, with a gap and hostile names."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from monitor.config import load_settings
from monitor.engine.monitor import Monitor
from monitor.messages.alarms import AlarmAction, AlarmState, Severity, Transition
from monitor.messages.blocks import Event, EventKind, Role
from monitor.recording import RunWriter
from replay.simulations import simulation

SETTINGS = {"indicators": {"window": 2.0}}
HOSTILE = "<script>alert(1)</script>"
NOTE = "pump 2 on, <b>& off</b>"
STEP = 1e-4  # m, of the quantised sensor
_BLOCK = 512
_GAP = 20  # number of the block that is lost


def record_run(path: Path, *, bad: bool = False, duration: float = 40.0) -> Path:
    """Record the simulation of the demonstration, with results; a bad run also has alarms and a note."""
    recording = simulation("hybrid", duration=duration)
    writer, engine = RunWriter(path, SETTINGS), Monitor(load_settings(None, SETTINGS).indicators)
    stream = recording.stream
    if bad:
        odd = replace(stream.channels[-1], name=HOSTILE, role=Role.AUXILIARY, actuator="", unit="</style>")
        stream = replace(stream, channels=(*stream.channels, odd))
    for number, block in enumerate(recording.blocks(_BLOCK)):
        if bad and number == _GAP:
            writer.event(Event(EventKind.GAP, block.time, block.index, len(block), ""))
            continue
        if bad:
            samples = np.column_stack([block.samples, block.samples[:, 0]])
            measured = stream.pairs[0].measured
            samples[:, measured] = np.minimum(np.round(samples[:, measured] / STEP) * STEP, 20 * STEP)
            block = replace(block, stream=stream, samples=samples)
        writer.signals(block)
        update = engine.update(block)
        if update.results is not None:
            writer.results(update.results)
    if bad:
        writer.event(Event(EventKind.NOTE, 15.0, round(15.0 * stream.sample_rate), 0, NOTE))
        for severity, seconds in ((Severity.TRIP, 20.0), (Severity.WARN, 23.0)):
            writer.event(Event.of_alarm(_transition(severity, seconds, stream.sample_rate)))
    writer.close()
    return path


def _transition(severity: Severity, seconds: float, rate: float) -> Transition:
    states = AlarmAction.OCCUR, AlarmState.NORMAL, AlarmState.UNACKNOWLEDGED
    of_what = "s", "0.04 > 0.03", "", "north", "fdb_delay"
    index = round(seconds * rate)
    return Transition(1, f"north.fdb_delay.{severity}", severity, *states, seconds, index, 0.04, 0.03, *of_what)
