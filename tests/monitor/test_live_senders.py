"""What live senders do to times, numbers, rates and each other: used, refused or told, for each kind."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import cycle

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.messages.blocks import Channel, Event, EventKind, Role, SignalBlock, Stream
from monitor.transport.zeromq.message_queue import Origin
from monitor.transport.zeromq.signals import SignalDecoder
from monitor.wire.native import Encoder, WireError
from monitor.wire.plain import decode_plain
from monitor.wire.sample_rate import RateCheck, estimate_sample_rate
from monitor.wire.sender_run import UnnumberedCheck
from monitor.wire.senders import PlainSenders

Message = dict[str, object]
RATES = [(1024.0, 1000.0), (1000.0, 1024.0), (1000.0, 2000.0), (400.0, 200.0), (190.0, 200.0), (50.0, 51.2)]


@dataclass
class Heard:
    """What a decoder makes of messages: values in order, how they are numbered, events, rejections."""

    values: list[float] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    blocks: list[SignalBlock] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    rejections: list[str] = field(default_factory=list)

    def take(self, items: Iterable[SignalBlock | Event]) -> None:
        for item in items:
            if isinstance(item, Event):
                self.events.append(item)
                continue
            self.blocks.append(item)
            self.values += item.samples[:, 0].tolist()
            self.numbers += range(item.index, item.index + len(item))

    @property
    def words(self) -> str:
        return " | ".join(
            [event.detail for event in self.events] + [block.joint for block in self.blocks if block.joint]
        )

    @property
    def rate(self) -> float:
        return self.blocks[-1].stream.sample_rate

    @property
    def contradictions(self) -> list[str]:
        return [event.detail for event in self.events if event.kind is EventKind.CONTRADICTION]


def hear(messages: Iterable[Message | tuple[int, Message]], pace: float = 200.0) -> Heard:
    """Decode messages, of one connection or of that given with each; `pace` of their arrival, Hz."""
    decoder, heard = SignalDecoder(), Heard()
    for count, each in enumerate(messages):
        peer, message = each if isinstance(each, tuple) else (0, each)
        try:
            heard.take(decoder.decode([msgspec.json.encode(message)], Origin("tcp://rig", peer, count / pace)))
        except WireError as problem:
            heard.rejections.append(str(problem))
    heard.take(decoder.flush())
    return heard


def singles(times: Sequence[float] | np.ndarray, **keys: object) -> list[Message]:
    """One sample a message; the value is its position."""
    return [{"command": k, "measured": k, "t": float(t), **keys} for k, t in enumerate(times)]


def blocks(times: np.ndarray, length: int, **keys: object) -> list[Message]:
    """Several samples a message, with the time of the first."""
    starts = range(0, len(times) - length + 1, length)
    values = np.arange(float(len(times)))
    cut = [values[k : k + length].tolist() for k in starts]
    return [{"command": c, "measured": c, "t": float(times[k]), **keys} for k, c in zip(starts, cut, strict=True)]


def assert_all_in_order(heard: Heard, count: int) -> None:
    assert heard.values == list(range(count))
    assert heard.numbers == list(range(count)), "numbers"


@pytest.mark.parametrize(("true", "declared"), RATES)
@pytest.mark.parametrize("length", [1, 20])
@pytest.mark.parametrize("numbered", [True, False])
def test_the_rate_of_the_times_is_used_and_told_once(
    true: float, declared: float, length: int, numbered: bool
) -> None:
    messages = blocks(np.arange(int(20 * true)) / true, length, sample_rate=declared)
    if numbered:
        messages = [{**each, "index": k * length} for k, each in enumerate(messages)]
    heard = hear(messages)
    assert_all_in_order(heard, len(messages) * length)
    assert heard.rate == pytest.approx(true, rel=1e-3)
    assert f"contradict the sample_rate of {declared:.6g} Hz: by them it is" in heard.words
    # the rate of the times is known after a few seconds
    assert (
        heard.blocks[-1].index - next(b.index for b in heard.blocks if b.stream.sample_rate == heard.rate) > 12 * true
    )


def test_the_rate_of_a_native_sender_is_checked_too() -> None:
    channels = (Channel("a.command", Role.COMMAND, "", "a"), Channel("a.measured", Role.MEASURED, "", "a"))
    stream, encoder, decoder = Stream("rig", 1, 1000.0, channels), Encoder(), SignalDecoder()
    heard = Heard()
    for k in range(0, 5000, 10):
        block = SignalBlock(stream, k, k / 1024.0, np.zeros((10, 2)))
        heard.take(decoder.decode(encoder.encode(block), Origin("tcp://rig")))
    assert heard.rate == 1024.0 and len(heard.contradictions) == 1
    assert {block.stream.epoch for block in heard.blocks} == {1}


@settings(deadline=None, max_examples=40)
@given(
    st.sampled_from([100.0, 200.0, 1000.0]),
    st.floats(-0.004, 0.004),
    st.floats(0.0, 3.0),
    st.integers(0, 2**32 - 1),
    st.lists(st.tuples(st.integers(1, 3900), st.floats(0.0, 5.0)), max_size=4),
)
def test_jitter_drift_and_pauses_of_a_numbered_sender_contradict_nothing(
    rate: float, drift: float, jitter: float, seed: int, pauses: list[tuple[int, float]]
) -> None:
    check = RateCheck(rate)
    times = np.arange(4000) / rate * (1 + drift)
    times += np.random.default_rng(seed).uniform(0.0, jitter / rate, len(times))
    for at, seconds in pauses:
        times[at:] += seconds
    assert [check.add(k, t) for k, t in enumerate(times.tolist())] == [None] * 4000


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("jitter", [0.0, 2e-3])
def test_a_first_block_that_is_off_does_not_turn_the_rate(seed: int, jitter: float) -> None:
    # `index` counts messages of 10 samples: the first block has 10 rows in 10 ms, later ones one in 10 ms each
    times = 0.31 * np.arange(16) + np.random.default_rng(seed).uniform(0.0, jitter, 16)
    times[0] += 0.081
    check = RateCheck(1000.0)
    found = [check.add(31 * k, t) for k, t in enumerate(times.tolist())]
    assert found == [None] * 15 + [100.0]


ROUNDED = [(256.0, 1e-3), (2000.0, 1e-3), (700.0, 1e-3), (200.0, 1 / 64), (200.0, 1.0), (1000.0, 1.0), (100.0, 0.1)]


@pytest.mark.parametrize(("rate", "unit"), ROUNDED)
@pytest.mark.parametrize("rounding", [np.floor, np.ceil, np.rint])
@pytest.mark.parametrize("declared", [True, False])
def test_rounded_times_cost_no_sample(
    rate: float, unit: float, rounding: Callable[[np.ndarray], np.ndarray], declared: bool
) -> None:
    exact = np.arange(int(8 * rate)) / rate
    messages = singles(rounding(exact / unit + 1e-9) * unit, **({"sample_rate": rate} if declared else {}))
    heard = hear(messages, rate)
    assert_all_in_order(heard, len(messages))
    assert heard.rate == pytest.approx(rate, rel=5e-3)
    # the time follows the samples, not the rounding
    times = np.concatenate([b.time + np.arange(len(b)) / rate for b in heard.blocks])
    assert np.ptp((times - exact)[len(times) // 2 :]) < max(0.1, 2.5 * unit)


@pytest.mark.parametrize("unit", [1e-3, 1.0])
def test_rounded_times_with_numbers_are_no_jumps_of_the_clock(unit: float) -> None:
    times = np.floor(np.arange(2000) / 200.0 / unit) * unit
    heard = hear([{**each, "index": k} for k, each in enumerate(singles(times, sample_rate=200.0))])
    assert_all_in_order(heard, 2000)
    ends = np.asarray([b.time + len(b) / 200.0 for b in heard.blocks])
    assert np.max(np.abs(np.asarray([b.time for b in heard.blocks])[1:] - ends[:-1])) < 0.05


@settings(deadline=None, max_examples=40)
@given(st.lists(st.integers(1, 18), min_size=150, max_size=250), st.floats(0.0, 1e-4))
def test_bursts_cost_no_sample(lengths: list[int], apart: float) -> None:
    ends = np.repeat(np.cumsum(lengths), lengths) / 200.0
    within = np.concatenate([np.arange(length) for length in lengths])
    heard = hear(singles(ends + apart * within, sample_rate=200.0))
    assert_all_in_order(heard, sum(lengths))


def test_an_estimate_from_few_rounded_times_is_estimated_again() -> None:
    heard = hear(singles(np.floor(np.arange(4000) / 190.0 / 0.016) * 0.016))
    assert heard.values == list(range(4000)) and heard.rate == pytest.approx(190.0, rel=5e-3)


@settings(deadline=None, max_examples=40)
@given(st.floats(0.02, 0.95), st.integers(400, 1500), st.sampled_from([1, 20]), st.booleans())
def test_a_clock_that_is_set_back_costs_no_sample_and_breaks_the_windows(
    back: float, at: int, length: int, declared: bool
) -> None:
    at -= at % length
    times = 100.0 + np.arange(2000) / 200.0
    times[at:] -= back
    heard = hear(blocks(times, length, **({"sample_rate": 200.0} if declared else {})))
    assert_all_in_order(heard, 2000)
    [joint] = [block for block in heard.blocks if block.joint]
    assert joint.index == at and f"set back by {back:.3f} s" in joint.joint


@pytest.mark.parametrize("step", [-3.0, -3600.0, 1e6])
def test_a_large_step_of_the_clock_costs_no_sample(step: float) -> None:
    times = 1e5 + np.arange(2000) / 200.0
    times[1000:] += step
    heard = hear(singles(times, sample_rate=200.0))
    assert heard.values == list(range(2000))
    assert re_numbered(heard) and ("clock" in heard.words)


def re_numbered(heard: Heard) -> bool:
    """Whether the numbers count on, or begin again with another epoch."""
    return all(
        (b.index == a.index + len(a)) or (b.stream.epoch > a.stream.epoch and b.index == 0)
        for a, b in zip(heard.blocks, heard.blocks[1:], strict=False)
    )


@pytest.mark.parametrize(("unit", "factor"), [("ms", 1e3), ("µs", 1e6), ("ns", 1e9)])
@pytest.mark.parametrize("start", [0.0, 1.7e9])
@pytest.mark.parametrize("keys", [("sample_rate",), ("sample_rate", "index"), ()])
def test_times_in_other_units_are_read_in_them(unit: str, factor: float, start: float, keys: tuple[str, ...]) -> None:
    known = {"sample_rate": 200.0}
    messages = singles((start + np.arange(1000) / 200.0) * factor)
    messages = [
        {**each, **{key: k if key == "index" else known[key] for key in keys}} for k, each in enumerate(messages)
    ]
    heard = hear(messages)
    assert_all_in_order(heard, 1000)
    assert heard.rate == 200.0 and f"`t` is read in {unit}" in heard.words
    assert heard.blocks[-1].time == pytest.approx(start + 999 / 200.0, abs=0.02)


@pytest.mark.parametrize("length", [1, 10])
@pytest.mark.parametrize("first", [0, 2])
def test_swapped_messages_are_put_in_order(length: int, first: int) -> None:
    messages = blocks(np.arange(4000) / 1000.0, length, sample_rate=1000.0)
    order = [k if k < first else k ^ 1 for k in range(len(messages))]
    heard = hear([messages[k] for k in order], 1000.0 / length)
    # the first one of a swapped pair is where the numbers begin
    used = list(range(4000)) if first else list(range(length, 4000))
    assert heard.values == used and heard.numbers == list(range(len(used)))
    told = [(event.kind, event.samples) for event in heard.events]
    assert told == ([] if first else [(EventKind.REJECTED, length)]) and not heard.contradictions


@pytest.mark.parametrize("length", [1, 10])
@pytest.mark.parametrize("declared", [True, False])
def test_messages_that_come_twice_are_duplicates(length: int, declared: bool) -> None:
    messages = blocks(np.arange(4000) / 1000.0, length, **({"sample_rate": 1000.0} if declared else {}))
    heard = hear([each for each in messages for _ in range(2)], 2000.0 / length)
    duplicates = sum(event.count for event in heard.events if event.kind is EventKind.DUPLICATE)
    # single samples may be those of a rounded time: the first eight are numbered
    assert duplicates == (4000 if length > 1 else 4000 - 8)
    assert sorted({*heard.values}) == list(range(4000)) and len(heard.values) + duplicates == 8000
    assert heard.rate == 1000.0 and not heard.contradictions
    assert heard.numbers == list(range(len(heard.numbers)))


def test_equal_samples_of_a_rounded_time_are_no_duplicates() -> None:
    times = np.floor(np.arange(4000) / 1000.0 / 0.016) * 0.016
    messages = [{**each, "command": 0.0, "measured": 0.0} for each in singles(times, sample_rate=1000.0)]
    assert len(hear(messages, 1000.0).values) == 4000
    at_times = zip(singles(times, sample_rate=1000.0), (np.arange(4000) // 7 % 2).tolist(), strict=True)
    assert len(hear([{**each, "command": v, "measured": v} for each, v in at_times], 1000.0).values) == 4000


@pytest.mark.parametrize("start", [0.0, 740000.5])
@pytest.mark.parametrize("numbered", [True, False])
def test_times_in_days_give_no_rate(start: float, numbered: bool) -> None:
    messages = singles(start + np.arange(1000) / 200.0 / 86400.0)
    messages = [{**each, "index": k} for k, each in enumerate(messages)] if numbered else messages
    heard = hear(messages)
    assert not heard.blocks
    [told] = {each for each in heard.rejections if "e+07 Hz, beyond 1 MHz: send `t` in s, not in days" in each}
    assert set(heard.rejections) == {told}
    declared = hear([{**each, "sample_rate": 200.0} for each in messages])
    assert_all_in_order(declared, 1000)
    assert declared.rate == 200.0 and "by them it is 1.728e+07 Hz, which is not used: send `t` in s" in declared.words


def test_a_burst_at_first_is_no_rate_beyond_a_megahertz() -> None:
    times = np.concatenate([np.arange(16) * 1e-7, np.arange(1, 2000) / 200.0])
    heard = hear(singles(times))
    assert heard.values == list(range(2015)) and not heard.rejections
    assert heard.rate == pytest.approx(200.0, rel=0.02)


@pytest.mark.parametrize("pause", [1, 2])
@pytest.mark.parametrize("numbered", [True, False])
def test_a_pause_of_a_thousand_samples_is_no_other_unit(pause: int, numbered: bool) -> None:
    times = np.arange(2000) / 1000.0
    times[pause:] += 1.0
    messages = singles(times, sample_rate=1000.0)
    heard = hear([{**each, "index": k} for k, each in enumerate(messages)] if numbered else messages, 1000.0)
    assert heard.values == list(range(2000)) and heard.rate == 1000.0 and not heard.contradictions
    assert heard.blocks[-1].time == pytest.approx(times[-1], abs=2e-3)


def test_a_unit_in_doubt_holds_nothing_beyond_a_flush_and_a_tiny_time_is_none() -> None:
    for second in (1.0, 5e-324):
        heard = hear(singles([0.0, second], sample_rate=1000.0 if second == 1.0 else 0.01))
        assert heard.values == [0, 1]


def test_the_time_of_a_heartbeat_is_in_the_unit_of_the_others() -> None:
    run = singles(5.0 * np.arange(20), sample_rate=200.0)
    heartbeat: Message = {"command": [], "measured": [], "t": 100.0, "index": 20}
    heard = hear([*({**each, "index": k} for k, each in enumerate(run)), heartbeat])
    assert len(heard.blocks[-1]) == 0 and heard.blocks[-1].time == pytest.approx(0.1)


@settings(deadline=None, max_examples=40)
@given(st.lists(st.integers(2, 40), min_size=40, max_size=60), st.booleans(), st.booleans())
def test_the_time_may_be_that_of_the_last_sample_of_a_block(lengths: list[int], last: bool, declared: bool) -> None:
    if not declared:
        lengths[:6] = [2, 20, 9, 31, 5, 17]  # equal lengths tell nothing
    ends = np.cumsum(lengths)
    messages = [
        {"command": v, "measured": v, "t": (v[-1] if last else v[0]) / 200.0}
        | ({"sample_rate": 200.0} if declared else {})
        for v in (list(range(int(end) - length, int(end))) for end, length in zip(ends, lengths, strict=True))
    ]
    heard = hear(messages, 20.0)
    assert heard.values == list(range(int(ends[-1]))) and heard.rate == 200.0
    half = heard.numbers[len(heard.numbers) // 2 :]
    assert half == list(range(half[0], half[0] + len(half)))


def test_a_force_in_every_second_message_is_nan_in_the_others_and_told() -> None:
    messages = singles(np.arange(200) / 200.0, sample_rate=200.0)
    heard = hear([{**each, "force": 5.0} if k % 2 else each for k, each in enumerate(messages)])
    assert_all_in_order(heard, 200)
    assert len({id(block.stream) for block in heard.blocks}) == 2
    assert "actuator.force is not in every message" in heard.words
    assert [bool(np.isnan(b.samples[0, 2])) for b in heard.blocks[1:]] == [False, True] * 99 + [False]


def test_losses_without_time_and_number_show_in_the_pace() -> None:
    message: Message = {"command": 1.0, "measured": 1.0, "sample_rate": 200.0}
    assert "10 % of them are lost" in hear([message] * 2000, pace=180.0).words
    assert "two senders are mixed" in hear([message] * 4000, pace=400.0).words
    assert not hear([message] * 4000, pace=199.0).words


def test_a_pause_without_time_and_number_is_no_loss() -> None:
    check, silence = UnnumberedCheck(), 2.5
    arrivals = [*(np.arange(300) / 100.0), 3.0 + silence]
    assert not any(check.add(np.zeros((1, 2)), 100.0, float(at)) for at in arrivals)


@pytest.mark.parametrize("batch", ["frames", "array", "lines", "three frames"])
def test_batches_are_read_whole(batch: str) -> None:
    bodies = [msgspec.json.encode(each) for each in singles(np.arange(60) / 200.0, sample_rate=200.0)]
    decoder, heard = SignalDecoder(), Heard()
    for k in range(0, 60, 5):
        some = bodies[k : k + 5]
        frames = {
            "frames": [some],
            "array": [[b"[" + b",".join(some) + b"]"]],
            "lines": [[b"topic", b"\n".join(some) + b"\n"]],
            "three frames": [[b"topic", body, b"1700000000.5"] for body in some],
        }[batch]
        for each in frames:
            heard.take(decoder.decode(each, Origin("tcp://rig")))
    assert_all_in_order(heard, 60)


# ---- two senders

TWO: dict[str, tuple[Message, Message]] = {
    "sample_rate": ({"sample_rate": 200.0}, {"sample_rate": 100.0}),
    "epoch": ({"sample_rate": 200.0, "epoch": 5}, {"sample_rate": 200.0, "epoch": 6}),
    "connection": ({"sample_rate": 200.0}, {"sample_rate": 200.0}),
}


def two(
    first: Callable[[int], Message], second: Callable[[int], Message], order: str = "ab", *, peers: bool = False
) -> list[tuple[int, Message]]:
    """Messages of two senders, in this order again and again, through one connection or two."""
    counts = {"a": 0, "b": 0}
    found: list[tuple[int, Message]] = []
    for who in cycle(order):
        k = counts[who]
        if k == 1000:
            return found
        counts[who] += 1
        keys = first(k) if who == "a" else second(k)
        value = float(k if who == "a" else -k - 1)
        found.append((int(peers and who == "b"), {"command": value, "measured": value, **keys}))
    return found


@pytest.mark.parametrize("order", ["ab", "aab", "abb", "a" * 12 + "b" * 12])
@pytest.mark.parametrize("what", TWO)
def test_of_two_senders_that_differ_the_first_is_followed(what: str, order: str) -> None:
    one, other = TWO[what]
    heard = hear(two(lambda _: one, lambda _: other, order, peers=what == "connection"))
    assert min(heard.values) >= 0.0 and heard.values == sorted(heard.values)
    assert f"a second sender, by its {what}, sends as the same rig" in heard.words
    assert len(heard.contradictions) <= 2


CLOCKS: dict[str, tuple[Callable[[int], Message], Callable[[int], Message]]] = {
    "a far clock": (lambda k: {"t": 5.0 + k / 200.0}, lambda k: {"t": 1.7e9 + k / 200.0}),
    "an earlier clock": (lambda k: {"t": 50.0 + k / 200.0}, lambda k: {"t": k / 200.0}),
    "other numbers": (lambda k: {"index": k}, lambda k: {"index": 70_000 + k}),
    "the same numbers": (lambda k: {"index": k}, lambda k: {"index": k}),
}


@pytest.mark.parametrize("what", CLOCKS)
def test_of_two_senders_with_clocks_or_numbers_the_first_is_followed(what: str) -> None:
    first, second = CLOCKS[what]
    heard = hear(two(lambda k: {"sample_rate": 200.0, **first(k)}, lambda k: {"sample_rate": 200.0, **second(k)}))
    assert min(heard.values) >= 0.0 and heard.values == sorted(heard.values)
    assert "a second sender" in heard.words and len(heard.contradictions) == 1


@pytest.mark.parametrize("offset", [0.0, 0.0025, 0.3])
def test_two_senders_of_one_clock_are_told(offset: float) -> None:
    at = {"sample_rate": 200.0}
    heard = hear(two(lambda k: {"t": k / 200.0, **at}, lambda k: {"t": offset + k / 200.0, **at}))
    assert "senders" in heard.words


def test_two_senders_without_time_and_number_are_told() -> None:
    k = np.arange(2000)
    motion, other = (
        (10.0 * np.sin(k / 25.0) + 4.0 * np.sin(k / 45.0 + 1.0)).tolist(),
        (3.0 * np.sin(k / 30.0)).tolist(),
    )
    messages = [{"sample_rate": 200.0, "command": x, "measured": 0.9 * x} for x in motion]
    others = [{"sample_rate": 200.0, "command": x, "measured": 0.8 * x} for x in other]
    mixed = [each for pair in zip(messages, others, strict=True) for each in pair]
    assert "two senders are mixed" in hear(mixed).words
    assert not hear(messages).words and not hear(others).words


def test_a_silence_does_not_make_a_second_sender_the_one_that_is_followed() -> None:
    decoder, heard = SignalDecoder(), Heard()
    for k in range(12):
        value = [1.0 if k % 2 == 0 else -1.0] * 50
        message = msgspec.json.encode({"command": value, "measured": value, "sample_rate": 100.0})
        try:
            heard.take(decoder.decode([message], Origin("tcp://rig", k % 2, 1.5 * k)))
        except WireError as problem:
            heard.rejections.append(str(problem))
        heard.take(decoder.flush())
    assert heard.values == [1.0] * 300 and len({block.stream.epoch for block in heard.blocks}) == 1
    assert "a second sender, by its connection" in heard.words and heard.rejections


def test_heartbeats_of_another_connection_are_not_held() -> None:
    senders = PlainSenders(100.0)
    senders.accept(decode_plain(b'{"command": 1, "measured": 1}'), "a")
    for _ in range(100):
        assert not senders.accept(decode_plain(b'{"command": [], "measured": [], "index": 1}'), "b")
    [block] = senders.accept(decode_plain(b'{"command": 1, "measured": 1}'), "a")
    assert isinstance(block, SignalBlock), "no event of a second sender"


def test_a_held_message_that_is_rejected_costs_no_other() -> None:
    senders = PlainSenders()
    found = Heard()
    for k in range(20):
        found.take(
            senders.accept(decode_plain(msgspec.json.encode({"command": k, "measured": k, "t": k / 100.0})), "a")
        )
    for k in range(200):
        t = {} if k == 5 else {"t": k / 100.0}
        found.take(senders.accept(decode_plain(msgspec.json.encode({"command": k, "measured": k, **t})), "b"))
    [rejected] = [event for event in found.events if event.kind is EventKind.REJECTED]
    assert rejected.samples == 1 and found.values == [*range(20), *(k for k in range(200) if k != 5)]


def test_samples_of_the_rig_asked_for_are_flushed_beside_those_of_another() -> None:
    decoder, heard = SignalDecoder("A"), Heard()
    for rig in "AB":
        for k, t in enumerate([0.0, 0.01, 0.1, 0.11, 0.12]):
            message = {"command": k, "measured": k, "t": t, "rig": rig, "sample_rate": 100.0}
            heard.take(decoder.decode([msgspec.json.encode(message)], Origin("tcp://rig", ord(rig))))
    assert heard.values == [0, 1]
    heard.take(decoder.flush())
    assert heard.values == [0, 1, 2, 3, 4] and {block.stream.rig for block in heard.blocks} == {"A"}


def test_a_sender_that_connects_again_or_restarts_loses_nothing() -> None:
    run = singles(np.arange(600) / 200.0, sample_rate=200.0)
    again = hear([*((1, each) for each in run[:300]), *((2, each) for each in run[300:])])
    assert_all_in_order(again, 600)
    assert not again.words
    restarted = hear([*((1, each) for each in run), *((2, each) for each in run)])
    assert restarted.values == [*range(600), *range(600)] and restarted.numbers == restarted.values


def test_the_rig_of_a_sender_that_connects_again_is_remembered() -> None:
    run = singles(np.arange(200) / 200.0, sample_rate=200.0)
    heard = hear([(1, {**run[0], "rig": "north"}), *((1, each) for each in run[1:100]), *((2, e) for e in run[100:])])
    assert {block.stream.rig for block in heard.blocks} == {"north"} and heard.values == list(range(200))


# ---- the estimate alone


@settings(deadline=None, max_examples=100)
@given(
    st.sampled_from([51.2, 100.0, 256.0, 1000.0, 4096.0]),
    st.floats(0.0, 0.3),
    st.lists(st.integers(1, 398), max_size=40),
    st.sampled_from([0.0, 1.7e9]),
    st.integers(0, 2**32 - 1),
)
def test_an_estimate_is_as_good_as_it_says(
    rate: float, jitter: float, lost: list[int], start: float, seed: int
) -> None:
    taken = np.delete(np.arange(400), sorted(set(lost)))
    times = start + (taken + np.random.default_rng(seed).uniform(0.0, jitter, len(taken))) / rate
    estimate = estimate_sample_rate(range(len(taken)), times.tolist())
    assert estimate is not None
    assert abs(estimate.rate / rate - 1.0) <= 2.0 * estimate.error + 1e-4


@pytest.mark.parametrize("pause", [0.4, 0.999, 2.5])
@pytest.mark.parametrize("before", [1, 2, 3])
def test_a_pause_after_the_first_samples_is_no_other_unit(pause: float, before: int) -> None:
    times = np.arange(6000) / 1000.0 + np.where(np.arange(6000) < before, 0.0, pause)
    heard = hear(singles(times, sample_rate=1000.0), pace=1000.0)
    assert len(heard.values) == 6000 and heard.rate == 1000.0
    last = heard.blocks[-1]
    assert last.time == pytest.approx(times[-1], abs=0.01)


@pytest.mark.parametrize(("unit", "factor"), [("ms", 1e3), ("µs", 1e6)])
@pytest.mark.parametrize("kept", [2, 20, 200])
def test_messages_that_a_pause_has_kept_do_not_hide_the_unit_of_the_time(unit: str, factor: float, kept: int) -> None:
    decoder, heard = SignalDecoder(), Heard()
    for k, message in enumerate(blocks(np.arange(6000) / 1000.0 * factor, 10)):
        arrived = 1e-5 * k + max(0.0, 0.01 * (k - kept))
        heard.take(decoder.decode([msgspec.json.encode(message)], Origin("tcp://rig", 0, arrived)))
    assert_all_in_order(heard, 6000)
    assert heard.rate == 1000.0 and f"`t` is read in {unit}" in heard.words
