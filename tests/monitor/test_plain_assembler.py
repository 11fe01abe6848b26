"""Plain messages put together into one record: rate, indices, losses and restarts."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.messages.blocks import Event, SignalBlock
from monitor.wire.native import WireError
from monitor.wire.plain import decode_plain
from monitor.wire.plain_assembler import MAX_HELD, PlainAssembler
from monitor.wire.sample_rate import estimate_sample_rate, round_to_common_rate


def _body(**keys: object) -> bytes:
    return msgspec.json.encode({"command": 1.0, "measured": 2.0} | keys)


def _feed(assembler: PlainAssembler, messages: Iterable[Mapping[str, object]]) -> list[SignalBlock]:
    """Return the blocks, with those of samples that are held at the end."""
    items = [item for keys in messages for item in assembler.accept(decode_plain(_body(**keys)))]
    return [item for item in (*items, *assembler.flush()) if isinstance(item, SignalBlock)]


def _indices(blocks: Iterable[SignalBlock]) -> list[int]:
    return [block.index + row for block in blocks for row in range(len(block))]


def _cut(length: int, cuts: Sequence[int]) -> list[slice]:
    return [slice(a, b) for a, b in pairwise([0, *sorted({c for c in cuts if 0 < c < length}), length])]


@pytest.mark.parametrize("times", ["first", "each", "none"])
@settings(deadline=None)
@given(
    st.integers(16, 80),
    st.lists(st.integers(1, 79)),
    st.sampled_from([1000.0, 51.2, 333.0]),
    st.sampled_from([0.0, 1.7e9]),
)
def test_any_cut_of_a_record_gives_the_same_samples(
    times: str, length: int, cuts: list[int], rate: float, start: float
) -> None:
    t = (start + np.arange(length) / rate).tolist()
    signal = np.sin(np.arange(length)).tolist()
    stamps: dict[str, Callable[[slice], dict[str, object]]] = {
        "first": lambda s: {"t": t[s.start]},
        "each": lambda s: {"t": t[s]},
        "none": lambda s: {},
    }
    messages = [{"command": signal[s], "measured": signal[s], **stamps[times](s)} for s in _cut(length, cuts)]
    blocks = _feed(PlainAssembler(rate), messages)
    assert _indices(blocks) == list(range(length))
    np.testing.assert_array_equal(np.concatenate([b.samples for b in blocks])[:, 1], signal)
    assert len({id(block.stream) for block in blocks}) == 1
    for block in blocks:
        expected = t[block.index] if times != "none" else block.index / rate
        assert block.time == pytest.approx(expected, abs=1e-9)


@settings(deadline=None)
@given(st.lists(st.integers(1, 79)), st.sampled_from([1000.0, 1024.0, 51.2, 333.0]))
def test_an_estimated_rate_gives_the_same_record(cuts: list[int], rate: float) -> None:
    t = (5.0 + np.arange(80) / rate).tolist()
    messages = [{"command": t[s], "measured": t[s], "t": t[s]} for s in _cut(80, cuts)]
    messages[-1]["last"] = True
    blocks = _feed(PlainAssembler(), messages)
    assert _indices(blocks) == list(range(80))
    assert blocks[0].stream.sample_rate == pytest.approx(rate, rel=1e-9)
    assert [block.last for block in blocks] == [False] * (len(blocks) - 1) + [True]


def test_single_samples_are_held_until_sixteen_fix_the_rate() -> None:
    assembler = PlainAssembler()
    counts = [len(_feed(assembler, [{"t": n / 1024}])) for n in range(20)]
    assert counts == [0] * 15 + [16, 1, 1, 1, 1]


def test_two_messages_with_lists_of_times_fix_the_rate() -> None:
    lists = {"command": [1, 2], "measured": [1, 2]}
    assembler = PlainAssembler()
    assert not _feed(assembler, [lists | {"t": [0.0, 0.0195]}])
    blocks = _feed(assembler, [lists | {"t": [0.0391, 0.0586]}])
    assert _indices(blocks) == [0, 1, 2, 3] and blocks[0].stream.sample_rate == 51.2


@settings(deadline=None)
@given(st.sets(st.integers(1, 38), min_size=1, max_size=12), st.booleans(), st.integers(1, 3))
def test_a_missing_message_is_a_gap_in_the_index(lost: set[int], told: bool, rows: int) -> None:
    if not told:
        lost = {n for n in lost if n > 16}  # nothing tells half the rate from every other message lost
    lists = {"command": [1.0] * rows, "measured": [1.0] * rows}
    messages = [lists | {"t": 100 + n * rows / 200} for n in range(40) if n not in lost]
    blocks = _feed(PlainAssembler(200.0 if told else None), messages)
    assert blocks[0].stream.sample_rate == 200.0
    assert _indices(blocks) == [n * rows + row for n in range(40) if n not in lost for row in range(rows)]


def test_a_hole_inside_a_list_of_times_splits_the_block() -> None:
    t = [0.0, 0.01, 0.02, 0.05, 0.06]
    blocks = _feed(PlainAssembler(100.0), [{"t": t, "command": t, "measured": t, "last": True}])
    assert [(b.index, len(b), b.last) for b in blocks] == [(0, 3, False), (5, 2, True)]
    assert [b.time for b in blocks] == pytest.approx([0.0, 0.05])


@settings(deadline=None)
@given(st.lists(st.floats(-0.24, 0.24), min_size=20, max_size=200), st.sampled_from([100.0, 1024.0]))
def test_jitter_below_half_a_sample_does_no_harm(jitter: list[float], rate: float) -> None:
    messages = [{"t": (n + wrong) / rate + 7.0} for n, wrong in enumerate(jitter)]
    assert _indices(_feed(PlainAssembler(rate), messages)) == list(range(len(jitter)))


@settings(deadline=None)
@given(st.floats(-0.01, 0.01), st.sampled_from([1, 10]))
def test_a_clock_that_drifts_does_no_harm(drift: float, rows: int) -> None:
    lists = {"command": [1.0] * rows, "measured": [1.0] * rows}
    messages = [lists | {"t": n * rows / 1000 * (1 + drift / rows)} for n in range(200)]
    assert [b.index for b in _feed(PlainAssembler(1000.0), messages)] == [n * rows for n in range(200)]


def test_times_that_jump_back_and_forth_are_told_and_cost_no_sample() -> None:
    t = [0, 9] * 1000
    assembler = PlainAssembler(100.0)
    items = assembler.accept(decode_plain(_body(t=t, command=t, measured=t)))
    values = [block.samples for block in (*items, *assembler.flush()) if isinstance(block, SignalBlock)]
    np.testing.assert_array_equal(np.concatenate(values)[:, 0], t)
    assert any(isinstance(item, Event) and "two senders" in item.detail for item in items)


def test_a_late_sample_is_put_in_its_place_and_a_repeated_time_is_another_sample() -> None:
    order = [0, 1, 2, 3, 4, 5, 7, 6, 8, 8, 9]
    blocks = _feed(PlainAssembler(100.0), [{"t": n / 100, "command": n} for n in order])
    assert _indices(blocks) == list(range(11))
    assert [value for block in blocks for value in block.samples[:, 0]] == sorted(order)
    assert {block.stream.epoch for block in blocks} == {0}


@settings(deadline=None)
@given(st.floats(0.0, 1e9), st.integers(2, 50), st.booleans())
def test_a_sender_that_starts_again_is_seen(start: float, length: int, told: bool) -> None:
    length = length if told else length + 16
    messages = [{"t": start + n / 64} for n in range(length)]
    blocks = _feed(PlainAssembler(64.0 if told else None), [*messages, *messages])
    assert _indices(blocks) == [*range(length), *range(length)]
    assert [b.stream.epoch for b in blocks] == [0] * length + [1] * length


def test_an_estimated_rate_is_estimated_anew_after_a_restart() -> None:
    runs = [[{"t": n / rate} for n in range(100)] for rate in (1000.0, 200.0)]
    blocks = _feed(PlainAssembler(), [*runs[0], *runs[1]])
    assert [(b.stream.epoch, b.stream.sample_rate) for b in blocks] == [(0, 1000.0)] * 100 + [(1, 200.0)] * 100
    assert _indices(blocks) == [*range(100), *range(100)]


@pytest.mark.parametrize(("back", "epoch"), [(50, 0), (98, 0), (103, 1), (1000, 1)])
def test_more_than_a_second_back_is_a_restart(back: int, epoch: int) -> None:
    blocks = _feed(PlainAssembler(100.0), [{"t": n / 100} for n in (*range(5000), 5000 - back)])
    assert blocks[-1].stream.epoch == epoch
    assert blocks[-1].index == (5000 if epoch == 0 else 0)
    assert bool(blocks[-1].joint) == (epoch == 0)


def test_an_index_that_starts_again_is_a_restart_even_if_the_clock_goes_on() -> None:
    counts = [*range(40, 90), 0, 1]
    blocks = _feed(PlainAssembler(100.0), [{"t": 1.7e9 + n / 100, "index": i} for n, i in enumerate(counts)])
    assert [block.index for block in blocks] == counts
    assert [block.stream.epoch for block in blocks] == [0] * 50 + [1] * 2


def test_with_an_index_the_time_only_tells_the_time() -> None:
    blocks = _feed(PlainAssembler(100.0), [{"t": t, "index": n} for n, t in enumerate([50.0, 50.01, 3.0, 9e9])])
    assert [(b.index, b.time, b.stream.epoch) for b in blocks] == [
        (0, 50.0, 0),
        (1, 50.01, 0),
        (2, 3.0, 0),
        (3, 9e9, 0),
    ]


def test_a_sender_with_epochs_is_not_guessed_about() -> None:
    sent = [(7, 10.0), (7, 10.01), (7, 2.0), (8, 2.01), (8, 2.02), (3, 2.03)]
    blocks = _feed(PlainAssembler(100.0), [{"epoch": e, "t": t} for e, t in sent])
    assert [(b.stream.epoch, b.index) for b in blocks] == [(7, 0), (7, 1), (7, 2), (8, 0), (8, 1), (3, 0)]


def test_after_the_last_message_comes_another_run() -> None:
    blocks = _feed(PlainAssembler(100.0), [{}, {"last": True}, {}, {}])
    assert [(b.stream.epoch, b.index, b.last) for b in blocks] == [
        (0, 0, False),
        (0, 1, True),
        (1, 0, False),
        (1, 1, False),
    ]


def test_a_heartbeat_carries_the_next_index_and_changes_nothing() -> None:
    empty: dict[str, object] = {"command": [], "measured": []}
    blocks = _feed(PlainAssembler(100.0), [{"t": 5.0}, empty | {"index": 1}, {"t": 5.01}, empty | {"index": 4}, {}])
    assert [(b.index, len(b)) for b in blocks] == [(0, 1), (1, 0), (1, 1), (4, 0), (4, 1)]
    assert blocks[1].time == pytest.approx(5.01) and len({id(b.stream) for b in blocks}) == 1


def test_an_empty_end_releases_what_is_held() -> None:
    end = {"command": [], "measured": [], "index": 4, "last": True}
    blocks = _feed(PlainAssembler(), [*({"t": n / 10} for n in range(4)), end])
    assert [(b.index, len(b), b.last) for b in blocks] == [*((n, 1, False) for n in range(4)), (4, 0, True)]


def test_what_was_said_once_stays_said() -> None:
    first = {"rig": "lab", "sample_rate": 500, "units": {"command": "mm", "actuator.measured": "in"}}
    blocks = _feed(PlainAssembler(), [first, {}, {"rig": "lab"}])
    assert len({id(block.stream) for block in blocks}) == 1
    assert [c.unit for c in blocks[-1].stream.channels] == ["mm", "in"]
    assert (blocks[-1].stream.rig, blocks[-1].stream.sample_rate) == ("lab", 500.0)


def test_other_channels_or_another_rate_make_another_stream_of_the_same_epoch() -> None:
    assembler = PlainAssembler(100.0)
    changes: list[dict[str, object]] = [
        {},
        {"force": 1},
        {"auxiliary": {"x": 1}},
        {},
        {"sample_rate": 200},
        {"units": {"command": "m"}},
    ]
    blocks = _feed(assembler, changes)
    assert _indices(blocks) == list(range(6))
    streams = [block.stream for block in blocks]
    # what is missing in one message is NaN, of the same stream
    assert [a != b for a, b in pairwise(streams)] == [True, True, False, True, True]
    assert np.isnan(blocks[3].samples[0, 2:]).all() and {stream.epoch for stream in streams} == {0}


def test_a_map_in_another_order_is_the_same_stream() -> None:
    maps = {"a": 1, "b": 2}, {"b": 2, "a": 1}
    blocks = _feed(PlainAssembler(100.0), [{"command": m, "measured": m} for m in maps])
    assert blocks[0].stream is blocks[1].stream
    np.testing.assert_array_equal(blocks[0].samples, blocks[1].samples)
    assert blocks[1].samples.flags.c_contiguous


def test_without_time_and_rate_the_sender_is_told_to_send_the_rate() -> None:
    with pytest.raises(WireError, match="send sample_rate"):
        _feed(PlainAssembler(), [{}])


def test_a_time_that_stands_still_gives_no_rate_and_holds_nothing_back() -> None:
    assembler = PlainAssembler()
    for _ in range(3):
        with pytest.raises(WireError, match="does not advance"):
            _feed(assembler, [{"t": 1.0}] * MAX_HELD)
    assert len(_feed(assembler, [{"t": 1.0, "sample_rate": 10}])) == 1


def test_a_refused_message_leaves_no_trace() -> None:
    assembler = PlainAssembler(100.0)
    _feed(assembler, [{"t": 1.0}, {"t": 1.01}])
    with pytest.raises(WireError, match="must be a number below"):
        _feed(assembler, [{"t": [1.02, 1e300], "command": [1, 2], "measured": [1, 2]}])
    assert _indices(_feed(assembler, [{"t": 1.02}])) == [2]


@settings(deadline=None)
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=16, max_size=40), st.booleans())
def test_no_times_whatever_do_worse_than_being_refused(times: list[float], told: bool) -> None:
    assembler = PlainAssembler(1000.0 if told else None)
    for t in times:
        try:
            blocks = _feed(assembler, [{"t": t}])
        except WireError:
            continue
        assert all(0 <= b.index < 1 << 54 and math.isfinite(b.time) for b in blocks)


@pytest.mark.parametrize("rate", [0.0, -1.0, math.nan, math.inf])
def test_a_rate_that_is_none_is_the_callers_mistake(rate: float) -> None:
    with pytest.raises(ValueError, match="positive"):
        PlainAssembler(rate)


@pytest.mark.parametrize(
    ("measured", "usual"),
    [(1000.4, 1000.0), (1023.0, 1024.0), (51.1, 51.2), (0.0999, 0.1), (9.98, 10.0), (204.9, 204.8), (333.3, 333.3)],
)
def test_usual_rates_are_recognised(measured: float, usual: float) -> None:
    assert round_to_common_rate(measured) == usual


def test_the_rate_survives_losses_and_rounded_times() -> None:
    taken = [n for n in range(24) if n not in (3, 4, 9, 17)]
    estimate = estimate_sample_rate(range(len(taken)), [round(n / 51.2, 3) for n in taken])
    assert estimate is not None and round_to_common_rate(estimate.rate) == 51.2
