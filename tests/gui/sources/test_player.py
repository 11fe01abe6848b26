"""Control of a replay: what is sent is what it understands, and what it answers is what is shown."""

import math
from time import monotonic

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gui.sources.processes.player import ReplayControl
from monitor.messages.recordings import Overview, read_description
from monitor.messages.requests import StateRequest
from monitor.transport.zeromq.requests import RequestClient, ZmqRequestServer
from replay.playback.controlled_source import ControlledSource
from replay.playback.players import RecordingPlayer
from replay.simulations import simulation

STATE = {
    "position": 1.5, "duration": 10.0, "sample_rate": 100.0, "playing": True, "speed": 2.0, "faults": "drop=0.01",
    "epoch": 7, "sent": 100, "subscribed": True,
}  # fmt: skip


@pytest.fixture
def player(control):
    return control.player()


def test_every_request_is_sent(player, control):
    player.pause()
    player.resume()
    player.step(0.25)
    player.seek(3.0)
    player.seek(3.0, lead=2.0)
    player.set_speed(0.5)
    player.set_speed(math.inf)
    player.set_faults("drop=0.01")
    player.set_loop(True)
    assert control.told == [
        {"request": "pause"}, {"request": "resume"}, {"request": "step", "seconds": 0.25},
        {"request": "seek", "seconds": 3.0}, {"request": "seek", "seconds": 3.0, "lead": 2.0},
        {"request": "speed", "speed": 0.5}, {"request": "speed", "speed": "max"},
        {"request": "faults", "text": "drop=0.01"}, {"request": "loop", "loop": True},
    ]  # fmt: skip


def test_what_the_replay_answers_is_shown(player, control):
    control.say(STATE)
    assert (player.position, player.duration, player.playing, player.ended) == (1.5, 10.0, True, False)
    assert (player.speed, player.loop, player.faults, player.subscribed) == (2.0, False, "drop=0.01", True)
    control.say(STATE | {"speed": "max", "ended": True, "playing": False})
    assert player.speed == math.inf
    assert player.ended


def test_the_one_button_plays_and_pauses_and_begins_again_at_the_end(player, control):
    player.toggle()
    control.say(STATE)
    player.toggle()
    assert control.told == [{"request": "resume"}, {"request": "pause"}]
    control.told.clear()
    control.say(STATE | {"playing": False, "ended": True})
    player.toggle()
    player.restart()
    assert control.told == 2 * [{"request": "seek", "seconds": 0.0}, {"request": "resume"}]


def test_a_state_from_before_a_request_is_not_shown(player, control, heard):
    control.say(STATE)
    changed = heard(player.changed)
    before = control.newest
    player.seek(5.0)
    control.say(STATE | {"position": 1.6}, number=before)
    assert (player.position, changed) == (1.5, [])
    control.say(STATE | {"position": 5.0})
    assert player.position == 5.0
    # the same again is no news
    control.say(STATE | {"position": 5.0})
    assert len(changed) == 1


def test_a_refusal_says_why_and_a_state_that_is_not_answered_says_nothing(player, control, heard):
    refused = heard(player.refused)
    player.pause()
    control.refuse("no")
    assert refused == ["no"]


def test_after_it_is_closed_nothing_is_sent(player, control):
    player.close()
    player.pause()
    player.poll()
    assert control.closed
    assert control.told == []


@pytest.fixture
def server():
    server = ZmqRequestServer("tcp://127.0.0.1:*", rate=1000.0)
    yield server
    server.close()


def test_a_real_replay_is_controlled_and_asked_for_its_state_only_so_often(qtbot, server, heard):
    recording = simulation("plant", duration=0.5)
    source = ControlledSource(RecordingPlayer(recording))
    came = []

    def carry_out(request):
        from monitor.messages.requests import Answer

        came.append(request)
        source.execute(request)
        return Answer(ok=True, state=source.state())

    client = RequestClient(server.endpoint)
    player = ReplayControl(client)
    refused = heard(player.refused)
    began = monotonic()

    def until(true):
        def served():
            server.serve(carry_out)
            return true()

        qtbot.waitUntil(served, timeout=20_000)

    until(lambda: player.duration == recording.duration)
    player.pause()
    player.set_faults("lose=1")
    # a seek to the very end goes to the last sample: behind it nothing is
    player.seek(1e9)
    until(lambda: player.position >= recording.duration - 2.0 / recording.stream.sample_rate)
    assert "unknown fault" in refused[0]
    assert not player.playing
    states = sum(isinstance(request, StateRequest) for request in came)
    assert states <= 1 + (monotonic() - began) / 0.1
    player.close()


def test_a_replay_that_does_not_answer_is_no_refusal(qtbot, heard):
    clock = [0.0]
    client = RequestClient("tcp://127.0.0.1:1", timeout=1.0, clock=lambda: clock[0])
    player = ReplayControl(client)
    refused = heard(player.refused)
    player.poll()
    clock[0] = 2.0
    player.poll()
    assert refused == []
    # what somebody wanted is told to have failed
    player.pause()
    clock[0] = 4.0
    player.poll()
    assert len(refused) == 1
    assert "no answer from tcp://127.0.0.1:1" in refused[0]
    player.close()


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
