"""The steering: what is told is what the player understands, and what it says is what is shown."""

import math

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gui.sources.description import Overview, read_description
from gui.sources.player import Player
from replay.playback.control_commands import Loop, Pause, Resume, Seek, SetFaults, Speed, Step, decode
from replay.playback.description import describe_recording
from replay.playback.states import Opened, Refused, State, encode
from replay.simulations import simulation


@pytest.fixture
def worker(qtbot, launch):
    return launch(["replay"])


@pytest.fixture
def player(worker):
    return Player(worker)


def told(worker):
    """Return what the player would make of the lines."""
    commands = [decode(msgspec.json.encode(message)) for message in worker.told]
    worker.told.clear()
    return commands


def state(**values):
    given = State(1.5, 10.0, True, False, 2.0, False, "drop=0.01", 7, 100, True)
    return msgspec.json.decode(encode(msgspec.structs.replace(given, **values)))


def test_every_command_is_understood(player, worker):
    player.pause()
    player.resume()
    player.step(0.25)
    player.seek(3.0)
    player.seek(3.0, lead=2.0)
    player.set_speed(0.5)
    player.set_speed(math.inf)
    player.set_faults("drop=0.01")
    player.set_loop(True)
    assert told(worker) == [
        Pause(), Resume(), Step(0.25), Seek(3.0), Seek(3.0, 2.0), Speed(0.5), Speed("max"), SetFaults("drop=0.01"),
        Loop(True),
    ]  # fmt: skip


def test_what_the_player_says_is_shown(player, worker):
    worker.answer.emit(state())
    assert (player.position, player.duration, player.playing, player.ended) == (1.5, 10.0, True, False)
    assert (player.speed, player.loop, player.faults, player.subscribed) == (2.0, False, "drop=0.01", True)
    worker.answer.emit(state(speed="max", ended=True, playing=False))
    assert player.speed == math.inf
    assert player.ended


def test_the_one_button_plays_and_pauses_and_begins_again_at_the_end(player, worker):
    player.toggle()
    worker.answer.emit(state(playing=True))
    player.toggle()
    assert told(worker) == [Resume(), Pause()]
    worker.answer.emit(state(playing=False, ended=True))
    player.toggle()
    player.restart()
    assert told(worker) == [Seek(0.0), Resume(), Seek(0.0), Resume()]


def test_it_opens_with_what_a_real_player_says(player, worker, heard):
    recording = simulation("plant", duration=0.5)
    description = describe_recording(recording)
    opened = []
    player.opened.connect(lambda: opened.append(True))
    worker.answer.emit(msgspec.json.decode(encode(Opened("tcp://127.0.0.1:1", description))))
    assert opened
    assert player.is_open
    assert player.duration == recording.duration
    assert [channel.name for channel in player.description.channels] == [c.name for c in recording.stream.channels]
    assert {channel.role for channel in player.description.channels} == {"command", "measured", "force", "auxiliary"}
    # a seek to the very end goes to the last sample: behind it nothing is
    player.seek(1e9)
    (seek,) = told(worker)
    assert next(recording.blocks(1, seek.seconds)).index == recording.n_samples - 1


def test_an_overview_that_is_there_is_kept(worker, described):
    player = Player(worker, description=read_description(described))
    worker.answer.emit({"type": "opened", "publishing": "x", "description": described | {"overview": None}})
    assert player.description.overview is not None


@pytest.mark.parametrize(
    "answer",
    [{"type": "state", "position": "far"}, {"type": "opened", "description": {"channels": 3}}],
)
def test_nonsense_is_a_line_and_changes_nothing(player, worker, heard, answer):
    refused = heard(player.refused)
    worker.answer.emit(answer)
    assert len(refused) == 1
    assert player.position == 0.0


def test_other_words_are_let_pass(player, worker, heard):
    refused = heard(player.refused)
    worker.answer.emit({"type": "later version", "x": 1})
    worker.answer.emit({})
    worker.answer.emit(msgspec.json.decode(encode(Refused("no"))))
    assert refused == ["no"]


def test_a_description_that_is_none_says_why():
    with pytest.raises(ValueError, match="description cannot be read"):
        read_description({"duration": "long"})


@given(st.lists(st.tuples(st.none() | st.floats(-1e9, 1e9), st.none() | st.floats(-1e9, 1e9)), max_size=20))
def test_curves_have_gaps_where_there_are_no_numbers(pairs):
    low, high = ([pair[i] for pair in pairs] for i in (0, 1))
    overview = Overview(tuple(map(float, range(len(pairs)))), {"a": tuple(low)}, {"a": tuple(high)})
    seconds, lower, upper = overview.curve("a")
    assert len(seconds) == len(lower) == len(upper) == len(pairs)
    for got, want in zip((*lower, *upper), (*low, *high), strict=True):
        assert math.isnan(got) if want is None else got == want
    assert len(overview.curve("b")[0]) == 0
