"""`Rig`: signals of a user's own program, numbered, with restarts, gaps and a lost connection told."""

from __future__ import annotations

import gc
import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from monitor import Channel, Rig, Role
from monitor.messages.blocks import Event, SignalBlock
from monitor.transport.zeromq.signals import SignalPublisher, SignalSubscriber

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs" / "clients.md"
ANY_PORT = "tcp://127.0.0.1:*"
CHANNELS = ("north.command [mm]", "north.measured [mm]", "north.force [kN]", "oil temperature [degC]")


@pytest.fixture
def rig():
    with Rig(ANY_PORT, channels=CHANNELS, sample_rate=1000.0, name="frame") as made:
        yield made


@pytest.fixture
def source(rig):
    listening = SignalSubscriber((rig.endpoint,), ())
    assert rig.wait_for_subscriber(30.0)
    yield listening
    listening.close()


def received(source: SignalSubscriber, count: int) -> list[SignalBlock]:
    blocks: list[SignalBlock] = []
    for _ in range(300):
        blocks += [item for item in source.receive(0.1) if not isinstance(item, Event)]
        if len(blocks) >= count:
            return blocks
    raise AssertionError(f"{len(blocks)} blocks came, {count} were sent")


def test_texts_are_channels_with_role_actuator_and_unit(rig) -> None:
    assert rig.stream.channels == (
        Channel("north.command", Role.COMMAND, "mm", "north"),
        Channel("north.measured", Role.MEASURED, "mm", "north"),
        Channel("north.force", Role.FORCE, "kN", "north"),
        Channel("oil temperature", Role.AUXILIARY, "degC"),
    )


def test_samples_are_numbered_and_timed_and_the_stream_ends(rig, source) -> None:
    first, second = np.arange(12.0).reshape(3, 4), [1.0, 2.0, 3.0, 4.0]
    assert rig.send(first)
    assert rig.send(second)
    rig.skip(5)
    assert rig.send(second, time=7.5)
    rig.close()
    blocks = received(source, 4)
    assert [(block.index, len(block), block.last) for block in blocks] == [
        *((0, 3, False), (3, 1, False), (9, 1, False), (10, 0, True))
    ]
    assert [block.time for block in blocks[:3]] == [0.0, 0.003, 7.5]
    np.testing.assert_array_equal(blocks[0].samples, first)


def test_a_restart_is_a_larger_epoch_that_begins_at_the_first_sample(rig, source) -> None:
    rig.send(np.zeros((2, 4)))
    rig.restart()
    rig.send(np.zeros((2, 4)))
    before, after = received(source, 2)
    assert after.stream.epoch > before.stream.epoch
    assert after.index == 0


def test_a_program_that_breaks_off_does_not_say_that_the_stream_has_ended() -> None:
    with pytest.raises(RuntimeError), Rig(ANY_PORT, channels=CHANNELS, sample_rate=1000.0) as rig:
        source = SignalSubscriber((rig.endpoint,), ())
        assert rig.wait_for_subscriber(30.0)
        rig.send(np.zeros((2, 4)))
        raise RuntimeError
    assert [block.last for block in received(source, 1)] == [False]
    source.close()


def test_while_nobody_listens_it_is_told_and_the_numbers_go_on(rig) -> None:
    assert not rig.subscribed
    assert not rig.send(np.zeros((2, 4)))
    assert rig.index == 2


@pytest.mark.parametrize(
    ("channels", "rate", "words"),
    [
        (("a.command",), 1000.0, "has no measured channel"),
        (("a.command", "a.measured", "a.command"), 1000.0, "appears twice"),
        (("a [mm] b",), 1000.0, "write for example 'north.command \\[mm\\]'"),
        (("a",), 0.0, "must be a positive number"),
    ],
)
def test_a_mistake_is_told(channels, rate, words) -> None:
    with pytest.raises(ValueError, match=words):
        Rig(ANY_PORT, channels=channels, sample_rate=rate)


def test_samples_of_another_width_are_refused(rig) -> None:
    with pytest.raises(ValueError, match="4 columns are needed"):
        rig.send(np.zeros((3, 2)))


def test_the_example_of_the_documentation_sends(capsys) -> None:
    code = re.search(r"```python\n(from math.*?)```", DOCS.read_text(), re.DOTALL)
    assert code is not None
    assert code[1].count("\n") <= 15
    with Rig(ANY_PORT, channels=CHANNELS, sample_rate=1.0) as free:
        endpoint = free.endpoint
    program = code[1].replace("Rig(", f"Rig({endpoint!r}, ").replace("range(60 * 50)", "range(100)")
    source = SignalSubscriber((endpoint,), ())
    try:
        exec(compile(program, str(DOCS), "exec"), {})
        blocks = received(source, 50)
    finally:
        source.close()
    assert blocks[0].stream.pairs[0].actuator == "north"
    assert blocks[-1].index <= 2000


def test_a_program_of_three_lines_sends_all_and_leaves_the_stream_open() -> None:
    code = re.search(r"```python\n(from monitor import Rig\n.*?)```", DOCS.read_text(), re.DOTALL)
    assert code is not None
    with socket.create_server(("127.0.0.1", 0)) as taken:
        endpoint = f"tcp://127.0.0.1:{taken.getsockname()[1]}"
    loop = "range(500)) if rig.wait_for_subscriber(30.0) else ()"
    program = (
        code[1].replace("Rig(", f"Rig({endpoint!r}, ").replace("your_loop()", f"(((n, n + 0.5) for n in {loop})")
    )
    source = SignalSubscriber((endpoint,), ())
    try:
        words = [sys.executable, "-W", "error", "-X", "dev", "-c", program]
        with subprocess.Popen(words, stderr=subprocess.PIPE, env=os.environ | {"PYTHONPATH": str(ROOT)}) as process:
            blocks = received(source, 500)
            assert process.stderr is not None
            # neither an exception nor a warning of what was not closed
            assert (process.stderr.read(), process.wait()) == (b"", 0)
        blocks += [item for item in source.receive(0.1) if not isinstance(item, Event)]
    finally:
        source.close()
    np.testing.assert_array_equal(np.concatenate([block.samples for block in blocks])[:, 1], np.arange(500) + 0.5)
    assert not any(block.last for block in blocks)


def test_a_rig_that_is_dropped_does_not_block_a_running_program(monkeypatch: pytest.MonkeyPatch) -> None:
    lingers: list[float] = []
    close = SignalPublisher.close

    def closed(publisher: SignalPublisher, linger: float = 5.0) -> None:
        lingers.append(linger)
        close(publisher, linger)

    monkeypatch.setattr(SignalPublisher, "close", closed)
    rig = Rig("tcp://127.0.0.1:*", channels=["a.command", "a.measured"], sample_rate=100.0)
    rig.send([0.0, 0.0])
    del rig
    gc.collect()
    assert len(lingers) == 1
    assert lingers[0] <= 0.1
    # one that was not made has nothing to close
    Rig.__new__(Rig).__del__()
    assert len(lingers) == 1
