"""What a late specimen of the wrong size takes from the damping, against the exact root of the loop."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from monitor.config import IndicatorSettings, SettingsError
from monitor.messages.blocks import Channel, Role, Stream
from replay.assessment import assess
from replay.assessment.results import Contradiction
from replay.assessment.warnings import added_damping
from replay.formats import ArrayRecording
from replay.report.windows import best_and_worst, damping_words
from tests.oracles.closed_loop import damping_of, free_motion, pole

pytestmark = pytest.mark.usefixtures("warm_kernels")
RATE = 512.0
# Hz, share, ratio, s
WEAK = [(2.0, 0.1, 1.0, 0.02), (2.0, 0.1, 0.8, 0.02), (2.0, 0.1, 1.25, 0.02), (2.0, 0.02, 0.8, 0.02)]
STRONG = [(2.0, 0.3, 0.8, 0.02), (2.0, 0.3, 1.25, 0.02), (2.0, 0.3, 0.8, -0.02), (3.5, 0.6, 1.1, 0.01)]


def loop(frequency, share, ratio, delay):
    """Return the free motion of a loop as a recording with a force, and its damping ratio."""
    root = pole(frequency, share, 1.0 / ratio, delay)
    command, measured = free_motion(root, 1.0 / ratio, delay, np.arange(round(10.0 * RATE)) / RATE - 5.0)
    force = share * (2.0 * np.pi * frequency) ** 2 * measured
    channels = tuple(
        Channel(name, role, unit, "a")
        for name, role, unit in (("c", Role.COMMAND, "m"), ("m", Role.MEASURED, "m"), ("f", Role.FORCE, "N"))
    )
    return ArrayRecording(Stream("rig", 0, RATE, channels), np.column_stack([command, measured, force])), damping_of(
        root
    )


def without_force(recording):
    stream = replace(recording.stream, channels=recording.stream.channels[:2])
    return ArrayRecording(stream, np.ascontiguousarray(next(recording.blocks(1 << 20)).samples[:, :2]))


def spoken(found):
    return [float(w.text.split(" is ")[1].split(" %")[0]) for w in found.warnings if w.code == "feeds_energy"]


@pytest.mark.parametrize("point", WEAK)
def test_per_unit_of_share_the_added_damping_is_the_exact_one_to_first_order(point):
    recording, exact = loop(*point)
    found = assess(recording, IndicatorSettings(window=2.0))
    (pair,), share = found.pairs, point[1]
    for column, within in (("fdb_added_damping", 0.03), ("hsem_added_damping", 0.05)):
        assert share * pair.spreads[column].median == pytest.approx(exact, rel=within)
        assert {c.unit for c in found.series.columns if c.name == column} == {"1/share"}
    assert share * spoken(found)[0] == pytest.approx(100.0 * exact, rel=0.03)
    (said,) = (w.text for w in found.warnings if w.code == "feeds_energy")
    assert "times the specimen's share of the stiffness" in said and "--share" in said


@pytest.mark.parametrize("point", WEAK + STRONG)
def test_with_the_share_it_is_that_of_the_loop(point):
    recording, exact = loop(*point)
    settings = IndicatorSettings(window=2.0, share=point[1])
    for each in (recording, without_force(recording)):
        found = assess(each, settings)
        (pair,) = found.pairs
        for column in {"fdb_added_damping", "hsem_added_damping"} & pair.spreads.keys():
            assert pair.spreads[column].median == pytest.approx(exact, rel=0.005)
            assert {c.unit for c in found.series.columns if c.name == column} == {"1"}
        # where FDB contradicts, from the broadband delay: its ratio is not that at one instant
        contradicted = replace(pair, contradicts={"fdb": Contradiction(1.0, 0.01, 0.0)})
        _, by_broadband = added_damping(replace(contradicted, pair=replace(pair.pair, force=None)), settings.share)
        assert by_broadband == pytest.approx(exact, rel=0.03)
        assert spoken(found) == pytest.approx([100.0 * exact] if exact < -0.002 else [], rel=0.006)
        extremes = best_and_worst(pair, found, found.series.time)
        assert extremes[1].added_damping == pytest.approx(exact, rel=0.03)
        words = damping_words(pair, found, extremes[1])
        assert f"{'takes away' if exact < 0.0 else 'adds'} {abs(100.0 * exact):.2g} % of critical" in words
        assert f"share of {point[1]:g}" in words


def test_of_a_loop_that_may_be_open_nothing_is_said():
    recording = without_force(loop(*WEAK[1])[0])
    found = assess(recording, IndicatorSettings(window=2.0))
    assert not spoken(found)
    assert damping_words(found.pairs[0], found, None) == ""
    assert found.pairs[0].spreads["fdb_added_damping"].median < -0.1


def test_where_the_errors_stiffness_outweighs_the_structures_there_is_no_damping():
    t = np.arange(round(6.0 * RATE)) / RATE
    channels = Channel("c", Role.COMMAND, "m", "a"), Channel("m", Role.MEASURED, "m", "a")
    samples = np.column_stack([np.sin(2.0 * np.pi * 2.0 * t), np.sin(2.0 * np.pi * 2.0 * t - 2.0)])
    found = assess(
        ArrayRecording(Stream("rig", 0, RATE, channels), samples), IndicatorSettings(window=2.0, share=0.9)
    )
    assert np.isnan(found.pairs[0].spreads["fdb_added_damping"].median)


@pytest.mark.parametrize("share", [0.0, -0.1, 1.01, np.nan])
def test_a_share_out_of_range_is_refused(share):
    with pytest.raises(SettingsError, match="share"):
        IndicatorSettings(share=share)
