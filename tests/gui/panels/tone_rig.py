"""A rig that moves in one tone, with a known gain and delay, and what a window would have heard of it."""

from __future__ import annotations

import numpy as np

from gui.model.history import History
from gui.model.receiver import ReceivedMessages
from monitor.config import IndicatorSettings
from monitor.engine.monitor import Monitor
from monitor.messages.blocks import Channel, Role, SignalBlock, Stream
from monitor.messages.health import Health

RATE, FREQUENCY, WINDOW = 500.0, 1.7, 2.0
AMPLITUDE, STIFFNESS, DAMPING = 0.004, 2e4, 150.0
MEASURES = "fdb", "paei"


def pulsation():
    return 2.0 * np.pi * FREQUENCY


def tone_samples(seconds, delay, ratio):
    """Return time, command, measured, and the force of a spring beside a damper: (n_samples,) each."""
    time = np.arange(round(seconds * RATE)) / RATE
    command = AMPLITUDE * np.cos(pulsation() * time)
    turn = pulsation() * (time - delay)
    measured = AMPLITUDE / ratio * np.cos(turn)
    force = STIFFNESS * measured - DAMPING * AMPLITUDE / ratio * pulsation() * np.sin(turn)
    return time, command, measured, force


def tone_stream(*, force=True, units=("m", "m"), epoch=1):
    channels = [
        Channel("a.command", Role.COMMAND, units[0], "a"),
        Channel("a.measured", Role.MEASURED, units[1], "a"),
    ]
    return Stream("tones", epoch, RATE, (*channels, *([Channel("a.force", Role.FORCE, "N", "a")] if force else [])))


def watch(stream, columns, *, measures=MEASURES, state="receiving", age=0.0, silence=0.0, memory=32 << 20):
    """Return a history of samples, (n_samples,) a column, that went through a monitor."""
    settings = IndicatorSettings(window=WINDOW, measures=measures, relative_gate=0.0, gate=1e-6)
    monitor, history = Monitor(settings), History(memory=memory)
    samples = np.ascontiguousarray(np.stack(columns, axis=1))
    for first in range(0, len(samples), 20):
        block = SignalBlock(stream, first, first / RATE, samples[first : first + 20])
        update = monitor.update(block)
        history.update(
            ReceivedMessages(
                health=Health(rig="tones", state=state),
                events=update.events,
                results=() if update.results is None else (update.results,),
                transfer=update.transfer,
                signals=() if update.signals is None else (update.signals,),
            ),
            age=age,
            silence=silence,
        )
    return history


def tone_history(seconds=5.0, *, delay=0.012, ratio=1.1, force=True, units=("m", "m"), edit=None, **more):
    """Return a history of a tone; `edit` may change the columns, (n_samples,) each, before."""
    _, *columns = tone_samples(seconds, delay, ratio)
    if not force:
        columns = columns[:2]
    if edit is not None:
        edit(*columns)
    return watch(tone_stream(force=force, units=units), columns, **more)
