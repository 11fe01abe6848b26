"""Settings: as they are stored, and in the dialog."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import QPoint, QPointF, QSettings, Qt
from PySide6.QtGui import QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QPushButton

from gui.model.alarms import DisplayLimit
from gui.settings.dialog import SERVICE_SECTIONS, WINDOW_SECTIONS, SettingsDialog
from gui.settings.storage import (
    DisplayLimitSettings,
    WindowSettings,
    load_window_settings,
    read_service_settings,
    save_window_settings,
    service_settings_text,
    write_service_settings,
)
from monitor.config import (
    AlarmSettings,
    IndicatorSettings,
    MqttSettings,
    RecordSettings,
    ReliabilityLimits,
    ReliabilitySettings,
    ResultSettings,
    Settings,
    SettingsError,
    StreamSettings,
    fields_of,
    load_settings,
)
from monitor.config import LimitSettings as AlarmLimit
from monitor.system.files import WriteError

CHOSEN = Settings(
    stream=StreamSettings(connect=("tcp://rig:5555", "ipc:///tmp/rig"), sample_rate=1024.0),
    indicators=IndicatorSettings(
        measures=("fdb", "ti"), window=1.5, every=10, band=(0.25, 30.0), taper="blackman", noise_correction=False
    ),
    results=ResultSettings(publish="tcp://127.0.0.1:6000", signals=False),
    record=RecordSettings(path="runs/", flush_interval=0.25),
    reliability=ReliabilitySettings(
        channel=("deflection", "rotation"),
        ensemble=("a b.h5", "c,d.npz"),
        tolerance="16%",
        policy="floored",
        reference=0.4,
        limits=ReliabilityLimits(accumulated=(0.7, 0.85)),
    ),
)


WINDOW = WindowSettings(theme="dark", frame_rate=30, span=12.5, limits=DisplayLimitSettings(phase_warn=5.0))


@pytest.fixture
def dialog(qtbot):
    dialog = SettingsDialog()
    qtbot.addWidget(dialog)
    dialog.present(WindowSettings(), Settings())
    return dialog


def _type(dialog, page, key, text, part="line"):
    line = getattr(dialog.pages[page].rows[key].editor, part)
    line.selectAll()
    QTest.keyClick(line, Qt.Key.Key_Delete)
    QTest.keyClicks(line, text)


def _problem(dialog, page, key):
    return dialog.pages[page].rows[key].problem.text()


@pytest.mark.parametrize("section", [*WINDOW_SECTIONS, *SERVICE_SECTIONS], ids=lambda s: s.key)
def test_every_setting_has_a_label_and_a_sentence(section):
    fields = list(fields_of(section.model))
    elsewhere = {"limits"} if section.key == "window" else {"limit"} if section.key == "alarms" else set()
    assert {field.path[0] for field in fields} == set(section.model.model_fields) - elsewhere
    for field in fields:
        assert field.description.endswith(".") and field.info.title
        if field.default is None or field.default in ("", ()):
            assert field.empty, field.key


def test_all_sections_of_a_service_have_a_page():
    first = ["stream", "indicators", "reliability", "results", "record"]
    assert [section.key for section in SERVICE_SECTIONS][: len(first)] == first
    assert {section.key for section in SERVICE_SECTIONS} == set(Settings.model_fields)


def test_what_is_shown_is_given_back(dialog, qtbot):
    dialog.present(WINDOW, CHOSEN)
    assert dialog.n_problems == 0
    with qtbot.waitSignal(dialog.accepted_settings) as agreed:
        QTest.mouseClick(dialog.ok, Qt.MouseButton.LeftButton)
    assert agreed.args == [WINDOW, CHOSEN]
    assert not dialog.isVisible()


def test_limits_of_alarms_have_no_field_and_are_kept(dialog, tmp_path, qtbot):
    limits = (
        AlarmLimit(value="fdb_delay", warn=(-0.02, 0.02), trip=(-0.05, 0.05)),
        AlarmLimit(value="nrmse", trip=0.3),
    )
    given = Settings(alarms=AlarmSettings(limit=limits, disk_warn=5e9), mqtt=MqttSettings(host="broker", tls=False))
    dialog.present(WINDOW, given)
    dialog.pages["alarms"].rows["lost_data"].editor.box.setChecked(False)
    kept = dialog.service_settings
    assert kept.alarms.limit == limits and not kept.alarms.lost_data and kept.alarms.disk_warn == 5e9
    assert kept.mqtt == given.mqtt
    dialog.pages["alarms"].restore_defaults()
    assert dialog.service_settings.alarms == AlarmSettings(limit=limits)
    dialog.export_file(tmp_path / "service.toml")
    assert load_settings(tmp_path / "service.toml", {}).alarms.limit == limits


def test_untouched_settings_are_those_by_default(dialog):
    assert dialog.window_settings == WindowSettings()
    assert dialog.service_settings == Settings()
    # a model that nobody asked for would be missed by the section
    assert dialog.service_settings.reliability.model_fields_set == set()


@pytest.mark.parametrize(
    ("page", "key", "text", "told"),
    [
        ("indicators", "window", "-1", "must be greater than 0"),
        ("indicators", "window", "", "a value is needed"),
        ("indicators", "window", "two", "must be a number"),
        ("indicators", "window", "1e9", "must be less than or equal to 86400"),
        ("indicators", "every", "1.5", "must be a whole number"),
        ("indicators", "every", "0", "greater than or equal to 1"),
        ("indicators", "relative_gate", "1", "must be less than 1"),
        ("window", "frame_rate", "100", "less than or equal to 60"),
        ("window", "memory", "lots", "must be a whole number"),
        ("limits", "delay_warn", "0", "must be greater than 0"),
        ("stream", "connect", "rig", "is not an endpoint"),
        ("stream", "connect", "lsl://table?uid=1", "is no address of an LSL stream"),
        ("stream", "connect", "tcp://rig:5555, tcp://*:1", "no single port"),
        ("results", "publish", "127.0.0.1:5556", "is not an endpoint"),
        ("record", "flush_interval", "0", "must be greater than 0"),
    ],
)
def test_a_wrong_entry_is_told_beside_it_and_holds_ok_back(dialog, page, key, text, told):
    _type(dialog, page, key, text)
    assert told in _problem(dialog, page, key)
    assert not dialog.ok.isEnabled()
    assert dialog.pages[page].section.title in dialog.message.text()
    marked = [item.text() for item in dialog._items.values() if item.text().startswith("▲")]
    assert marked == [f"▲ {dialog.pages[page].section.title}"]
    dialog.pages[page].restore_defaults()
    assert _problem(dialog, page, key) == ""
    assert dialog.ok.isEnabled()
    assert dialog.message.text() == ""


def test_it_is_told_while_typing(dialog):
    line = dialog.pages["indicators"].rows["window"].editor.line
    line.clear()
    told = []
    for letter in "-2":
        QTest.keyClicks(line, letter)
        told.append(bool(_problem(dialog, "indicators", "window")))
    QTest.keyClick(line, Qt.Key.Key_Home)
    QTest.keyClick(line, Qt.Key.Key_Delete)
    assert told == [True, True]
    assert _problem(dialog, "indicators", "window") == ""
    assert dialog.service_settings == Settings()


def test_a_decimal_comma_is_a_point(dialog):
    _type(dialog, "indicators", "window", "1,5")
    assert dialog.service_settings.indicators.window == 1.5


def test_a_band_must_rise_and_be_whole(dialog):
    _type(dialog, "indicators", "band", "30", "low")
    assert "a value is needed" in _problem(dialog, "indicators", "band")
    _type(dialog, "indicators", "band", "0.5", "high")
    assert "must rise" in _problem(dialog, "indicators", "band")
    _type(dialog, "indicators", "band", "0.2", "low")
    assert dialog.service_settings.indicators.band == (0.2, 0.5)
    _type(dialog, "indicators", "band", "", "low")
    _type(dialog, "indicators", "band", "", "high")
    assert dialog.service_settings.indicators.band is None


def test_what_does_not_go_together_is_told_above_the_page(dialog):
    _type(dialog, "reliability", "channel", "deflection, rotation")
    _type(dialog, "reliability", "ensemble", "beam.h5")
    page = dialog.pages["reliability"]
    assert "go in pairs" in page.problem.text()
    assert not dialog.ok.isEnabled()
    _type(dialog, "reliability", "channel", "deflection")
    assert page.problem.text() == ""
    assert dialog.service_settings.reliability.channel == ("deflection",)


def test_limits_of_a_model_are_wrong_where_they_stand(dialog):
    _type(dialog, "reliability", "limits.accumulated", "0.9", "low")
    _type(dialog, "reliability", "limits.accumulated", "0.5", "high")
    assert "the first not above the second" in _problem(dialog, "reliability", "limits.accumulated")
    assert _problem(dialog, "reliability", "limits.windowed") == ""


def test_no_measure_at_all_is_refused(dialog):
    for box in dialog.pages["indicators"].rows["measures"].editor.boxes.values():
        box.setChecked(False)
    assert "choose at least one" in _problem(dialog, "indicators", "measures")


def test_only_the_page_is_restored(dialog):
    dialog.present(WINDOW, CHOSEN)
    page = dialog.pages["indicators"]
    button = next(b for b in page.findChildren(QPushButton) if b.text() == "Restore defaults")
    QTest.mouseClick(button, Qt.MouseButton.LeftButton)
    assert dialog.service_settings == CHOSEN.model_copy(update={"indicators": IndicatorSettings()})
    assert dialog.window_settings == WINDOW


def test_a_setting_is_found_by_its_words(dialog):
    QTest.keyClicks(dialog.search, "taper")
    shown = {
        key: [name for name, row in page.rows.items() if not row.editor.isHidden()]
        for key, page in dialog.pages.items()
    }
    assert {key: names for key, names in shown.items() if names} == {"indicators": ["taper"]}
    assert dialog.stack.currentIndex() == list(dialog.pages).index("indicators")
    dialog.search.clear()
    assert not any(row.editor.isHidden() for page in dialog.pages.values() for row in page.rows.values())


def test_a_problem_of_a_field_that_is_not_found_is_still_counted(dialog):
    _type(dialog, "indicators", "window", "-1")
    QTest.keyClicks(dialog.search, "theme")
    assert dialog.n_problems == 1
    assert not dialog.ok.isEnabled()


def test_a_file_is_exported_and_imported(dialog, tmp_path):
    dialog.present(WINDOW, CHOSEN)
    path = tmp_path / "lab.toml"
    dialog.export_file(path)
    assert load_settings(path, {}) == CHOSEN
    dialog.present(WINDOW, Settings())
    dialog.import_file(path)
    assert dialog.service_settings == CHOSEN


def test_a_file_that_is_wrong_changes_nothing_and_is_told(dialog, tmp_path):
    path = tmp_path / "lab.toml"
    path.write_text("[indicators]\nwindow = 'long'\n")
    dialog.import_file(path)
    assert "indicators.window" in dialog.message.text()
    assert dialog.service_settings == Settings()
    dialog.export_file(tmp_path / "no" / "lab.toml")
    assert "cannot be written" in dialog.message.text()


def test_cancel_applies_nothing(dialog):
    agreed = []
    dialog.accepted_settings.connect(lambda *settings: agreed.append(settings))
    _type(dialog, "indicators", "window", "5")
    QTest.keyClick(dialog, Qt.Key.Key_Escape)
    assert agreed == []
    assert not dialog.isVisible()
    assert not dialog.isModal()


def test_enter_in_a_field_does_not_close_the_dialog(dialog):
    agreed = []
    dialog.accepted_settings.connect(lambda *settings: agreed.append(settings))
    QTest.keyClick(dialog.search, Qt.Key.Key_Return)
    QTest.keyClick(dialog.pages["indicators"].rows["window"].editor.line, Qt.Key.Key_Return)
    assert dialog.isVisible()
    assert agreed == []
    dialog.ok.setFocus()
    QTest.keyClick(dialog.ok, Qt.Key.Key_Return)
    assert len(agreed) == 1


def test_a_wheel_over_a_choice_scrolls_and_chooses_nothing(dialog, qtbot):
    box = dialog.pages["window"].rows["theme"].editor.box
    place = box.rect().center()
    turned = QWheelEvent(
        QPointF(place),
        QPointF(box.mapToGlobal(place)),
        QPoint(0, 0),
        QPoint(0, -120),
        Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.NoModifier,
        Qt.ScrollPhase.NoScrollPhase,
        False,
    )
    QApplication.sendEvent(box, turned)
    assert box.currentIndex() == 0
    assert not turned.isAccepted()


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
