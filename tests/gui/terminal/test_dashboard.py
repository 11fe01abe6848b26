"""The dashboard's loop on a clock that only moves when it waits."""

import io

import numpy as np
import pytest
from rich.console import Console

from gui.model.receiver import ServiceSubscription
from gui.terminal.dashboard import Dashboard
from monitor.messages.blocks import Column, ResultBlock, ResultStream
from monitor.messages.health import Health, StreamCounts


class Rig:
    """A clock and a subscription: ten rows of results in every 0.1 s, health twice a second."""

    def __init__(self, lasts, actuators=("north",)):
        self.now, self.sent, self.lasts = 0.0, 0, lasts
        columns = [Column(name, "", each) for each in actuators for name in ("fdb_delay", "fdb_ratio", "fdb_phase")]
        self.stream = ResultStream("rig", 1, 100.0, 1, tuple(columns))
        self.rows = np.tile([0.012, 1.001, -0.1], (10, len(actuators)))

    def clock(self):
        return self.now

    def receive(self, timeout):
        self.now += min(timeout, 0.1)
        if self.now > self.lasts:
            return []
        self.sent += 10
        block = ResultBlock(self.stream, self.sent - 10, self.now, self.rows)
        state = "ended" if self.now + 0.11 > self.lasts else "receiving"
        return [block, Health("rig", state, StreamCounts(self.sent), 100.0, 100.0)]

    def close(self):
        """Nothing is held."""


def watched(rig, **console):
    screen = Console(file=io.StringIO(), width=100, height=30, **console)
    return Dashboard(ServiceSubscription(rig, rig.clock), screen, clock=rig.clock), screen


def test_away_from_a_terminal_it_says_a_line_now_and_then():
    rig = Rig(10.0)
    dashboard, console = watched(rig)
    dashboard.run(lambda: rig.now > 9.5)
    lines = console.file.getvalue().splitlines()
    assert len(lines) == 3
    for line in lines:
        assert line.endswith("| north 12.0 ms, ratio 1.001 (lag)")
        assert line.startswith("receiving: ")
        assert "\x1b" not in line


def test_the_line_has_the_headline_and_what_contradicts_it():
    told = {
        "fdb_delay": (0.020, "s"), "fdb_delay_sd": (0.001, "s"), "fdb_ratio": (1.2, "1"), "fdb_ratio_sd": (0.2, "1"),
        "broadband_delay": (0.012, "s"), "broadband_delay_sd": (0.0, "s"),
        "broadband_ratio": (1.0, "1"), "broadband_ratio_sd": (0.0, "1"),
    }  # fmt: skip
    columns = tuple(Column(name, unit, "north") for name, (_, unit) in told.items())
    rig = Rig(0.0)
    dashboard, _ = watched(rig)
    for fdb, said in ((0.020, "(lag, ≠ FDB)"), (0.0135, "(lag)")):
        row = [fdb, *(value for value, _ in list(told.values())[1:])]
        block = ResultBlock(ResultStream("rig", 1, 100.0, 1, columns), 0, 0.0, np.array([row]))
        rig.receive = lambda timeout, block=block: [block]
        assert dashboard.update(0.0)
        assert dashboard.line.endswith(f"| north 12.0 ms, ratio 1.000 {said}")


def test_on_a_terminal_it_draws_ten_times_a_second_and_stays_at_the_end():
    rig = Rig(2.0)
    dashboard, console = watched(rig, force_terminal=True)
    dashboard.run(lambda: rig.now > 1.95)
    entered, _, rest = console.file.getvalue().partition("\x1b[?1049h")
    assert entered == ""
    live, _, after = rest.rpartition("\x1b[?1049l")
    assert live.count("tracking") == pytest.approx(20, abs=2)
    assert after.count("tracking") == 1
    assert "north" in after


def test_on_a_low_terminal_the_events_are_within_the_picture_and_the_last_one_has_all():
    rig = Rig(1.0, [f"a{i}" for i in range(40)])
    screen = Console(file=io.StringIO(), width=100, height=12, force_terminal=True)
    Dashboard(ServiceSubscription(rig, rig.clock), screen, clock=rig.clock).run(lambda: rig.now > 0.5)
    live, _, after = screen.file.getvalue().rpartition("\x1b[?1049l")
    # one line of the header, two of the heading, seven rows and two of the events
    assert "and 34 more" in live and "a5" in live and "a6" not in live and "nothing yet" in live
    assert "more" not in after and "a39" in after


def test_ctrl_c_gives_the_terminal_back():
    rig = Rig(5.0)
    dashboard, console = watched(rig, force_terminal=True)

    def interrupted():
        if rig.now > 1.0:
            raise KeyboardInterrupt
        return False

    with pytest.raises(KeyboardInterrupt):
        dashboard.run(interrupted)
    text = console.file.getvalue()
    assert text.rindex("\x1b[?1049l") > text.rindex("\x1b[?1049h")
    assert text.rindex("\x1b[?25h") > text.rindex("\x1b[?25l")


def test_a_model_is_told_in_the_line_with_its_decision():
    names = ("reliability_first_passage", "reliability_accumulated", "reliability_decision")
    stream = ResultStream("rig", 1, 100.0, 1, tuple(Column(name, "1", "deflection") for name in names))
    rig = Rig(0.0)
    dashboard, _ = watched(rig)
    for values, told in (
        ([0.5, 0.75, np.nan], "deflection first-passage 0.500, accumulated 0.750 (not decided)"),
        ([0.012, 0.634, -1.0], "deflection first-passage 0.012, accumulated 0.634 (reject)"),
    ):
        rig.receive = lambda timeout, row=values: [ResultBlock(stream, 0, 0.0, np.array([row]))]
        assert dashboard.update(0.0)
        assert dashboard.line.endswith(f"| {told}")
