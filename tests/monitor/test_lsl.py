"""Numbers of an LSL stream's samples from their stamps, its address, its channels' roles; what needs no network."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.commands.security import Guard
from monitor.commands.sources import open_source
from monitor.config import StreamSettings
from monitor.messages.blocks import Channel, Role
from monitor.transport.base import TransportError
from monitor.transport.lsl.library import DescribedChannel, StreamAddress, described_channels
from monitor.transport.lsl.source import ClockOffsets
from monitor.wire.sample_numbering import SampleNumbering
from replay.formats.base import RecordingError
from replay.formats.roles import live_channels

RATE = 1000.0


def numbers(stamps: np.ndarray, cuts: list[int], rate: float = RATE) -> np.ndarray:
    """Return the number given to each sample, whose only value is its position; the blocks end at `cuts`."""
    numbering = SampleNumbering(rate)
    found = np.full(len(stamps), -1)
    positions = np.arange(float(len(stamps)))[:, None]
    runs = []
    for first, end in zip([0, *cuts], [*cuts, len(stamps)], strict=True):
        runs += numbering.accept(stamps[first:end], positions[first:end])
    runs += numbering.flush()
    for run in runs:
        found[run.samples[:, 0].astype(int)] = run.number + np.arange(len(run.samples))
    assert np.all(found >= 0)
    return found


cuts = st.lists(st.integers(1, 1999), max_size=40).map(sorted)


@given(cuts, st.lists(st.tuples(st.integers(50, 1500), st.integers(1, 400)), max_size=3))
def test_every_lost_sample_leaves_a_gap_whatever_the_blocks(cuts: list[int], lost: list[tuple[int, int]]) -> None:
    taken = np.arange(4000)
    for at, count in lost:
        taken = np.delete(taken, slice(at, at + count))
    taken = taken[:2000]
    np.testing.assert_array_equal(numbers(5000.0 + taken / RATE, cuts), taken)


@given(cuts, st.integers(0, 2**32 - 1))
def test_samples_that_are_stamped_late_are_consecutive(cuts: list[int], seed: int) -> None:
    rng = np.random.default_rng(seed)
    stamps = np.arange(2000) / RATE
    # a program that is stopped for up to 60 ms stamps what it has missed at once, in order
    for at in rng.integers(0, 1800, 5):
        stamps[at:] = np.maximum(stamps[at:], stamps[at] + rng.uniform(0.0, 0.06))
    stamps += rng.uniform(0.0, 0.0003, len(stamps))
    np.testing.assert_array_equal(numbers(np.maximum.accumulate(stamps), cuts), np.arange(2000))


@given(cuts, st.integers(2, 90))
def test_samples_that_are_stamped_in_groups_are_consecutive(cuts: list[int], group: int) -> None:
    # stamps of the time at which a group is sent
    count = 2000 // group * group
    stamps = (np.arange(count) // group + 1) * group / RATE
    np.testing.assert_array_equal(numbers(stamps, cuts), np.arange(count))


@given(cuts, st.floats(0.98, 1.02))
def test_a_rate_that_differs_from_the_nominal_one_is_followed(cuts: list[int], factor: float) -> None:
    np.testing.assert_array_equal(numbers(np.arange(2000) / (factor * RATE), cuts), np.arange(2000))


@given(cuts, st.lists(st.integers(0, 1999), min_size=1, max_size=20), st.sampled_from([np.nan, np.inf, -np.inf]))
def test_a_stamp_that_is_not_finite_is_that_of_the_next_sample(cuts: list[int], at: list[int], value: float) -> None:
    # from sample 1000 on 40 are lost
    taken = np.delete(np.arange(2040), slice(1000, 1040))
    stamps = 5000.0 + taken / RATE
    stamps[[each for each in at if abs(each - 1000) > 100]] = value
    np.testing.assert_array_equal(numbers(stamps, cuts), taken)


def test_a_stream_whose_first_stamps_are_not_finite_has_no_gap() -> None:
    stamps = 5000.0 + np.arange(2000) / RATE
    stamps[:30] = np.nan
    np.testing.assert_array_equal(numbers(stamps, [10, 20, 30, 40]), np.arange(2000))


def slow_rate(stamps: np.ndarray, rate: float) -> float:
    numbering = SampleNumbering(rate)
    for first in range(0, len(stamps), 7):
        chunk = stamps[first : first + 7]
        list(numbering.accept(chunk, np.zeros((len(chunk), 1))))
    return 0.0 if numbering.rate == rate else numbering.rate


@pytest.mark.parametrize("jitter", [0.0, 0.05])
def test_the_rate_of_a_sender_slower_than_can_be_followed_is_known(jitter: float) -> None:
    stamps = np.arange(400) / 91.0
    stamps += np.random.default_rng(1).uniform(0.0, jitter / 91.0, len(stamps))
    assert slow_rate(stamps, 100.0) == pytest.approx(91.0, rel=5e-3)
    # one that is followed, and one that is faster, which its numbers and times tell
    assert slow_rate(np.arange(2000) / 98.0, 100.0) == 0.0
    assert slow_rate(np.arange(2000) / 109.0, 100.0) == 0.0


def test_a_sender_whose_samples_are_lost_is_not_slow() -> None:
    every = np.delete(np.arange(4000), np.arange(11, 4000, 11))
    chance = np.flatnonzero(np.random.default_rng(2).random(4000) > 0.09)
    for taken in (every, chance):
        assert slow_rate(taken / 100.0, 100.0) == 0.0


def test_times_are_those_of_the_stamps() -> None:
    numbering = SampleNumbering(RATE)
    assert np.isnan(numbering.time)
    stamps = 700.0 + np.arange(100) / RATE
    chunks = [stamps[first:][:7] for first in range(0, 100, 7)]
    runs = [run for chunk in chunks for run in numbering.accept(chunk, np.zeros((len(chunk), 1)))]
    np.testing.assert_allclose([run.time for run in runs], stamps[[run.number for run in runs]], rtol=0, atol=1e-9)


def test_late_samples_are_held_until_it_is_clear_what_they_are() -> None:
    numbering = SampleNumbering(RATE)
    list(numbering.accept(np.arange(10) / RATE, np.zeros((10, 1))))
    assert not list(numbering.accept(np.arange(15, 20) / RATE, np.zeros((5, 1))))
    assert (numbering.held, numbering.next) == (5, 10)
    [run] = numbering.accept(np.arange(20, 200) / RATE, np.ones((180, 1)))
    assert (run.number, len(run.samples), numbering.held, numbering.next) == (15, 185, 0, 200)


@pytest.mark.parametrize("false", [[3.0], [-1e6, 2.0], [0.5, 0.9]])
def test_a_false_offset_of_the_clock_is_not_believed_and_a_lasting_one_is(false: list[float]) -> None:
    offsets = ClockOffsets(0.25)
    measured = [0.251, 0.249, 0.25, *false, 0.252, 0.251]
    assert [offsets.accept(each) for each in measured] == [0.251, 0.249, 0.25, *[0.25] * len(false), 0.252, 0.251]
    assert [offsets.accept(7.0) for _ in range(4)] == [0.251, 0.251, 7.0, 7.0]
    first = ClockOffsets(false[0])
    assert [first.accept(0.25) for _ in range(3)][-1] == 0.25


@pytest.mark.parametrize(
    ("url", "predicate"),
    [
        ("lsl://table", "name='table'"),
        ("lsl://shake table?source_id=A%201&type=EEG", "name='shake table' and source_id='A 1' and type='EEG'"),
        ("lsl://50%25?hostname=lab", "name='50%' and hostname='lab'"),
        ("lsl://Anne's", 'name="Anne\'s"'),
    ],
)
def test_addresses(url: str, predicate: str) -> None:
    assert StreamAddress.parse(url).predicate == predicate


@pytest.mark.parametrize(
    "url", ["lsl://", "lsl://?type=EEG", "lsl://a?uid=1", "lsl://a?type", "lsl://'\"", "tcp://a:1"]
)
def test_malformed_addresses_are_one_line(url: str) -> None:
    with pytest.raises(TransportError) as raised:
        StreamAddress.parse(url)
    assert str(raised.value).startswith(repr(url))
    assert "\n" not in str(raised.value)


XML = """<?xml version="1.0"?><info><name>table</name><desc><channels>
<channel><label>x_c</label><unit>mm</unit><type>Displacement</type></channel>
<channel><label>north.measured</label><unit>mm</unit><type>Measured</type></channel>
<channel><type>force</type><actuator>north</actuator></channel>
</channels></desc></info>"""


def test_channels_as_a_stream_describes_them() -> None:
    assert described_channels(XML, 4, "table") == (
        DescribedChannel("x_c", "mm"),
        DescribedChannel("north.measured", "mm", "measured", "north"),
        DescribedChannel("table_3", "", "force", "north"),
        DescribedChannel("table_4"),
    )
    assert len(described_channels("<info/>", 3, "table")) == 3
    assert len(described_channels(XML, 1, "table")) == 1
    with pytest.raises(ValueError, match="no XML"):
        described_channels("<info>", 1, "table")


def test_roles_are_given_named_or_guessed() -> None:
    names, units = ["left", "right", "spare [kN]"], ["millimeters", "mm", ""]
    given = [("measured", "a"), ("command", "a"), ("", "")]
    assert live_channels(names, units, given) == (
        Channel("left", Role.MEASURED, "mm", "a"),
        Channel("right", Role.COMMAND, "mm", "a"),
        Channel("spare", Role.AUXILIARY, "kN"),
    )
    none = [("", "")] * 3
    named = live_channels(names, units, none, command=["left"], measured=["right"], force=["3"])
    assert [channel.role for channel in named] == [Role.COMMAND, Role.MEASURED, Role.FORCE]
    guessed = live_channels(["x_c", "x_m"], ["", ""], none[:2])
    assert [(channel.role, channel.actuator) for channel in guessed] == [("command", "x"), ("measured", "x")]
    with pytest.raises(RecordingError, match="which column is the command"):
        live_channels(names, units, none)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"connect": ("lsl://a", "tcp://127.0.0.1:1")}, "an LSL stream is the only source"),
        ({"connect": ("lsl://a",), "command": ("x",)}, "--command and --measured go together"),
        ({"connect": ("tcp://127.0.0.1:1",), "command": ("x",)}, "--command is for an LSL stream"),
        ({"connect": ("lsl://",)}, "no address of an LSL stream"),
    ],
)
def test_settings_that_do_not_fit_are_one_line(settings: dict[str, tuple[str, ...]], message: str) -> None:
    with pytest.raises((ValueError, TransportError), match=re.escape(message)):
        open_source(StreamSettings(**settings), Guard(None, None), None)
