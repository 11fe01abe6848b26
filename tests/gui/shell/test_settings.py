"""Settings are kept, come back, and a damaged store is told and left behind."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import QSettings

from gui.model.alarms import DisplayLimit
from gui.settings.storage import (
    DisplayLimitSettings,
    WindowSettings,
    load_window_settings,
    read_service_settings,
    save_window_settings,
    service_settings_text,
    write_service_settings,
)
from monitor.config import IndicatorSettings, Settings, SettingsError, load_settings
from monitor.system.files import WriteError


@pytest.fixture
def store(tmp_path):
    return QSettings(str(tmp_path / "store.ini"), QSettings.Format.IniFormat)


def test_what_is_kept_comes_back(store, tmp_path):
    chosen = WindowSettings(theme="dark", span=12.5, operator="Jörg b", limits=DisplayLimitSettings(delay_trip=7.25))
    save_window_settings(store, chosen)
    store.sync()
    again = QSettings(str(tmp_path / "store.ini"), QSettings.Format.IniFormat)
    assert load_window_settings(again) == (chosen, "")


def test_a_first_start_has_the_defaults_and_says_nothing(store):
    assert load_window_settings(store) == (WindowSettings(), "")
    assert WindowSettings().limits.lines == {q: DisplayLimit(q) for q in ("delay", "phase", "ratio")}


@pytest.mark.parametrize("junk", ["{", "[]", "null", "12", "\x00", "", "nonsense", "[" * 100_000])
def test_a_damaged_store_is_told_in_a_line(store, junk):
    store.setValue("window/settings", junk)
    settings, told = load_window_settings(store)
    assert settings == WindowSettings()
    assert "damaged" in told and "\n" not in told


def test_what_is_sound_of_a_damaged_store_is_kept(store):
    document = json.loads(WindowSettings(theme="dark", span=5.0).model_dump_json())
    document |= {"frame_rate": 1000, "of_the_future": True, "limits": {"delay_warn": -1}}
    store.setValue("window/settings", json.dumps(document))
    settings, told = load_window_settings(store)
    assert (settings.theme, settings.span, settings.frame_rate) == ("dark", 5.0, 25)
    assert settings.limits == DisplayLimitSettings()
    assert told.endswith("frame_rate, limits, of_the_future")


def test_limits_become_lines():
    lines = DisplayLimitSettings(delay_warn=2.0, delay_trip=5.0, phase_warn=None, phase_trip=None).lines
    assert (lines["delay"].warn, lines["delay"].trip) == (2.0, 5.0)
    assert (lines["phase"].warn, lines["phase"].trip) == (math.inf, math.inf)
    with pytest.raises(SettingsError, match="delay: the limit for too large"):
        DisplayLimitSettings(delay_warn=5.0, delay_trip=2.0)


_texts = st.text(st.characters(codec="utf-8"), max_size=12)
_positive = st.floats(1e-6, 1e4)
_band = st.tuples(st.floats(0.0, 1.0), st.floats(1.5, 100.0))
_documents = st.fixed_dictionaries(
    {},
    optional={
        "stream": st.fixed_dictionaries(
            {}, optional={"connect": st.lists(_texts, max_size=3), "rig": _texts, "stale_after": _positive}
        ),
        "indicators": st.fixed_dictionaries(
            {},
            optional={
                "measures": st.lists(st.sampled_from(["fdb", "paei", "ti"]), min_size=1, unique=True),
                "window": _positive,
                "every": st.integers(1, 1 << 30),
                "band": _band,
                "image_correction": st.booleans(),
                "taper": st.sampled_from(["hann", "blackman"]),
                "delay_of": st.sampled_from(["motion", "tone"]),
            },
        ),
        "record": st.fixed_dictionaries({}, optional={"path": _texts, "flush_interval": st.floats(0.01, 1.0)}),
        "reliability": st.fixed_dictionaries(
            {
                "channel": st.just("a"),
                "ensemble": _texts.filter(bool),
                "tolerance": st.one_of(_positive, st.just("8%")),
            },
            optional={"limits": st.just({"accumulated": (0.25, 0.5)}), "after": _positive},
        ),
    },
)


@given(_documents)
def test_a_settings_file_says_what_was_set(tmp_path_factory, document):
    settings = Settings.model_validate(document)
    path = tmp_path_factory.mktemp("settings") / "service.toml"
    write_service_settings(settings, path)
    assert load_settings(path, {}) == settings
    assert read_service_settings(path) == (settings, "")


def test_the_default_settings_are_an_empty_file(tmp_path):
    assert [
        line for line in service_settings_text(Settings()).splitlines() if line and not line.startswith("#")
    ] == []
    assert read_service_settings(tmp_path / "none.toml") == (Settings(), "")


def test_a_broken_file_is_told_and_left_alone(tmp_path):
    path = tmp_path / "service.toml"
    path.write_text("[indicators]\nwindow = -1\n")
    settings, told = read_service_settings(path)
    assert settings == Settings()
    assert "indicators.window" in told and "\n" not in told
    assert path.read_text().startswith("[indicators]")


def test_a_file_that_cannot_be_written_is_one_line(tmp_path):
    with pytest.raises(WriteError, match=r"cannot be written \(No such file or directory\)"):
        write_service_settings(Settings(indicators=IndicatorSettings(window=1.0)), tmp_path / "no" / "service.toml")
