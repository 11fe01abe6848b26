"""What `assess` warns of: each thing that is wrong with a record, and nothing on a record that is right."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from monitor.config import IndicatorSettings
from monitor.messages.blocks import Channel, Role, Stream
from replay.assessment import Assessment, assess
from replay.assessment.results import Contradiction, Spread
from replay.assessment.warnings import WORST_FIRST, delay_warnings, result_warnings, worst
from replay.assessment.wording import headline_words
from replay.formats import ArrayRecording
from replay.formats.parts import RecordingPart
from sim.excitation import Earthquake

RATE, N = 500.0, 20_000
T = np.arange(N) / RATE
SETTINGS = IndicatorSettings(window=2.0)
SHARED = SETTINGS.model_copy(update={"share": 1.0})

pytestmark = pytest.mark.usefixtures("warm_kernels")


def earthquake(t, seed=7):
    return Earthquake(rms=1.0, seed=seed, ground_frequency=1.5, strong=200.0).sample(t)


def tone(t):
    return np.sin(2.0 * np.pi * 1.3 * t)


def noise(seed, size=2e-3):
    return size * np.random.default_rng(seed).standard_normal(N)


def recording(*pairs, units=("mm", "mm"), index=None, force=None) -> ArrayRecording:
    channels, columns = [], []
    for name, (command, measured) in zip("abcde", pairs, strict=False):
        channels += [
            Channel(f"{name}.command", Role.COMMAND, units[0], name),
            Channel(f"{name}.measured", Role.MEASURED, units[1], name),
        ]
        columns += [command, measured]
    if force is not None:
        channels.append(Channel("a.force", Role.FORCE, "N", "a"))
        columns.append(force)
    return ArrayRecording(Stream("rig", 0, RATE, tuple(channels)), np.column_stack(columns), index=index)


def look(*pairs, settings=SETTINGS, **words) -> Assessment:
    return assess(recording(*pairs, **words), settings)


def codes(found: Assessment) -> set[str]:
    return {warning.code for warning in found.warnings}


def text(found: Assessment, code: str) -> str:
    (only,) = (warning.text for warning in found.warnings if warning.code == code)
    return only


def late(delay=0.01, gain=0.95, motion=earthquake):
    return gain * motion(T - delay)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("size", [1e-5, 2e-3, 0.03])
@pytest.mark.parametrize("motion", [earthquake, tone])
def test_a_record_that_is_right_gives_no_warning(motion, size, seed):
    measured = 0.99 * motion(T - 1e-4) + noise(seed, size)
    assert look((motion(T) + noise(seed + 10, size), measured)).warnings == ()


@pytest.mark.parametrize("seed", range(4))
def test_the_noise_in_the_weak_end_of_an_earthquake_is_no_change(seed):
    motion = Earthquake(rms=1.0, seed=seed, ground_frequency=1.5, strong=8.0, decay=5.0)
    measured = motion.sample(T - 0.01) + noise(seed, 0.3)
    found = look((motion.sample(T), measured))
    assert not codes(found) & {"delay_changes", "ratio_changes", "delay_departs"}
    # which the weak windows scatter by
    spread, headline = found.pairs[0].spreads["broadband_delay"], found.pairs[0].headline
    assert spread.p95 - spread.p05 > 1e-3
    assert headline.delay == pytest.approx(0.01, abs=3.0 * headline.delay_sd)


def test_sensors_of_few_bits_and_holds_of_a_slow_test_are_right():
    holds = np.interp(T % 8.0, [0.0, 1.0, 3.0, 4.0, 8.0], [0.0, 1.0, 1.0, 0.0, 0.0])
    for motion in (tone(T), earthquake(T), holds):
        coarse = np.round(motion, 2)
        assert codes(look((coarse, coarse + noise(1, 1e-4)))) == set()


@pytest.mark.parametrize(("column", "name"), [(0, "a.command"), (1, "a.measured"), (2, "a.force")])
def test_a_dead_channel(column, name):
    signals = [earthquake(T), late(), 3.0 * late()]
    signals[column] = np.full(N, 3.2)
    found = look(tuple(signals[:2]), force=signals[2])
    assert text(found, "dead_channel").startswith(f"{name} is constant at 3.2 ")
    if column < 2:
        assert codes(found) == {"dead_channel"}


def test_a_sensor_that_freezes():
    measured = late()
    measured[N // 2 :] = measured[N // 2]
    found = look((earthquake(T), measured))
    assert "is constant for 20 s from 20 s on" in text(found, "stuck")
    assert found.pairs[0].headline.delay == pytest.approx(0.01, rel=1e-3)


@pytest.mark.parametrize("share", [0.3, 0.6, 0.95])
def test_a_sensor_at_its_limit(share):
    measured = late()
    limit = share * measured.max()
    clipped = np.minimum(measured, limit)
    said = text(look((earthquake(T), clipped)), "clipped")
    assert said.startswith(f"{np.sum(clipped[5:] == limit)} samples")
    assert f"highest value, {limit:.4g} mm" in said


@pytest.mark.parametrize("length", [2.5, 4.0])
def test_values_that_are_held_for_a_slower_rate(length):
    held = (np.floor(np.arange(N) / length) * length).astype(int)
    command, measured = earthquake(T), late()
    for name, pair, way in (
        ("measured", (command, measured[held]), "later"),
        ("the command", (command[held], measured), "earlier"),
    ):
        said = text(look(pair), "held")
        assert said.startswith(f"{name} was sampled at {RATE / length:g} Hz")
        assert f"seems {500.0 * (length - 1.0) / RATE:.3g} ms {way} than it is" in said
    coarse = 0.05 * np.round(measured / 0.05)
    ramps = np.abs((4.0 * T) % 2.0 - 1.0), np.round(8.0 * np.abs((4.0 * T - 0.05) % 2.0 - 1.0)) / 8.0
    for pair in ((command[held], measured[held]), (command, coarse), ramps):
        assert "held" not in codes(look(pair))


def test_an_offset_between_two_sensors():
    found = look((earthquake(T), late() - 2.0))
    assert "lies 2 mm below the command" in text(found, "offset")
    # a gain on a command with a mean is no offset of a sensor
    assert "offset" not in codes(look((earthquake(T) + 20.0, 0.95 * (earthquake(T - 0.01) + 20.0))))


def test_holes():
    measured = late()
    measured[5000:5005] = np.nan
    measured[7000] = 1e300
    found = look((earthquake(T), measured))
    assert text(found, "not_numbers").startswith(
        "6 of 20000 samples are not finite or absurdly large, the first after 10 s"
    )
    index = np.concatenate([np.arange(8000), np.arange(8000, N) + 250])
    assert "250 samples (0.5 s) are missing in 1 gap:" in text(look((earthquake(T), late()), index=index), "gaps")


def test_signals_that_are_no_pair():
    for factor, words in ((198.0, "198 times larger"), (1.0 / 198.0, "198 times smaller")):
        found = look((earthquake(T), factor * late(gain=1.0)))
        assert codes(found) == {"not_a_pair"} and words in text(found, "not_a_pair")


def test_other_units():
    found = look((earthquake(T), 198.0 * late()), units=("V", "mm"))
    assert codes(found) - {"contradicted"} == {"units_differ"}
    assert "V/mm" in text(found, "units_differ")


def test_swapped_columns():
    found = look((late(), earthquake(T)))
    assert "leads the command by 10 ms: are the columns swapped?" in text(found, "leads")
    assert "feeds_energy" not in codes(found)


def test_a_lag_of_half_a_period_may_be_a_sign():
    found = look((tone(T), late(0.3, motion=tone)), settings=SETTINGS.model_copy(update={"max_delay": 0.5}))
    assert "the phase at 1.3 Hz is -140°" in text(found, "large_phase")


def test_a_delay_beyond_what_is_looked_for():
    found = look((earthquake(T), earthquake(T - 0.15)))
    assert "no_value" in codes(found)
    assert np.isnan(found.pairs[0].headline.delay)
    assert found.pairs[0].headline.valid_fraction < 0.05
    # of a tone, another reading knows the delay
    settings = SETTINGS.model_copy(update={"max_delay": 0.05})
    assert "150 ms of FDB or PAEI is beyond the 50 ms" in text(
        look((tone(T), late(0.15, motion=tone)), settings=settings), "no_value"
    )


def test_a_sensor_of_the_wrong_sign():
    found = look((earthquake(T), -late() + noise(1)))
    assert "opposite to the command's: check the polarity" in text(found, "no_value")


def test_a_long_lag_that_a_few_windows_read_as_something_else():
    command, measured = (
        sum(np.sin(2.0 * np.pi * f * (T - lag) + 9.0 * f) for f in (0.41, 0.73, 1.17, 1.91)) for lag in (0.0, 2.0)
    )
    settings = SETTINGS.model_copy(update={"max_delay": 3.0})
    said = text(look((command, measured), settings=settings), "no_value")
    assert "2000 ms later (J1), and 500 ms are searched: give --max-delay 3 --window 12" in said
    found = look((command, measured), settings=settings.model_copy(update={"window": 12.0}))
    assert found.pairs[0].headline.delay == pytest.approx(2.0, abs=1e-3)


def test_signals_that_have_nothing_to_do_with_each_other():
    found = look((earthquake(T), earthquake(T, seed=8)))
    assert "no_value" in codes(found) or found.pairs[0].headline.valid_fraction < 0.2


def test_the_lag_of_an_earthquake_adds_the_damping_that_fdb_reads():
    found = look((earthquake(T), late(0.02, 1.0)), settings=SHARED)
    # at every instant of the frequency that dominates then, and of all of the structure in the specimen
    frequency = found.series.of("a")["fdb_frequency"]
    expected = 50.0 * np.nanmedian(np.tan(-2.0 * np.pi * frequency * 0.02))
    said = text(found, "feeds_energy").split("the added damping by FDB is ")[1]
    assert float(said.split(" %")[0]) == pytest.approx(expected, rel=0.1)


def test_where_fdb_contradicts_the_damping_is_that_of_the_delay_that_is_right():
    # as printed, FDB is wrong in an earthquake
    found = look((earthquake(T), late(0.02, 1.0)), settings=SHARED.model_copy(update={"delay_of": "tone"}))
    frequency = found.pairs[0].spreads["fdb_frequency"].median
    expected = 50.0 * np.tan(-2.0 * np.pi * frequency * 0.02)
    assert f"is {expected:.3g} % of critical" in text(found, "feeds_energy")
    assert "broadband delay" in text(found, "feeds_energy")


@pytest.mark.parametrize("motion", [earthquake, tone])
@pytest.mark.parametrize("size", [0.0, 2e-3, 0.03])
def test_nothing_contradicts_where_delay_and_gain_are_the_same_throughout(motion, size):
    found = look((motion(T) + noise(1, size), late(0.02, motion=motion) + noise(2, size)))
    assert "contradicted" not in codes(found)
    assert found.pairs[0].headline.delay == pytest.approx(0.02, rel=0.005)
    # more than by chance
    assert not any(how.fraction > 0.02 for how in found.pairs[0].contradicts.values())


def test_as_printed_fdb_contradicts_in_an_earthquake():
    found = look((earthquake(T), late(0.02)), settings=SETTINGS.model_copy(update={"delay_of": "tone"}))
    said = text(found, "contradicted")
    assert said.startswith("FDB (by ") and "use the broadband delay" in said
    assert found.pairs[0].headline.delay == pytest.approx(0.02, rel=1e-4)
    part = found.pairs[0].contradicts["fdb"].fraction
    values = found.series.of("a")
    far = np.abs(values["fdb_delay"] - 0.02) > 2.0 * values["fdb_delay_sd"] + 2e-4
    assert part >= np.mean(far[~np.isnan(values["fdb_delay"])]) - 0.05


def test_a_delay_that_depends_on_frequency_is_in_the_bands():
    fast = lambda t: np.sin(2.0 * np.pi * 3.1 * t)  # noqa: E731 - a second tone, less late
    alike, found = (
        look((tone(T) + fast(T) + noise(1), tone(T - 0.02) + fast(T - delay) + noise(2))) for delay in (0.02, 0.01)
    )
    headline = found.pairs[0].headline
    assert 0.01 < headline.delay < 0.02 and headline.delay_sd > 10.0 * alike.pairs[0].headline.delay_sd
    assert "contradicted" not in codes(found)


@pytest.mark.parametrize(
    ("names", "words"),
    [(("paei_adaptive",), "a frequency-dependent delay"), (("fdb", "paei"), "depends on frequency or amplitude")],
)
def test_a_contradiction_is_told_with_its_size_and_likely_cause(names, words):
    (pair,) = look((tone(T) + noise(1), tone(T - 0.02) + noise(2))).pairs
    against = dict.fromkeys(names, Contradiction(0.25, 0.004, 0.03))
    (warning,) = delay_warnings(replace(pair, contradicts={**pair.contradicts, **against}))
    assert warning.code == "contradicted"
    assert "by 4 ms, 3 %" in warning.text and "25 % of the instants" in warning.text
    assert words in warning.text


DELAYS = (0.003, 0.008, 0.015, 0.022, 0.030)


@pytest.mark.parametrize("motion", [earthquake, tone])
def test_five_delays_one_after_the_other(motion):
    measured = motion(T - np.repeat(DELAYS, N // 5))
    said = text(look((motion(T) + noise(1), measured + noise(2))), "delay_changes")
    assert said.startswith("the delay changes from 3.0 to 30.0 ms within the record")
    assert "--start and --stop" in said and "--series" in said
    # where each begins, by the record's own making
    stands = [part.strip() for part in said.split("(")[1].split(")")[0].split(",")]
    assert [float(stand.split()[0]) for stand in stands] == pytest.approx([3.0, 8.0, 15.0, 22.0, 30.0], abs=0.1)
    assert [float(stand.split()[3]) for stand in stands] == pytest.approx([0.0, 8.0, 16.0, 24.0, 32.0], abs=1.5)


def test_the_times_of_a_part_are_those_of_the_record():
    measured = earthquake(T - np.repeat(DELAYS, N // 5))
    measured[17_500:] = measured[17_500]
    measured[5_000] = np.nan
    found = assess(RecordingPart(recording((earthquake(T), measured)), 9.0), SETTINGS)
    assert "the first after 10 s" in text(found, "not_numbers")
    assert "for 5 s from 35 s on" in text(found, "stuck")
    # the windows with the sample that is no number say nothing
    stands = text(found, "delay_changes").split("(")[1].split(")")[0].split(",")
    assert [float(stand.split()[3]) for stand in stands] == pytest.approx([10.0, 16.0, 24.0, 32.0], abs=1.5)


def test_a_gain_that_changes_and_the_damping_of_the_worst_delay():
    gain, delay = np.where(T < 20.0, 0.9, 1.05), np.where(T < 22.0, 0.0, 0.02)
    found = look((tone(T) + noise(1), gain * tone(T - delay) + noise(2)), settings=SHARED)
    assert text(found, "ratio_changes").startswith(
        "the amplitude ratio changes from 0.952 to 1.111 within the record"
    )
    # of the later part, 1.3 Hz times 20 ms; all of the stiffness is measured, and the gain cancels
    expected = 50.0 * np.tan(-2.0 * np.pi * 1.3 * 0.02)
    said = text(found, "feeds_energy").split("falls to ")[1]
    assert float(said.split(" %")[0]) == pytest.approx(expected, rel=0.03)


def test_a_delay_that_drifts():
    drift = np.linspace(0.003, 0.03, N)
    said = text(look((earthquake(T), earthquake(T - drift))), "delay_changes")
    (course,) = said.split("(")[1].split(")")[0].split(",")
    # as "3.7 to 29.0 ms from 0.8 to 30.1 s"
    first, last, start, stop = (float(course.split()[i]) for i in (0, 2, 5, 7))
    assert (first, last) == pytest.approx(1e3 * np.interp([start, stop], T, drift), abs=0.3)
    assert last - first > 24.0 and "ms within the record (" in said


PASSES = np.where((T > 20.0) & (T < 22.5), 0.02, 0.0)


@pytest.mark.parametrize("motion", [earthquake, tone])
@pytest.mark.parametrize("size", [0.0, 2e-3])
def test_a_delay_that_passes_is_named(motion, size):
    found = look((motion(T), motion(T - PASSES) + size * noise(1, 1.0)))
    headline = found.pairs[0].headline
    assert headline.delay == pytest.approx(0.0, abs=1e-4) and headline.delay_range is None
    departure = headline.delay_departure
    assert departure.value == pytest.approx(0.02, rel=0.1)
    # the windows that hold some of it
    assert 20.0 < departure.start < 22.0 < departure.stop < 22.5 + 2.0 * SETTINGS.window
    assert codes(found) & {"delay_departs", "delay_changes", "contradicted"} == {"delay_departs"}
    assert re.match(r"a: neither late nor early \(-?0\.0", headline_words(found.pairs[0], found))
    assert " but up to 2" in headline_words(found.pairs[0], found)


@pytest.mark.parametrize("passing", [1e-4, 1.5e-4])
def test_a_change_below_a_fifth_of_a_millisecond_is_none(passing):
    found = look((tone(T), tone(T - PASSES * passing / 0.02)))
    headline = found.pairs[0].headline
    assert (headline.delay_range, headline.delay_departure) == (None, None) and found.warnings == ()


def test_five_delays_side_by_side():
    found = look(*((earthquake(T), earthquake(T - delay)) for delay in DELAYS))
    assert [pair.headline.delay for pair in found.pairs] == pytest.approx(DELAYS, abs=1e-5)
    (record_wide,) = found.warnings_of(None)
    assert record_wide.code == "actuators_differ"
    assert "a 3.0 ms, e 30.0 ms, 27.0 ms apart" in record_wide.text
    assert "delay_changes" not in codes(found)
    assert "actuators_differ" not in codes(look(*[(earthquake(T), late(0.01))] * 3))


def test_a_copy():
    assert codes(look((earthquake(T), earthquake(T)))) == {"identical"}


def test_every_code_has_a_rank_and_the_gravest_is_named():
    found = look((earthquake(T), late(0.03) - 2.0), settings=SHARED)
    assert codes(found) >= {"offset", "feeds_energy"}
    assert codes(found) <= set(WORST_FIRST)
    assert worst(found.warnings).code == "feeds_energy"
    assert worst(()) is None


def test_a_play_is_told_with_what_it_adds_to_the_delay():
    """4 b / (pi A omega) at 1.3 Hz; the sum is what is read."""
    play, at, measured = 0.02, 0.0, np.empty(N)
    for i, x in enumerate(tone(T - 0.01)):
        at = measured[i] = min(max(at, x - play), x + play)
    found = look((tone(T) + noise(1), measured + noise(2)))
    said, added = text(found, "play"), 4e3 * play / (np.pi * 2.0 * np.pi * 1.3)
    assert float(said.split("±")[1].split()[0]) == pytest.approx(play, rel=0.15)
    assert float(said.split(" ms late")[0].split()[-1]) == pytest.approx(added, rel=0.15)
    assert 1e3 * found.pairs[0].headline.delay == pytest.approx(10.0 + added, rel=0.05)
    assert 1e3 * found.pairs[0].headline.delay_sd > added
    assert "play" not in codes(look((tone(T) + noise(1), tone(T - 0.01) + noise(2))))


@pytest.mark.parametrize(
    ("amplitude", "frequency", "late"),
    [
        (2.0, 0.5, ", which makes a tone of 2 mm and 0.5 Hz 0.0405 ms late, a smaller or slower one more"),
        (np.nan, 0.5, ""),
        (0.0, 0.5, ""),
        (2.0, 0.0, ""),
    ],
)
def test_the_delay_that_a_play_adds_is_told_where_the_tone_is_known(amplitude, frequency, late):
    (pair,) = look((tone(T), tone(T - 0.01))).pairs
    medians = {"broadband_play": 2e-4, "fdb_amplitude": amplitude, "fdb_frequency": frequency}
    spreads = {name: Spread(median, median, median, median) for name, median in medians.items()}
    channels = recording((tone(T), tone(T))).stream.channels
    warnings = result_warnings(replace(pair, spreads=spreads), channels, SETTINGS, 1.0 / RATE, shorter=False)
    (said,) = (warning.text for warning in warnings if warning.code == "play")
    advice = "check joints, bolts and the valve before compensating"
    assert said == f"a play of about ±0.0002 mm is found in most windows{late}: {advice}"
