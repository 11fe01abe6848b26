"""The real player, steered through its pipes, and what comes over real sockets."""

from __future__ import annotations

import json
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from time import monotonic

import numpy as np
import pytest
import zmq

from monitor.messages.blocks import SignalBlock
from monitor.transport.zeromq.signals import ZmqSource

ROOT = Path(__file__).parents[2]
PATIENCE = 60.0
WITNESS = 5  # the column that counts


class Player:
    """One ``synchroscope replay --controlled``."""

    def __init__(self, *words: object) -> None:
        command = [sys.executable, "-m", "monitor", "replay", *map(str, words), "--controlled"]
        self.process = subprocess.Popen(
            [*command, "--bind", "tcp://127.0.0.1:*"],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.words: queue.Queue[dict[str, object]] = queue.Queue()
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        for line in self.process.stdout:
            self.words.put(json.loads(line))

    def tell(self, **command: object) -> None:
        self.write(json.dumps(command).encode() + b"\n")

    def write(self, data: bytes) -> None:
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def until(self, true: Callable[[dict[str, object]], object], patience: float = PATIENCE) -> dict[str, object]:
        deadline = monotonic() + patience
        while True:
            word = self.words.get(timeout=max(deadline - monotonic(), 0.001))
            if true(word):
                return word

    def end(self) -> int:
        self.process.stdin.close()
        return self.process.wait(PATIENCE)


@pytest.fixture
def listen() -> Iterator[Callable[[str], ZmqSource]]:
    with ExitStack() as stack:
        yield lambda url: stack.enter_context(closing(ZmqSource([url])))


@pytest.fixture
def play() -> Iterator[Callable[..., Player]]:
    players: list[Player] = []

    def begin(*words: object) -> Player:
        players.append(Player(*words))
        return players[-1]

    yield begin
    for player in players:
        if player.process.poll() is None:
            player.process.kill()
        player.process.wait()
        said = player.process.stderr.read().decode()
        for pipe in (player.process.stdin, player.process.stdout, player.process.stderr):
            pipe.close()
        assert "Traceback" not in said
        assert "Fatal" not in said


def take(source: ZmqSource, enough: Callable[[list[SignalBlock]], bool]) -> list[SignalBlock]:
    blocks: list[SignalBlock] = []
    deadline = monotonic() + PATIENCE
    while not enough(blocks):
        assert monotonic() < deadline
        blocks += [item for item in source.receive(0.1) if isinstance(item, SignalBlock) and (len(item) or item.last)]
    return blocks


def counted(blocks: list[SignalBlock]) -> np.ndarray:
    return np.concatenate([block.samples[:, WITNESS] for block in blocks])


def test_a_player_is_steered_from_its_first_word_to_its_last_block(play, record, listen) -> None:
    player = play(record(), "--paused")
    opened = player.until(lambda word: True)
    assert opened["type"] == "opened"
    assert opened["description"]["sample_rate"] == 1000.0
    assert opened["description"]["guess"]["command"] == ["north_command", "south_command"]
    state = player.until(lambda word: word["type"] == "state")
    assert (state["position"], state["duration"], state["playing"], state["subscribed"]) == (0.0, 6.0, False, False)

    source = listen(opened["publishing"])
    player.until(lambda word: word.get("subscribed"))
    player.tell(type="step", seconds=0.25)
    assert player.until(lambda word: word["type"] == "state" and word["sent"])["position"] == 0.25
    np.testing.assert_array_equal(counted(take(source, lambda blocks: sum(map(len, blocks)) >= 250)), np.arange(250))

    player.write(b'what?\n\n{"type":"seek","seconds":-1}\n')
    for _ in range(2):
        assert player.until(lambda word: word["type"] == "refused")["reason"].startswith("no command")
    player.tell(type="seek", seconds=7.0)
    assert "nothing to play from 7 s" in player.until(lambda word: word["type"] == "refused")["reason"]

    player.tell(type="seek", seconds=3.0, lead=0.5)
    moved = player.until(lambda word: word.get("position") == 3.0)
    assert not moved["playing"]
    blocks = take(source, lambda blocks: sum(map(len, blocks)) >= 500)
    np.testing.assert_array_equal(counted(blocks), np.arange(2500, 3000))
    assert {block.stream.epoch for block in blocks} == {moved["epoch"]}

    # a restart by hand, and no fault any more: epochs go on from there
    player.tell(type="faults", text="restart=0")
    player.tell(type="step", seconds=0.1)
    player.tell(type="faults", text="")
    player.tell(type="step", seconds=0.1)
    blocks = take(source, lambda blocks: sum(map(len, blocks)) >= 200)
    np.testing.assert_array_equal(counted(blocks), np.arange(3000, 3200))
    assert {block.stream.epoch for block in blocks} == {moved["epoch"] + 1}

    began = monotonic()
    player.tell(type="speed", speed="max")
    player.tell(type="resume")
    assert player.until(lambda word: word.get("ended"))["position"] == 6.0
    assert monotonic() - began < 10.0
    blocks = take(source, lambda blocks: bool(blocks) and blocks[-1].last)
    np.testing.assert_array_equal(counted(blocks), np.arange(3200, 6000))
    assert player.process.poll() is None

    # after the end a seek goes on; then the parent goes, and the stream has its end
    player.tell(type="speed", speed=1.0)
    player.tell(type="pause")
    player.tell(type="seek", seconds=1.0, lead=0.1)
    player.until(lambda word: word.get("position") == 1.0)
    assert player.end() == 0
    blocks = take(source, lambda blocks: bool(blocks) and blocks[-1].last)
    np.testing.assert_array_equal(counted(blocks), np.arange(900, 1000))
    assert (len(blocks[-1]), blocks[-1].index) == (0, 100)


def test_a_subscriber_that_does_not_read_holds_up_no_command(play, record) -> None:
    player = play(record(), "--speed", "max", "--loop", "--block", 4096)
    opened = player.until(lambda word: word["type"] == "opened")
    with zmq.Context() as context, context.socket(zmq.SUB) as deaf:
        deaf.setsockopt(zmq.RCVHWM, 1)
        deaf.setsockopt(zmq.LINGER, 0)
        deaf.setsockopt(zmq.RCVBUF, 1 << 16)
        deaf.connect(opened["publishing"])
        deaf.subscribe(b"")
        # until its queue is full: then nothing more is sent
        state = player.until(lambda word: word.get("sent"))
        deadline = monotonic() + PATIENCE
        while True:
            assert monotonic() < deadline
            try:
                state = player.until(lambda word: word["type"] == "state", 0.5)
            except queue.Empty:
                break
        began = monotonic()
        player.tell(type="pause")
        paused = player.until(lambda word: word.get("playing") is False)
        assert monotonic() - began < 1.0  # some milliseconds, on a machine that has nothing else to do
        assert paused["sent"] >= state["sent"]
        player.tell(type="stop")
        assert player.process.wait(PATIENCE) == 0


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signal")
def test_a_signal_ends_it_with_its_last_block(play, record, listen) -> None:
    player = play(record(), "--no-wait", "--paused")
    opened = player.until(lambda word: word["type"] == "opened")
    source = listen(opened["publishing"])
    player.until(lambda word: word.get("subscribed"))
    player.process.send_signal(signal.SIGTERM)
    assert player.process.wait(PATIENCE) == 0
    assert take(source, bool)[-1].last


def test_what_goes_wrong_before_the_first_word_is_one_line(play, tmp_path) -> None:
    broken = tmp_path / "broken.csv"
    broken.write_text("a,b\n1,2\nx,y\n3,4\n")
    player = play(broken)
    assert player.process.wait(PATIENCE) == 2
    assert player.words.empty()
    said = player.process.stderr.read().decode()
    assert said.startswith(f"synchroscope replay: {broken}")
    assert said.count("\n") == 1
