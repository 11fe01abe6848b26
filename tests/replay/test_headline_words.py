"""What the headline says of a record: no more than its bands, and the median's beside one window's."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from monitor.config import IndicatorSettings
from monitor.messages.blocks import Channel, Role, Stream
from monitor.text.blocks import to_json
from replay.assessment import assess
from replay.assessment.results import Departure, HeadlineEstimate
from replay.assessment.statistics import headline_of, median_sd
from replay.assessment.wording import headline_words
from replay.commands.assess_blocks import assessment_blocks
from replay.formats import ArrayRecording
from replay.tables import print_blocks, report_console

RATE = 200.0
STREAM = Stream("rig", 0, RATE, (Channel("c", Role.COMMAND, "mm", "a"), Channel("m", Role.MEASURED, "mm", "a")))


@pytest.fixture(scope="module")
def assessed(warm_kernels):
    t = np.arange(4000) / RATE
    rng = np.random.default_rng(1)
    samples = np.column_stack([np.sin(9.0 * t), 0.9 * np.sin(9.0 * (t - 0.02)) + 0.01 * rng.standard_normal(4000)])
    samples[1000:1003, 1] = np.nan
    return assess(ArrayRecording(STREAM, samples), IndicatorSettings(window=2.0))


def said(assessed, **values):
    headline = HeadlineEstimate(
        **{"delay": 0.0, "delay_sd": 0.0, "ratio": 1.0, "ratio_sd": 0.0, "valid_fraction": 0.4} | values
    )
    return headline_words(replace(assessed.pairs[0], headline=headline), assessed)


@pytest.mark.parametrize(
    ("delay", "sd", "words"),
    [
        (5.0, 10.0, "delay not determined (5 ± 10 ms)"),
        (0.0, 0.51, "delay not determined (0.0 ± 0.5 ms)"),
        (0.0, 0.49, "neither late nor early (0.0 ± 0.5 ms)"),
        (-0.9, 0.04, "neither late nor early (-0.90 ± 0.04 ms)"),
        (-3.0, 0.9, "3.0 ± 0.9 ms early"),
        (-3.0, 1.1, "delay not determined (-3.0 ± 1.1 ms)"),
        (1.01, 0.04, "1.01 ± 0.04 ms late"),
        (1.01, 0.06, "delay not determined (1.01 ± 0.06 ms)"),
    ],
)
def test_a_delay_is_called_late_or_right_only_where_its_band_allows_it(assessed, delay, sd, words):
    """Right where error and two sd are below 1 ms; late or early where error less two sd is above."""
    assert said(assessed, delay=1e-3 * delay, delay_sd=1e-3 * sd, delay_median_sd=1e-3 * sd).startswith(
        f"a: {words}, "
    )
    # what the median of many windows knows decides, whatever one window knows
    assert "not determined" not in said(assessed, delay=0.005, delay_sd=0.01, delay_median_sd=1e-3)


@pytest.mark.parametrize(
    ("ratio", "sd", "words"),
    [
        (1.6, 0.8, "amplitude not determined (ratio 1.6 ± 0.8)"),
        (1.0, 0.009, "amplitude right (ratio 1.000 ± 0.009)"),
        (1.0, 0.011, "amplitude not determined (ratio 1.000 ± 0.011)"),
        (1.25, 0.1, "undershoots by 20.0 % (ratio 1.25 ± 0.10)"),
        (0.8, 0.05, "overshoots by 25.0 % (ratio 0.80 ± 0.05)"),
    ],
)
def test_a_ratio_likewise(assessed, ratio, sd, words):
    assert f", {words}, broadband" in said(assessed, ratio=ratio, ratio_sd=sd, ratio_median_sd=sd)


def test_both_bands_the_valid_share_and_what_a_range_is_are_named(assessed):
    words = said(assessed, delay=0.02, delay_sd=2e-3, delay_median_sd=4e-4, ratio_sd=5e-3, ratio_median_sd=1e-3)
    assert words == (
        "a: 20 ± 2 ms late, amplitude right (ratio 1.000 ± 0.005), broadband over a window of 2 s, valid in 40 % of "
        "the record; ± is one window's, of the medians delay ± 0.4 ms, ratio ± 0.001"
    )
    words = said(assessed, delay=0.02, delay_range=(0.0109, 0.021), ratio_median_sd=1e-3)
    assert words.startswith(
        "a: between 10.9 ms and 21.0 ms late, changing within the record (5 to 95 % range of the wind"
    )
    assert words.endswith("of the medians ratio ± 0.001")


@pytest.mark.parametrize(
    ("value", "words"), [(30.0, "up to 30.0 ms late"), (3.8, "down to 3.8 ms late"), (-3.8, "up to 3.8 ms early")]
)
def test_a_smaller_delay_is_down_to(assessed, value, words):
    departure = Departure(12.0, 15.5, 1e-3 * value, 1e-4)
    text = said(assessed, delay=0.02, delay_median_sd=1e-4, delay_departure=departure)
    assert f"late but {words} in the mean of 3.5 s from 12.0 s on" in text


def test_a_departure_is_the_weighted_mean_of_its_stretch_not_its_extreme():
    rng = np.random.default_rng(4)
    time = np.arange(0.0, 60.0, 0.1)
    sd = np.where((time > 30.0) & (time < 31.6), 1e-3, 2e-4)
    delay = np.where((time > 30.0) & (time < 31.6), 0.015, 0.003) + 0.8 * sd * rng.standard_normal(len(time))
    # one window within the stretch that reads far too much, and knows it
    delay[308], sd[308] = 0.045, 0.005
    values = {"broadband_delay": delay, "broadband_delay_sd": sd, "broadband_ratio": np.ones(600)}
    values |= {"broadband_ratio_sd": np.full(600, 1e-3)}
    inside = (time > 30.0) & (time < 31.6)
    found = headline_of(time, values, 1.0, 0.02).delay_departure
    assert 30.0 < found.start < found.stop < 31.6
    assert found.value == pytest.approx(0.015, abs=5e-4) and delay[inside].max() > 0.02


@pytest.mark.parametrize("memory", [0.0, 0.8])
@pytest.mark.parametrize("stated", [1.0, 0.2])
def test_the_sd_of_a_median_holds_though_windows_overlap_and_noise_has_a_memory(memory, stated):
    """Windows of 40 samples, of noise that forgets within a sample or five windows; the sd may be too small."""
    rng, errors, n_window, windows = np.random.default_rng(5), [], 40, 40
    for _ in range(300):
        noise = rng.standard_normal(n_window * (windows + 10))
        if memory:
            weights = memory ** np.arange(10)
            noise = np.sum([w * np.roll(noise, k * n_window) for k, w in enumerate(weights)], axis=0)
        values = np.convolve(noise, np.ones(n_window) / n_window, "valid")[10 * n_window :]
        counted = np.ones(len(values), dtype=bool)
        sd = np.full(len(values), stated / np.sqrt(n_window))
        errors.append(np.median(values) / median_sd(np.arange(len(values)) / n_window, values, sd, counted, 1.0))
    within = [np.mean(np.abs(errors) < k) for k in (1.0, 2.0)]
    assert 0.6 < within[0] < 0.85 and within[1] > 0.88


def test_what_a_whole_record_is_stands_where_it_is_printed(assessed, capsys):
    print_blocks(assessment_blocks(Path("one"), assessed, []), report_console(120))
    text = " ".join(capsys.readouterr().out.split())
    assert "whole record: FEI (Hann taper) phase -10." in text and "delay* 19." in text
    assert "* phase over the command's mean frequency, noise included" in text
    assert "J1 counts whole samples of 5 ms; without 3 samples, missing or no numbers" in text
    headline = to_json(assessment_blocks(Path("one"), assessed, []))["pairs"][0]["headline"]
    assert 0.0 < headline["delay_median_sd_ms"] < headline["delay_sd_ms"]
    assert 0.0 < headline["ratio_median_sd"] <= headline["ratio_sd"]
