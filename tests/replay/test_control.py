"""A steered player under any order of commands: what comes is the record, in epochs that never fall."""

import json
from collections.abc import Sequence
from math import inf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from monitor.engine.continuity import Continuity
from monitor.messages.blocks import Channel, EventKind, Role, SignalBlock, Stream
from monitor.messages.requests import (
    MAX_REQUEST,
    AcknowledgeRequest,
    Answer,
    FaultsRequest,
    LoopRequest,
    NoteRequest,
    PauseRequest,
    RequestError,
    ResumeRequest,
    SeekRequest,
    SpeedRequest,
    StateRequest,
    StepRequest,
    decode_answer,
    decode_request,
    encode,
)
from replay.faults import FaultError
from replay.formats import ArrayRecording
from replay.playback.controlled_source import ControlledSource
from replay.playback.players import Pacer, RecordingPlayer
from tests.replay.test_players import Clock

RATE = 100.0
CHANNELS = (
    Channel("x_c", Role.COMMAND, "m", "a"),
    Channel("x_m", Role.MEASURED, "m", "a"),
    Channel("number", Role.AUXILIARY),
)
# numbers of the samples that are there: two stretches are missing
NUMBERS = np.array([*range(80), *range(95, 130), *range(200, 301)])
SAMPLES = np.column_stack((np.sin(NUMBERS), np.cos(NUMBERS), NUMBERS)).astype(np.float64)
DURATION = 301 / RATE
RECORDING = ArrayRecording(Stream("rig", 0, RATE, CHANNELS), SAMPLES, 5.0, (), NUMBERS)
SLACK = 1e-9


def steered(
    speed: float = 1.0, loop: bool = False, faults: str = "", length: int | None = None
) -> tuple[ControlledSource, Clock]:
    clock = Clock()
    pacer = Pacer(speed, clock, clock.sleep)
    player = RecordingPlayer(RECORDING, pacer=pacer, loop=loop, epoch=1000, block_length=length)
    return ControlledSource(player, faults, 3), clock


def blocks_of(source: ControlledSource, timeout: float = 0.0) -> list[SignalBlock]:
    return [item for item in source.receive(timeout) if isinstance(item, SignalBlock)]


def settled(source: ControlledSource) -> list[SignalBlock]:
    """Look until nothing comes any more, while time stands."""
    found: list[SignalBlock] = []
    while more := blocks_of(source):
        found += more
    return found


def numbers(blocks: Sequence[SignalBlock]) -> list[int]:
    return [int(number) for block in blocks for number in block.samples[:, 2]]


class Steering(RuleBasedStateMachine):
    """Any commands in any order, with the service's own rule for streams as the judge of what comes."""

    @initialize(
        speed=st.sampled_from([0.25, 1.0, 20.0, inf]), loop=st.booleans(), length=st.sampled_from([None, 1, 7, 64])
    )
    def begin(self, speed: float, loop: bool, length: int | None) -> None:
        self.source, self.clock = steered(speed, loop, "", length)
        self.continuity = Continuity()
        self.epoch = 0
        self.first_of_pass: int | None = 0  # the number that must come next, when that is known

    def take(self, blocks: list[SignalBlock]) -> None:
        for block in blocks:
            assert block.stream.epoch >= self.epoch
            arrival = self.continuity.accept(block)
            kinds = {event.kind for event in arrival.events}
            assert kinds <= {EventKind.STARTED, EventKind.RESTART, EventKind.GAP, EventKind.ENDED}
            assert arrival.block is not None
            assert len(arrival.block) == len(block)
            self.epoch = block.stream.epoch
            if not len(block):
                continue
            come = block.samples[:, 2].astype(int)
            rows = np.searchsorted(NUMBERS, come)
            np.testing.assert_array_equal(block.samples, SAMPLES[rows])
            assert (np.diff(come) == 1).all()
            assert block.time == pytest.approx(5.0 + come[0] / RATE)
            if self.first_of_pass is not None:
                assert come[0] == self.first_of_pass
            after = NUMBERS[rows[-1] + 1 :]
            self.first_of_pass = int(after[0]) if after.size else 0

    @rule(seconds=st.floats(0.0, 0.6))
    def time_passes(self, seconds: float) -> None:
        self.clock.time += seconds
        self.take(blocks_of(self.source))

    @rule(timeout=st.floats(0.0, 0.3))
    def look(self, timeout: float) -> None:
        before, was = self.clock.time, self.source.state()
        self.take(blocks_of(self.source, timeout))
        assert self.clock.time <= before + timeout + SLACK
        if not was.playing:
            assert self.source.ended or self.source.state().position >= was.position

    @rule()
    def pause(self) -> None:
        self.source.execute(PauseRequest())
        self.take(settled(self.source))
        place = self.source.state().position
        self.clock.time += 10.0
        assert settled(self.source) == []
        assert self.source.state().position == place

    @rule()
    def resume(self) -> None:
        self.source.execute(ResumeRequest())

    @precondition(lambda self: not self.source.state().ended)
    @rule(seconds=st.floats(0.001, 1.5))
    def step(self, seconds: float) -> None:
        self.source.execute(PauseRequest())
        self.take(settled(self.source))
        begin, epoch = self.source.state().position, self.source.state().epoch
        self.source.execute(StepRequest(seconds=seconds))
        come = settled(self.source)
        self.take(come)
        state = self.source.state()
        assert not state.playing
        if state.epoch == epoch and not state.ended:
            # a sample more or less, for instants between two
            assert state.position == pytest.approx(begin + seconds, abs=1.0 / RATE + SLACK)
            # those between the two places, as far as they are there
            there = NUMBERS[(begin * RATE - 1e-4 <= NUMBERS) & (state.position * RATE - 1e-4 > NUMBERS)]
            assert numbers(come) == there.tolist()

    @rule(seconds=st.floats(0.0, DURATION - 0.011), lead=st.sampled_from([0.0, 0.0, 0.3, 5.0]))
    def seek(self, seconds: float, lead: float) -> None:
        was = self.source.state()
        self.source.execute(SeekRequest(seconds=seconds, lead=lead))
        self.first_of_pass = begins = int(NUMBERS[max(seconds - lead, 0.0) * RATE - 1e-6 <= NUMBERS][0])
        state = self.source.state()
        assert state.epoch > was.epoch
        assert not state.ended
        if not was.playing and not was.ended:
            assert not state.playing
            self.take(settled(self.source))
            # a place in a gap is the end of the gap, if nothing before it is wanted
            place = max(seconds, begins / RATE)
            assert self.source.state().position == pytest.approx(place, abs=1.0 / RATE + SLACK)

    @rule(speed=st.sampled_from([0.25, 1.0, 20.0, 1000.0, "max"]))
    def speed(self, speed: float | str) -> None:
        before = self.source.state().position
        self.source.execute(SpeedRequest(speed=speed))
        after = self.source.state()
        assert after.speed == speed
        assert after.position == pytest.approx(before, abs=SLACK)

    @rule(text=st.sampled_from(["", "restart=0", "restart=0.2", "drop=0", "restart=0.05,delay_step=1000:1"]))
    def faults(self, text: str) -> None:
        self.source.execute(FaultsRequest(text=text))
        assert self.source.state().faults == text

    @rule(loop=st.booleans())
    def loop(self, loop: bool) -> None:
        self.source.execute(LoopRequest(loop=loop))
        assert self.source.state().loop is loop

    @invariant()
    def the_place_is_in_the_record(self) -> None:
        state = self.source.state()
        assert state.duration == DURATION
        assert -SLACK <= state.position <= DURATION + SLACK
        assert not (state.playing and state.ended)

    def teardown(self) -> None:
        if hasattr(self, "source"):
            ended = self.source.state().ended
            last = [block for block in self.source.finish() if isinstance(block, SignalBlock)]
            assert [block.last for block in last] == ([] if ended else [True])
            self.take(last)
            assert self.source.finish() == []
            self.source.close()


def test_any_commands_in_any_order() -> None:
    run_state_machine_as_test(Steering, settings=settings(max_examples=50, stateful_step_count=25, deadline=None))


def test_a_step_in_small_pieces_is_a_step() -> None:
    source, _ = steered()
    source.execute(PauseRequest())
    come = []
    for _ in range(30):
        source.execute(StepRequest(seconds=0.0333))
        come += numbers(settled(source))
    assert come == [n for n in NUMBERS.tolist() if n < 99.9 - 1e-6]
    assert source.state().position == pytest.approx(1.0)


def test_a_seek_with_a_lead_fills_the_windows_and_stands() -> None:
    source, clock = steered()
    source.execute(PauseRequest())
    source.execute(SeekRequest(seconds=2.5, lead=0.4))
    assert numbers(settled(source)) == list(range(210, 250))
    assert source.state().position == 2.5
    source.execute(ResumeRequest())
    clock.time += 50.0
    come = blocks_of(source)
    clock.time += 0.1
    assert numbers(come + blocks_of(source)) == list(range(250, 261))


def test_a_seek_with_a_lead_while_it_plays_sends_the_lead_at_once() -> None:
    source, clock = steered(length=5)
    source.receive(0.0)
    source.execute(SeekRequest(seconds=2.5, lead=0.4))
    assert numbers(settled(source)) == list(range(210, 250))
    clock.time += 0.1
    assert numbers(settled(source)) == list(range(250, 260))


def test_what_a_fast_player_did_not_manage_is_not_made_up_for() -> None:
    source, clock = steered(20.0)
    source.receive(0.0)
    clock.time += 0.1
    source.execute(SpeedRequest(speed=1.0))
    assert source.state().position <= 0.2 + SLACK
    clock.time += 0.1
    assert len(numbers(settled(source))) <= 31


def test_a_restart_by_hand_stays_when_the_faults_go() -> None:
    source, _ = steered(inf, loop=True)
    source.execute(FaultsRequest(text="restart=0"))
    epochs = [block.stream.epoch for _ in range(4) for block in blocks_of(source)]
    source.execute(FaultsRequest(text=""))
    epochs += [block.stream.epoch for _ in range(4) for block in blocks_of(source)]
    source.execute(FaultsRequest(text="restart=0.1"))
    epochs += [block.stream.epoch for _ in range(6) for block in blocks_of(source)]
    assert epochs == sorted(epochs)
    assert epochs[0] == 1001
    assert source.state().epoch >= epochs[-1]


def test_what_cannot_be_done_changes_nothing() -> None:
    source, _ = steered()
    before = source.state()
    for command, says in (
        (SeekRequest(seconds=99.0), "nothing to play from 99 s on"),
        (SeekRequest(seconds=DURATION), "nothing to play"),
        (FaultsRequest(text="lose=1"), "unknown fault"),
        (StepRequest(seconds=-1.0), "must be a positive number"),
        (SeekRequest(seconds=1.0, lead=-1.0), "must not be negative"),
        (SeekRequest(seconds=-1.0, lead=1.0), "before the first sample"),
        (SeekRequest(seconds=float("nan")), "before the first sample"),
        (SpeedRequest(speed=0.0), "must be a positive number"),
    ):
        with pytest.raises(ValueError, match=says):
            source.execute(command)
        assert source.state() == before
    with pytest.raises(FaultError):
        steered(faults="x=1")


def test_a_step_at_the_end_says_what_to_do() -> None:
    source, _ = steered(inf)
    while not source.ended:
        source.receive(0.0)
    assert source.state().position == DURATION
    with pytest.raises(ValueError, match="seek a position"):
        source.execute(StepRequest(seconds=1.0))


@pytest.mark.parametrize(
    ("line", "request_"),
    [
        ({"request": "pause"}, PauseRequest()),
        ({"request": "resume", "id": 3}, ResumeRequest(id=3)),
        ({"request": "step", "seconds": 0.1}, StepRequest(seconds=0.1)),
        ({"request": "seek", "seconds": 12.5}, SeekRequest(seconds=12.5)),
        ({"request": "seek", "seconds": 12, "lead": 2.0}, SeekRequest(seconds=12.0, lead=2.0)),
        ({"request": "speed", "speed": 0.1}, SpeedRequest(speed=0.1)),
        ({"request": "speed", "speed": "max"}, SpeedRequest(speed="max")),
        ({"request": "faults", "text": "drop=0.01"}, FaultsRequest(text="drop=0.01")),
        ({"request": "loop", "loop": True}, LoopRequest(loop=True)),
        ({"request": "state"}, StateRequest()),
    ],
)
def test_json_is_a_request(line: dict[str, object], request_: object) -> None:
    assert decode_request(json.dumps(line).encode()) == request_


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"pause",
        b"{}",
        b"null",
        b'{"request":"fly"}',
        b'{"request":"seek"}',
        b'{"request":"seek","seconds":-1}',
        b'{"request":"seek","seconds":"1"}',
        b'{"request":"seek","seconds":1e999}',
        b'{"request":"seek","seconds":NaN}',
        b'{"request":"seek","seconds":1,"more":2}',
        b'{"request":"step","seconds":0}',
        b'{"request":"speed","speed":0}',
        b'{"request":"speed","speed":"slow"}',
        b'{"request":"loop","loop":1}',
        b'{"request":"faults","text":"\xff"}',
        b"[" * 16000,
        b'{"request":"faults","text":"' + b"x" * MAX_REQUEST + b'"}',
    ],
)
def test_what_is_none_is_refused_in_one_line(line: bytes) -> None:
    with pytest.raises(RequestError) as caught:
        decode_request(line)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300


WORDS = st.sampled_from(
    [b'{"request":', b'"seek"', b'"step"', b',"seconds":', b"1e308", b"-0.0", b"1e-320", b"}", b'"max"']
)


@given(st.one_of(st.binary(max_size=80), st.lists(WORDS, max_size=8).map(b"".join)))
def test_any_bytes_are_a_request_or_refused(line: bytes) -> None:
    source, _ = steered()
    try:
        source.execute(decode_request(line))
    except ValueError as problem:
        assert "\n" not in " ".join(str(problem).split())
    source.receive(0.01)
    assert 0.0 <= source.state().position <= DURATION


@pytest.mark.parametrize("extreme", [1e308, 1e-308, 5e-324])
@pytest.mark.parametrize("kind", ["speed", "step"])
def test_extreme_numbers_do_no_harm(kind: str, extreme: float) -> None:
    source, clock = steered(loop=True)
    source.execute(SpeedRequest(speed=extreme) if kind == "speed" else StepRequest(seconds=extreme))
    for _ in range(5):
        clock.time += 0.1
        source.receive(0.01)
        source.execute(SpeedRequest(speed=1.0))
        assert 0.0 <= source.state().position <= DURATION


@pytest.mark.parametrize("request_", [NoteRequest(text="hello"), AcknowledgeRequest()])
def test_what_only_a_monitor_does_is_refused(request_: NoteRequest | AcknowledgeRequest) -> None:
    source, _ = steered()
    with pytest.raises(ValueError, match="this is for a monitor"):
        source.execute(request_)


def test_an_answer_carries_the_state_in_json() -> None:
    source, _ = steered(inf)
    answer = Answer(ok=True, id=4, state=source.state(5, True))
    told = json.loads(encode(answer))
    assert (told["ok"], told["id"]) == (True, 4)
    state = told["state"]
    assert (state["speed"], state["sent"], state["subscribed"], state["sample_rate"]) == ("max", 5, True, RATE)
    assert decode_answer(encode(answer)) == answer
