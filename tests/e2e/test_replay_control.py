"""The real replay, controlled by requests, and what comes over real sockets."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from time import monotonic, sleep

import numpy as np
import pytest
import zmq

from monitor.messages.blocks import SignalBlock
from monitor.messages.requests import (
    Answer,
    FaultsRequest,
    NoteRequest,
    PauseRequest,
    PlayerState,
    Request,
    ResumeRequest,
    SeekRequest,
    SpeedRequest,
    StateRequest,
    StepRequest,
)
from monitor.transport.zeromq.requests import RequestClient
from monitor.transport.zeromq.signals import SignalSubscriber

ROOT = Path(__file__).parents[2]
PATIENCE = 60.0
ANY_PORT = "tcp://127.0.0.1:*"
WITNESS = 5  # the column that counts


class Player:
    """One ``synchroscope replay --control``."""

    def __init__(self, *words: object) -> None:
        command = [sys.executable, "-m", "monitor", "replay", *map(str, words), "--control", "--until-closed"]
        self.process = subprocess.Popen(
            [*command, "--bind", ANY_PORT], cwd=ROOT, stdin=subprocess.PIPE, stderr=subprocess.PIPE
        )
        self.said = ""
        self.publishing = self.requests = ""
        while self.process.poll() is None and not self.requests:
            line = self.process.stderr.readline().decode()
            self.said += line
            if found := re.search(r"publishing on (\S+); requests at (\S+)$", line):
                self.publishing, self.requests = found.groups()
        self.client = RequestClient(self.requests, timeout=PATIENCE) if self.requests else None

    def ask(self, request: Request) -> Answer:
        number = self.client.send(request)
        (answer,) = self.client.answers(PATIENCE)
        assert answer.id == number
        return answer

    def tell(self, request: Request) -> PlayerState:
        answer = self.ask(request)
        assert answer.ok, answer.reason
        return answer.state

    def until(self, true: Callable[[PlayerState], object]) -> PlayerState:
        deadline = monotonic() + PATIENCE
        while not true(state := self.tell(StateRequest())):
            assert monotonic() < deadline
            sleep(0.02)
        return state

    def end(self) -> int:
        self.process.stdin.close()
        return self.process.wait(PATIENCE)


@pytest.fixture
def listen() -> Iterator[Callable[[str], SignalSubscriber]]:
    with ExitStack() as stack:
        yield lambda url: stack.enter_context(closing(SignalSubscriber([url])))


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
        said = player.said + player.process.stderr.read().decode()
        for pipe in (player.process.stdin, player.process.stderr):
            pipe.close()
        if player.client is not None:
            player.client.close()
        assert "Traceback" not in said
        assert "Fatal" not in said


def take(source: SignalSubscriber, enough: Callable[[list[SignalBlock]], bool]) -> list[SignalBlock]:
    blocks: list[SignalBlock] = []
    deadline = monotonic() + PATIENCE
    while not enough(blocks):
        assert monotonic() < deadline
        blocks += [item for item in source.receive(0.1) if isinstance(item, SignalBlock) and (len(item) or item.last)]
    return blocks


def counted(blocks: list[SignalBlock]) -> np.ndarray:
    return np.concatenate([block.samples[:, WITNESS] for block in blocks])


def test_a_replay_is_controlled_from_its_first_sample_to_its_last_block(play, record, listen) -> None:
    player = play(record(), "--paused")
    state = player.tell(StateRequest())
    assert (state.position, state.duration, state.playing, state.subscribed) == (0.0, 6.0, False, False)
    assert state.sample_rate == 1000.0

    source = listen(player.publishing)
    player.until(lambda state: state.subscribed)
    player.tell(StepRequest(seconds=0.25))
    assert player.until(lambda state: state.sent).position == 0.25
    np.testing.assert_array_equal(counted(take(source, lambda blocks: sum(map(len, blocks)) >= 250)), np.arange(250))

    assert "nothing to play from 7 s" in player.ask(SeekRequest(seconds=7.0)).reason
    assert "for a monitor" in player.ask(NoteRequest(text="hello")).reason

    # a seek while it is paused stays paused
    moved = player.tell(SeekRequest(seconds=3.0, lead=0.5))
    assert not moved.playing
    assert player.until(lambda state: state.position == 3.0).sent == 750
    blocks = take(source, lambda blocks: sum(map(len, blocks)) >= 500)
    np.testing.assert_array_equal(counted(blocks), np.arange(2500, 3000))
    assert {block.stream.epoch for block in blocks} == {moved.epoch}

    # a restart by hand, and no fault any more: epochs go on from there
    player.tell(FaultsRequest(text="restart=0"))
    player.tell(StepRequest(seconds=0.1))
    player.until(lambda state: state.sent == 850)
    player.tell(FaultsRequest(text=""))
    player.tell(StepRequest(seconds=0.1))
    blocks = take(source, lambda blocks: sum(map(len, blocks)) >= 200)
    np.testing.assert_array_equal(counted(blocks), np.arange(3000, 3200))
    assert {block.stream.epoch for block in blocks} == {moved.epoch + 1}

    player.tell(SpeedRequest(speed="max"))
    player.tell(ResumeRequest())
    assert player.until(lambda state: state.ended).position == 6.0
    blocks = take(source, lambda blocks: bool(blocks) and blocks[-1].last)
    np.testing.assert_array_equal(counted(blocks), np.arange(3200, 6000))
    assert player.process.poll() is None
    assert "seek a position" in player.ask(StepRequest(seconds=0.1)).reason

    # after the end a seek goes on; then the parent goes, and the stream has its end
    player.tell(SpeedRequest(speed=1.0))
    player.tell(PauseRequest())
    player.tell(SeekRequest(seconds=1.0, lead=0.1))
    player.until(lambda state: state.position == 1.0)
    assert player.end() == 0
    blocks = take(source, lambda blocks: bool(blocks) and blocks[-1].last)
    np.testing.assert_array_equal(counted(blocks), np.arange(900, 1000))
    assert (len(blocks[-1]), blocks[-1].index) == (0, 100)


def test_it_takes_requests_where_it_is_told_to(play, record, free_url) -> None:
    player = play(record(), "--paused", "--requests", free_url)
    assert player.requests == free_url
    assert player.tell(ResumeRequest()).playing


@pytest.mark.parametrize("words", [["--paused"], ["--requests", "tcp://127.0.0.1:*"]])
def test_what_needs_control_says_so(record, words) -> None:
    command = [sys.executable, "-m", "monitor", "replay", str(record()), *words]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "needs --control" in done.stderr


def test_a_subscriber_that_does_not_read_holds_up_no_request(play, record) -> None:
    player = play(record(), "--speed", "max", "--loop", "--block", 4096)
    with zmq.Context() as context, context.socket(zmq.SUB) as deaf:
        deaf.setsockopt(zmq.RCVHWM, 1)
        deaf.setsockopt(zmq.LINGER, 0)
        deaf.setsockopt(zmq.RCVBUF, 1 << 16)
        deaf.connect(player.publishing)
        deaf.subscribe(b"")
        # until its queue is full: then nothing more is sent
        sent = player.until(lambda state: state.sent).sent
        deadline = monotonic() + PATIENCE
        while True:
            assert monotonic() < deadline
            sleep(0.5)
            before, sent = sent, player.tell(StateRequest()).sent
            if sent == before:
                break
        assert not player.tell(PauseRequest()).playing
        player.end()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signal")
def test_a_signal_ends_it_with_its_last_block(play, record, listen) -> None:
    player = play(record(), "--no-wait", "--paused")
    source = listen(player.publishing)
    player.until(lambda state: state.subscribed)
    player.process.send_signal(signal.SIGTERM)
    assert player.process.wait(PATIENCE) == 0
    assert take(source, bool)[-1].last


def test_what_goes_wrong_at_the_start_is_one_line(play, tmp_path) -> None:
    broken = tmp_path / "broken.csv"
    broken.write_text("a,b\n1,2\nx,y\n3,4\n")
    player = play(broken)
    assert player.process.wait(PATIENCE) == 2
    said = player.said + player.process.stderr.read().decode()
    assert said.startswith(f"synchroscope replay: {broken}")
    assert said.count("\n") == 1
