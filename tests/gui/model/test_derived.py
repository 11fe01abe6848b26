"""Derived channels in a history: computed as blocks come, over gaps and restarts, and the same afterwards."""

from itertools import pairwise

import numpy as np
import pytest

from gui.model.derived import DerivedChannel, from_text, to_text
from gui.model.history import History
from gui.model.receiver import ReceivedMessages
from monitor.messages.blocks import Channel, Role, SignalBlock, Stream

RATE = 100.0
CHANNELS = (
    Channel("a.command", Role.COMMAND, "m", "a"),
    Channel("a.measured", Role.MEASURED, "m", "a"),
    Channel("load cell 2", Role.AUXILIARY, "kN"),
)
ERROR = DerivedChannel("error", "mm", "(a.command - a.measured) * 1e3")
WORK = DerivedChannel("work", "J", "cumtrapz('load cell 2' * deriv(a.measured))")
SMOOTH = DerivedChannel("smooth error", "mm", "lowpass(error, 10)")
ALL = (ERROR, WORK, SMOOTH)


def samples(n, begin=0):
    t = (begin + np.arange(n)) / RATE
    return np.column_stack([np.sin(3.0 * t), 0.9 * np.sin(3.0 * t - 0.1), 5.0 * np.cos(2.0 * t)])


def received(begin, stop, *, epoch=1, channels=CHANNELS, width=3):
    rows = np.ascontiguousarray(samples(stop - begin, begin)[:, :width])
    block = SignalBlock(Stream("rig", epoch, RATE, channels), begin, begin / RATE, rows)
    return ReceivedMessages(signals=(block,))


def filled(spans, definitions=(), memory=16 << 20, minutes=10.0, epochs=()):
    history = History(memory=memory, minutes=minutes)
    history.derive(definitions)
    for k, span in enumerate(spans):
        history.update(received(*span, epoch=epochs[k] if epochs else 1))
    return history


def column(history, name):
    signals = history.signals
    return signals.samples(0.0, 1e6, columns=[signals.named[name].column])[1][:, 0]


def test_they_are_computed_as_blocks_come_and_the_same_of_what_is_stored():
    cuts = [0, 7, 8, 250, 251, 600, 1000]
    live = filled(pairwise(cuts), ALL)
    later = filled([(0, 1000)])
    later.derive(ALL)
    assert list(live.signals.named) == [
        "a.command", "a.measured", "load cell 2", "a.tracking_error", "error", "work", "smooth error",
    ]  # fmt: skip
    x = samples(1000)
    np.testing.assert_array_equal(column(live, "error"), (x[:, 0] - x[:, 1]) * 1e3)
    for name in ("error", "work", "smooth error"):
        np.testing.assert_array_equal(column(live, name), column(later, name))
    assert np.isnan(column(live, "work")[0]) and column(live, "work")[1] == 0.0


def test_a_gap_and_a_restart_have_no_value_and_functions_restart():
    history = filled([(0, 300), (400, 700), (0, 300)], ALL, epochs=(1, 1, 2))
    later = filled([(0, 300), (400, 700), (0, 300)], epochs=(1, 1, 2))
    later.derive(ALL)
    once = filled([(0, 300)], ALL)
    second = round(history.timeline.segments[-1].x_begin * RATE)
    assert second > 700
    for name in ("work", "smooth error"):
        found = column(history, name)
        assert np.isnan(found[300:400]).all() and np.isnan(found[700:second]).all()
        # as a stream of its own
        np.testing.assert_array_equal(found[second:], column(once, name))
        np.testing.assert_array_equal(found, column(later, name))
    assert column(history, "work")[401] == 0.0


def test_buckets_of_all_levels_are_those_of_a_channel():
    whole = DerivedChannel("same", "kN", "1 * 'load cell 2'")
    history = History(memory=1 << 20, minutes=0.5)
    history.update(received(0, 20_000))
    # some samples are decimated already
    history.update(received(20_000, 40_000))
    assert history.signals.exact_begin > 0
    decimated = history.signals.exact_begin_x
    history.derive([whole])
    for begin in range(40_000, 50_000, 500):
        history.update(received(begin, begin + 500))
    signals = history.signals
    columns = [signals.named["same"].column, signals.named["load cell 2"].column]
    for x0, x1, n in ((0.0, 500.0, 100), (490.0, 499.0, 2000), (380.0, 460.0, 300)):
        found = signals.envelope(x0, x1, n, columns)
        known = found.edges[:-1] >= decimated + 2.56
        assert known.any()
        np.testing.assert_array_equal(found.low[known, 0], found.low[known, 1])
        np.testing.assert_array_equal(found.high[known, 0], found.high[known, 1])
    # what was decimated before is not known
    early = signals.envelope(0.0, decimated - 100.0, 10, columns)
    assert np.isnan(early.low[:, 0]).all() and np.isfinite(early.low[1:-1, 1]).all()
    rows = signals.rows(49_000, 50_000, columns)
    np.testing.assert_array_equal(rows[:, 0], rows[:, 1])


def test_cost_of_a_block_does_not_depend_on_the_history(monkeypatch):
    history = filled([(0, 50_000)], ALL)
    read = []
    monkeypatch.setattr(type(history.signals), "rows", lambda *arguments: read.append(arguments))
    history.update(received(50_000, 50_040))
    assert not read
    assert history.signals.derived == ALL


def test_what_is_unchanged_keeps_its_values_and_what_depends_on_a_change_is_recomputed():
    history = filled([(0, 1000)], ALL)
    stored = {name: history.signals._derived.values(history.signals.named[name].column) for name in ("work", "error")}
    twice = DerivedChannel("error", "mm", "(a.command - a.measured) * 2e3")
    history.derive((twice, WORK, SMOOTH))
    assert history.signals._derived.values(history.signals.named["work"].column) is stored["work"]
    once = filled([(0, 1000)], ALL)
    np.testing.assert_allclose(column(history, "smooth error"), 2.0 * column(once, "smooth error"))
    history.derive((WORK,))
    assert "error" not in history.signals.named
    assert history.signals._derived.values(history.signals.named["work"].column) is stored["work"]


def test_of_another_rig_what_cannot_be_computed_says_why_and_comes_back():
    history = filled([(0, 200)], ALL)
    other = (*CHANNELS[:2], Channel("work", Role.AUXILIARY, "N"))
    generation = history.generation
    history.update(received(0, 200, epoch=3, channels=other))
    assert history.generation > generation
    assert history.signals.derived == (ERROR, SMOOTH)
    assert history.signals.derived_problems == {"work": "there is a channel work already"}
    history.update(received(0, 200, epoch=4, channels=CHANNELS[:2], width=2))
    problem = history.signals.derived_problems["work"]
    assert problem.startswith("character 10, 'load cell 2': there is no such channel")
    history.update(received(0, 200, epoch=5))
    assert history.signals.derived == ALL and not history.signals.derived_problems


def test_definitions_are_stored_as_text():
    assert from_text(to_text(ALL)) == ALL
    for text in ("", "[1]", "{}", '[{"name": 1}]', to_text((ERROR, ERROR)), to_text([ERROR] * 17)):
        with pytest.raises(ValueError, match=r"."):
            from_text(text)
