"""Settings: every problem at once, by its key, and what lies over what."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys

import pytest
from pydantic import ValidationError

from docs.settings import GUIDE, renewed
from monitor.commands.options import given_settings
from monitor.commands.service_settings import add_service_options, service_settings
from monitor.config import IndicatorSettings, ReliabilitySettings, Settings, SettingsError, load_settings


@pytest.fixture
def write(tmp_path):
    def make(text):
        path = tmp_path / "rig.toml"
        path.write_text(text, encoding="utf-8")
        return path

    return make


def refusal(path, overrides=None):
    with pytest.raises(SettingsError) as problem:
        load_settings(path, overrides or {})
    text = str(problem.value)
    assert "\n" not in text
    return text


def test_nothing_said_is_the_defaults():
    assert load_settings(None, {}) == Settings()


def test_an_empty_file_is_the_defaults(write):
    assert load_settings(write(""), {}) == Settings()


def test_a_file_is_read(write):
    path = write(
        "[stream]\nconnect = ['tcp://rig:5555', 'tcp://rig:5557']\nrig = 'north'\nsample_rate = 1024\n"
        "[indicators]\nwindow = 3\nband = [0.5, 20]\npeak = 'own'\ndelay_of = 'tone'\nnoise_correction = false\n"
        "[results]\nsignals = false\n[record]\npath = 'runs'\n"
    )
    settings = load_settings(path, {})
    assert settings.stream.connect == ("tcp://rig:5555", "tcp://rig:5557")
    assert settings.stream.sample_rate == 1024.0
    expected = IndicatorSettings(window=3.0, band=(0.5, 20.0), peak="own", delay_of="tone", noise_correction=False)
    assert settings.indicators == expected
    assert not settings.results.signals
    assert settings.record.path == "runs"


def test_every_problem_is_told_at_once_with_its_key(write):
    path = write(
        "colour = 'blue'\n[indicators]\nwindow = -1\nevery = 0\npeak = 'both'\nband = [1]\nwindwo = 3\n"
        "relative_gate = 1.0\n[stream]\nstale_after = 'soon'\nconnect = 'tcp://x'\n[rekord]\npath = 'x'\n"
    )
    text = refusal(path)
    for key in (
        "indicators.window",
        "indicators.every",
        "indicators.peak",
        "indicators.band",
        "indicators.relative_gate",
        "stream.stale_after",
        "stream.connect",
    ):
        assert key in text
    for key in ("indicators.windwo", "rekord", "colour"):
        assert f"{key}: there is no such setting" in text
    assert text.startswith(str(path))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("window", "inf"),
        ("window", "nan"),
        ("window", "0.0"),
        ("gate", "-1.0"),
        ("relative_gate", "-0.1"),
        ("every", "1.5"),
        ("band", "[-1.0, 5.0]"),
        ("band", "[0.0, inf]"),
        ("noise_correction", "3"),
    ],
)
def test_values_out_of_range(write, key, value):
    assert f"indicators.{key}" in refusal(write(f"[indicators]\n{key} = {value}\n"))


def test_what_is_not_toml(write):
    text = refusal(write("[indicators\nwindow = 3\n"))
    assert "is not TOML" in text
    assert "line 1" in text


def test_what_is_not_text(tmp_path):
    path = tmp_path / "rig.toml"
    path.write_bytes(b"\xff\xfe\x00\x01")
    assert "is not TOML" in refusal(path)


def test_a_file_that_is_not_there(tmp_path):
    assert "none.toml: cannot be read" in refusal(tmp_path / "none.toml")
    assert "cannot be read" in refusal(tmp_path)


def test_a_section_that_is_a_number(write):
    path = write("indicators = 3\n")
    assert "indicators" in refusal(path)
    assert "indicators" in refusal(path, {"indicators": {"window": 2.0}})


def test_overrides_lie_over_the_file_which_lies_over_the_defaults(write):
    path = write("[indicators]\nwindow = 3.0\nevery = 5\n")
    settings = load_settings(path, {"indicators": {"window": 4.0}, "stream": {}, "record": {"path": "x.h5"}})
    assert settings.indicators == IndicatorSettings(window=4.0, every=5)
    assert settings.record.path == "x.h5"
    assert settings.stream == Settings().stream


def test_a_wrong_override_is_told_by_its_key():
    told = refusal(None, {"indicators": {"window": -2.0}})
    assert told == "indicators.window: Window (s) must be greater than 0"


@pytest.mark.parametrize(
    ("section", "values", "message"),
    [
        (IndicatorSettings, {"window": -2.0}, "window: Window (s) must be greater than 0"),
        (
            IndicatorSettings,
            {"window": "x", "windwo": 1.0},
            "window: Window (s) must be a number; windwo: there is no such setting",
        ),
        (ReliabilitySettings, {"channel": "a"}, "channels and ensembles go in pairs: there are 1 and 0"),
        (Settings, {"indicators": {"window": -2.0}}, "indicators.window: Window (s) must be greater than 0"),
    ],
)
def test_a_wrong_value_in_python_is_one_line_in_the_words_of_the_command_line(section, values, message):
    with pytest.raises(SettingsError) as refused:
        section(**values)
    assert str(refused.value).startswith(message)
    assert "\n" not in str(refused.value)
    # forms assign the errors to their fields, also those of a section within a document
    with pytest.raises(ValidationError):
        section.model_validate(values)


def test_an_override_may_put_a_wrong_file_right(write):
    path = write("[indicators]\nwindow = -3.0\n")
    assert load_settings(path, {"indicators": {"window": 4.0}}).indicators.window == 4.0


def test_overrides_are_left_alone(write):
    overrides = {"indicators": {"window": 4.0}}
    load_settings(None, overrides)
    load_settings(write("[indicators]\nevery = 2\n"), overrides)
    assert overrides == {"indicators": {"window": 4.0}}


def test_settings_are_frozen():
    with pytest.raises(ValidationError):
        Settings().indicators.window = 3.0


def test_a_wrong_word_in_a_list_is_named_and_nothing_else():
    with pytest.raises(SettingsError) as refused:
        load_settings(None, {"indicators": {"measures": ["tea"], "bandpass": [20.0, 1.0]}})
    assert str(refused.value).count("measures") == 1
    assert str(refused.value).endswith("indicators.bandpass: Band-pass filter (Hz) must rise from low to high")
    with pytest.raises(SettingsError, match="measures: choose at least one"):
        load_settings(None, {"indicators": {"measures": []}})


def test_a_model_to_judge_is_read_from_the_file(write):
    path = write(
        "[reliability]\nchannel = 'deflection'\nensemble = ['beam.h5']\ntolerance = '16%'\nstart = -0.5\n"
        "[reliability.limits]\naccumulated = [0.7, 0.85]\nfirst_passage = [0.05, 0.05]\n"
    )
    reliability = load_settings(path, {}).reliability
    assert (reliability.channel, reliability.ensemble) == (("deflection",), ("beam.h5",))
    assert (reliability.tolerance, reliability.start, reliability.policy) == ("16%", -0.5, None)
    limits = reliability.limits
    assert (limits.accumulated, limits.first_passage, limits.windowed) == ((0.7, 0.85), (0.05, 0.05), None)
    # an option of the command line goes before the file
    changed = load_settings(path, {"reliability": {"tolerance": 0.02}}).reliability
    assert (changed.tolerance, changed.channel) == (0.02, ("deflection",))
    # and of a table within a section it replaces what it names
    changed = load_settings(path, {"reliability": {"limits": {"accumulated": (0.1, 0.2), "windowed": (0.3, 0.4)}}})
    limits = changed.reliability.limits
    assert (limits.accumulated, limits.windowed, limits.first_passage) == ((0.1, 0.2), (0.3, 0.4), (0.05, 0.05))
    assert limits.instantaneous is None


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        (
            "channel = ['a', 'b']\nensemble = 'x.h5'",
            "reliability: channels and ensembles go in pairs: there are 2 and 1",
        ),
        ("ensemble = 'x.h5'", "reliability: channels and ensembles go in pairs: there are 0 and 1"),
        (
            "tolerance = '8%'\nafter = 1.0",
            "reliability: after, tolerance without a model: give channel and ensemble too",
        ),
        (
            "limits = {accumulated = [0.9, 0.7]}",
            "reliability.limits.accumulated: Accumulated limits must be [reject below, accept from]",
        ),
        ("limits = {accumulated = [0.9, 1.1]}", "reliability.limits.accumulated.1: "),
        ("limits = {accumulated = 0.9}", "reliability.limits.accumulated: "),
        ("limits = {late = [0.1, 0.2]}", "reliability.limits.late: there is no such setting"),
        ("policy = 'some'", "reliability.policy: "),
        ("reference = 0.0", "reliability.reference: "),
        ("start = inf", "reliability.start: "),
        ("shift = nan", "reliability.shift: "),
        ("window = 1e9", "reliability.window: "),
        ("after = -1.0", "reliability.after: "),
        ("channels = 'a'", "reliability.channels: there is no such setting"),
    ],
)
def test_models_that_cannot_be_judged(write, keys, told):
    assert told in refusal(write(f"[reliability]\n{keys}\n"))


def test_a_table_over_what_is_none_replaces_it(write):
    path = write("[reliability]\nchannel = 'a'\nensemble = 'x.h5'\nlimits = 3\n")
    assert "reliability.limits: " in refusal(path)
    limits = load_settings(path, {"reliability": {"limits": {"windowed": (0.3, 0.4)}}}).reliability.limits
    assert (limits.windowed, limits.accumulated) == ((0.3, 0.4), None)


def test_a_wrong_limit_is_told_by_its_place_and_value(write):
    limits = ('value = "fdb_delay"\nwarn = 1\n', 'value = "nrmse"\n', "warn = 1\n")
    text = "".join(f"[[alarms.limit]]\n{limit}" for limit in limits)
    with pytest.raises(SettingsError) as caught:
        load_settings(write(text), {})
    neither, missing = caught.value.problems
    assert "alarms.limit 2 (nrmse): neither warn nor trip" in neither
    assert "alarms.limit 3: value: field required" in missing


def test_the_guide_has_the_settings_as_they_are():
    text = GUIDE.read_text(encoding="utf-8")
    assert renewed(text) == text, "run python -m docs.settings to renew the tables of docs/guide.md"


def test_options_are_said_as_the_settings():
    parser = argparse.ArgumentParser()
    add_service_options(parser)
    said = " ".join(parser.format_help().split())
    assert "length of the sliding window: 2.5 cycles" in said and "(s; default: 2)" in said
    assert "--publish URL endpoint of the results (default: tcp://127.0.0.1:5556)" in said
    given = given_settings(
        parser.parse_args(["--window", "3", "--every", "5", "--band", "0.5", "20", "--rate", "100"])
    )
    assert given == {"indicators": {"window": 3.0, "every": 5, "band": [0.5, 20.0]}, "stream": {"sample_rate": 100.0}}


def test_a_file_after_a_list_of_measures_is_the_file(write):
    path = write("[indicators]\nwindow = 3\n")
    parser = argparse.ArgumentParser()
    add_service_options(parser)
    settings = service_settings(parser.parse_args(["--measures", "fdb,paei", str(path)]))
    assert settings.indicators == IndicatorSettings(window=3.0, measures=("fdb", "paei"))


UNCOMPILED = """
import sys
import numpy as np
from monitor.config import MEASURES, IndicatorSettings
from monitor.indicators.tracking_pass import create_indicators
from monitor.indicators.transfer_function import TransferFunction

rate = 100.0
for n in map(int, sys.argv[1:]):
    rng = np.random.default_rng(n)
    # of fewer samples some refuse a window
    refuse = (("fdb", "paei") if n < 32 else ()) + (("broadband", "fei") if n < 24 else ())
    measures = [measure for measure in MEASURES if not measure.startswith(refuse)]
    for band in (None, (0.5, 40.0)):
        for lag in (1, n // 4, -n // 4):
            x_c = rng.normal(size=5 * n)
            x_m = np.roll(x_c, lag) + 0.1 * rng.normal(size=5 * n)
            x_c[3] = np.nan
            settings = IndicatorSettings(measures=measures, window=n / rate, band=band, max_delay=10.0)
            transfer = TransferFunction(rate, n / rate, band=band)
            for indicator in (*create_indicators(settings, rate, 1, with_force=True), transfer):
                indicator.update_block(x_c, x_m, x_m if indicator.needs_force else None)
    print(n)
"""


RELIABILITY = """
import sys
import numpy as np
from monitor.reliability.ensemble import Ensemble, sort_ensemble
from monitor.reliability.joint import JointReliability
from monitor.reliability.site import SiteReliability
from monitor.reliability.tolerance import Tolerance, TolerancePolicy

instants = np.arange(7)
for m in map(int, sys.argv[1:]):
    rng = np.random.default_rng(m)
    sound = sort_ensemble(0.1 * instants, np.round(rng.normal(size=(7, m)), 1))
    # in a damaged file realizations are named that are not there; the ends of each instant are looked at before
    order = sound.order.copy()
    order[:, 1:-1] = rng.integers(2 * m, 2**32, size=(7, max(m - 2, 0)))
    damaged = Ensemble(sound.time, sound.response, order)
    for n in (1, 3):
        measured = np.round(rng.normal(size=(7, n)), 1)
        both = [measured, measured[:, :1]]
        for size in (1e-9, 0.5, 100.0):
            tolerance = Tolerance(TolerancePolicy.ABSOLUTE, size)
            for ensemble in (sound, damaged):
                for window in (0, 1, 3, 7, 8):
                    SiteReliability(ensemble, tolerance, n, window).update(instants, measured)
                JointReliability([ensemble] * 2, [tolerance] * 2, [n, 1]).update(instants, both)
    print(m)
"""


def run_uncompiled(code, sizes):
    # in one process, which is slower to start than to run
    words = [str(size) for size in sizes]
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    command = [sys.executable, "-W", "ignore", "-c", code, *words]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=240)
    assert done.stdout.split() == words, done.stderr


@pytest.mark.slow
def test_short_windows_and_wide_bands():
    run_uncompiled(UNCOMPILED, (16, 17, 18, 25, 32, 33, 34, 50))


def test_reliability_of_few_realizations_and_of_a_damaged_order():
    run_uncompiled(RELIABILITY, (1, 2, 3, 40))
