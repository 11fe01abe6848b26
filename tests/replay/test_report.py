"""The report: its words against independent values, its figures' geometry, the page's text and its refusals."""

from __future__ import annotations

import errno
import os
import re
import signal
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from monitor.__main__ import main
from monitor.config import IndicatorSettings, load_settings
from monitor.messages.blocks import (
    Channel,
    Column,
    Event,
    EventKind,
    ResultBlock,
    ResultStream,
    Role,
    SignalBlock,
    Stream,
)
from monitor.recording import RunWriter
from replay.assessment import assess
from replay.assessment.record_survey import read_signals
from replay.assessment.warnings import WORST_FIRST
from replay.assessment.wording import unresolved_transfer
from replay.formats import ArrayRecording, open_recording
from replay.formats.run_file import RunRecording
from replay.report.contents import channel_quality, clock_rate
from replay.report.figures import subspace_figure
from replay.report.svg import Curve, Row, envelope, rows_figure
from replay.report.tables import WARNING_WORDS, indicators_table, setting_tables, shown_length
from replay.report.windows import best_and_worst, damping_words, worst_words
from tests.mistakes import refusal_of
from tests.replay.exported_run import record
from tests.replay.report_runs import HOSTILE, NOTE, STEP, record_run

pytest.importorskip("jinja2")
RATE, FREQUENCY = 512.0, 1.0


class Page(HTMLParser):
    """Tags with their attributes, and the text outside style and script."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self._silent = False
        self.feed(text)

    def handle_starttag(self, tag, attrs) -> None:
        self.tags.append((tag, dict(attrs)))
        self._silent = tag in ("style", "script")

    def handle_endtag(self, tag) -> None:
        self._silent = False

    def handle_data(self, data) -> None:
        if not self._silent:
            self.words.append(data)


@pytest.fixture(scope="module")
def pages(tmp_path_factory) -> dict[str, Path]:
    folder, found = tmp_path_factory.mktemp("reports"), {}
    for name, bad in (("demo", False), ("bad", True)):
        run = record_run(folder / f"{name}.h5", bad=bad)
        found[name] = folder / f"{name}.html"
        assert main(["report", str(run), "-o", str(found[name])]) == 0
    return found


SHARED = IndicatorSettings(window=2.0, share=1.0)


def late_at(early: float, late: float, start: float, stop: float, ratio: float = 1.0) -> ArrayRecording:
    """A sine whose measured signal is late by `early`, and between two instants by `late` [s]."""
    t = np.arange(round(40.0 * RATE)) / RATE
    delay = np.where((t >= start) & (t < stop), late, early)
    w = 2.0 * np.pi * FREQUENCY
    samples = np.column_stack([np.sin(w * t), np.sin(w * (t - delay)) / ratio])
    channels = Channel("c", Role.COMMAND, "mm", "a"), Channel("m", Role.MEASURED, "mm", "a")
    return ArrayRecording(Stream("rig", 0, RATE, channels), samples)


def test_the_worst_window_is_where_the_delay_is_largest_and_its_damping_is_that_of_the_sine() -> None:
    assessment = assess(late_at(0.004, 0.040, 20.0, 26.0), SHARED)
    found = assessment.pairs[0]
    time = assessment.series.time
    extremes = best_and_worst(found, assessment, time)
    assert extremes is not None
    best, worst = extremes
    # one that lies within the six seconds
    assert worst.start > 20.0
    assert worst.stop < 26.05
    assert best.stop <= 20.05 or best.start >= 25.95
    assert worst.delay == pytest.approx(0.040, abs=1e-4)
    # |exp(-i w tau) - 1| of the phasors, and half the tangent of the phase where the specimen is all
    assert worst.is_nrmse
    assert worst.error == pytest.approx(2.0 * np.sin(np.pi * FREQUENCY * 0.040), rel=0.01)
    assert worst.added_damping == pytest.approx(-0.5 * np.tan(2.0 * np.pi * FREQUENCY * 0.040), rel=0.01)
    assert "NRMSE 25.1 %, 40.0 ms late, ratio 1.000." in worst_words(found, assessment, worst)
    words = damping_words(found, assessment, worst)
    assert "takes away 13 % of critical" in words
    assert "in the worst window" in words
    assert "the test diverges" in words


def nrmse_by_window(samples: np.ndarray, stops: np.ndarray, window: float) -> np.ndarray:
    """The rms of the error over that of the command, from the samples of the window before each instant."""
    n, found = round(window * RATE), np.full(len(stops), np.nan)
    for row, stop in enumerate(stops):
        last = round(stop * RATE) + 1
        if last >= n:
            c, m = samples[last - n : last].T
            found[row] = np.sqrt(np.mean((m - c) ** 2) / np.mean(c**2))
    return found


def test_the_worst_window_of_a_growing_delay_is_the_one_with_the_largest_error() -> None:
    t = np.arange(round(24.0 * RATE)) / RATE
    delay = 0.005 + np.where(t > 15.0, 0.0017 * (t - 15.0), 0.0)

    def motion(t: np.ndarray) -> np.ndarray:
        return sum(np.sin(2.0 * np.pi * f * t + f) for f in (0.9, 1.7, 2.6, 3.3))

    samples = np.column_stack([motion(t), motion(t - delay)])
    channels = Channel("c", Role.COMMAND, "mm", "a"), Channel("m", Role.MEASURED, "mm", "a")
    assessment = assess(ArrayRecording(Stream("rig", 0, RATE, channels), samples), IndicatorSettings(window=2.0))
    found, time = assessment.pairs[0], assessment.series.time
    extremes = best_and_worst(found, assessment, time)
    assert extremes is not None
    expected = nrmse_by_window(samples, time, 2.0)
    best, worst = extremes
    size = expected * assessment.series.of("a")["fdb_amplitude"]
    assert worst.error == pytest.approx(expected[np.nanargmax(size)], rel=1e-6)
    assert worst.stop == time[np.nanargmax(size)] > 20.0
    assert best.error == pytest.approx(np.nanmin(expected), rel=1e-6)
    words = worst_words(found, assessment, worst)
    assert f"NRMSE {100.0 * worst.error:.3g} %" in words
    assert ("(uncertain)" in words) == (not worst.certain)
    assert "(uncertain)" in worst_words(found, assessment, replace(worst, certain=False))
    assert "its delay is unknown" in worst_words(found, assessment, replace(worst, delay=np.nan))


def test_the_worst_window_is_not_the_quietest_one() -> None:
    """At the end noise is a third of what moves; the delay is largest, and matters, in the strong motion."""
    t = np.arange(round(30.0 * RATE)) / RATE
    size = np.interp(t, [0.0, 20.0, 22.0, 30.0], [1.0, 1.0, 0.04, 0.04])
    delay = np.where((t > 8.0) & (t < 12.0), 0.010, 0.004)
    noise = 0.01 * np.random.default_rng(1).standard_normal(len(t))
    w = 2.0 * np.pi * FREQUENCY
    samples = np.column_stack([size * np.sin(w * t), size * np.sin(w * (t - delay)) + noise])
    recording = late_at(0.0, 0.0, 0.0, 0.0)
    assessment = assess(ArrayRecording(recording.stream, samples), IndicatorSettings(window=2.0))
    found, time = assessment.pairs[0], assessment.series.time
    extremes = best_and_worst(found, assessment, time)
    assert extremes is not None
    assert time[np.nanargmax(assessment.series.of("a")["nrmse"])] > 22.0
    assert 8.0 < extremes[1].start < extremes[1].stop < 12.1


def test_a_constant_delay_is_the_same_throughout_and_has_one_damping() -> None:
    assessment = assess(late_at(0.018, 0.018, 20.0, 26.0), SHARED)
    found = assessment.pairs[0]
    extremes = best_and_worst(found, assessment, assessment.series.time)
    assert extremes is not None
    assert "about the same throughout" in worst_words(found, assessment, extremes[1])
    words = damping_words(found, assessment, extremes[1])
    expected = 50.0 * np.tan(2.0 * np.pi * FREQUENCY * 0.018)
    assert f"takes away {expected:.2g} % of critical, over the record (for an elastic specimen, at" in words
    assert "worst window" not in words


def test_a_command_in_volts_is_the_reason_for_no_damping_though_a_force_was_measured() -> None:
    t = np.arange(round(40.0 * RATE)) / RATE
    measured = np.sin(2.0 * np.pi * FREQUENCY * (t - 0.018))
    samples = np.column_stack([np.sin(2.0 * np.pi * FREQUENCY * t), measured, 3.0 * measured])
    roles = (("c", Role.COMMAND, "V"), ("m", Role.MEASURED, "mm"), ("f", Role.FORCE, "kN"))
    channels = tuple(Channel(name, role, unit, "a") for name, role, unit in roles)
    assessment = assess(ArrayRecording(Stream("rig", 0, RATE, channels), samples), IndicatorSettings(window=2.0))
    words = damping_words(assessment.pairs[0], assessment, None)
    assert "the command, in V, is not a displacement" in words
    assert "or a force" not in words


def test_no_motion_has_no_worst_window() -> None:
    channels = Channel("c", Role.COMMAND, "mm", "a"), Channel("m", Role.MEASURED, "mm", "a")
    recording = ArrayRecording(Stream("rig", 0, RATE, channels), np.zeros((8192, 2)))
    assessment = assess(recording, SHARED)
    assert best_and_worst(assessment.pairs[0], assessment, assessment.series.time) is None
    assert "unknown" in worst_words(assessment.pairs[0], assessment, None)
    assert "unknown" in damping_words(assessment.pairs[0], assessment, None)


def test_the_facts_have_the_start_and_the_outcome(pages) -> None:
    words = "".join(Page(pages["bad"].read_text("utf-8")).words)
    assert re.search(r"start\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC", words)
    assert f"outcome{open_recording(pages['bad'].with_suffix('.h5')).outcome}window" in words


def test_quality_of_a_channel_that_is_quantised_clipped_and_not_finite() -> None:
    x = np.round(np.sin(np.arange(5000) / 50.0) / 0.02) * 0.02
    x = np.minimum(x, 0.503)
    x[7] = np.nan
    found = channel_quality(Channel("m", Role.MEASURED, "mm", "a"), x)
    assert (found.low, found.high, found.not_finite) == (-1.0, 0.503, 1)
    assert found.step == pytest.approx(0.02)
    assert found.at_high == np.sum(x == 0.503)
    assert found.at_low == np.sum(x == -1.0)
    smooth = channel_quality(Channel("m", Role.MEASURED), np.random.default_rng(1).normal(size=500))
    assert np.isnan(smooth.step)


def test_the_clock_of_a_run(tmp_path) -> None:
    run = record_run(tmp_path / "run.h5", duration=4.0)
    assert clock_rate(open_recording(run)) == pytest.approx(1024.0, rel=1e-6)


def test_an_envelope_keeps_every_extreme() -> None:
    values = np.random.default_rng(2).normal(size=10_000)
    values[5000:5200] = np.nan
    px = np.linspace(0.0, 600.0, len(values))
    x, low, high = envelope(px, values, 100, 600.0)
    assert (np.nanmin(low), np.nanmax(high)) == (np.nanmin(values), np.nanmax(values))
    assert len(x) == 100
    assert np.isnan(low[51])
    # column 10 is of the values from 60 to 66
    inside = values[(px >= 60.0) & (px < 66.0)]
    assert (low[10], high[10]) == (inside.min(), inside.max())


def test_a_curve_is_where_its_values_are() -> None:
    x = np.linspace(0.0, 10.0, 11)
    svg = rows_figure("t", "d", x, "time [s]", [Row("r", "mm", (Curve("c", x.copy(), "first"),))], (), 600)
    low, high = (float(re.search(f"data-{end}='([^']+)'", svg).group(1)) for end in ("low", "high"))
    start, stop = (float(re.search(f"data-{end}='([^']+)'", svg).group(1)) for end in ("from", "to"))
    width, row = (float(re.search(f"data-{end}='([^']+)'", svg).group(1)) for end in ("width", "row"))
    path = re.search("data-name='c' d='M([^']+)'", svg).group(1)
    points = np.array([point.split() for point in path.split("L")], float)
    np.testing.assert_allclose(start + points[:, 0] * (stop - start) / width, x, atol=0.02)
    np.testing.assert_allclose(high - points[:, 1] * (high - low) / row, x, atol=0.02)


def test_the_page_loads_nothing_and_escapes_every_text(pages) -> None:
    for path in pages.values():
        text = path.read_text("utf-8")
        page = Page(text)
        assert not any(
            name in ("src", "srcset", "data", "action") for _, attributes in page.tags for name in attributes
        )
        links = [attributes["href"] for _, attributes in page.tags if "href" in attributes]
        assert all(link.startswith("#") for link in links)
        assert "http:" not in text.replace("http-equiv", "").replace("http://www.w3.org/2000/svg", "")
        assert "https:" not in text
        assert "@import" not in text
        assert "url(" not in text
        assert sum(tag == "script" for tag, _ in page.tags) == 1
        assert "default-src 'none'" in text
    bad = Page(pages["bad"].read_text("utf-8"))
    assert HOSTILE in "".join(bad.words)
    assert NOTE in "".join(bad.words)
    assert not any(tag == "b" for tag, _ in bad.tags)


def test_the_headings_are_in_order_and_tables_and_figures_are_named(pages) -> None:
    page = Page(pages["bad"].read_text("utf-8"))
    levels = [int(tag[1]) for tag, _ in page.tags if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(below - above <= 1 for above, below in pairwise(levels))
    assert all(attributes.get("scope") in ("col", "row") for tag, attributes in page.tags if tag == "th")
    pictures = [a for tag, a in page.tags if tag == "svg" and "viewbox" in a and "aria-hidden" not in a]
    assert len(pictures) >= 9
    assert all(a["role"] == "img" and len(a["aria-label"]) > 30 for a in pictures)
    assert sum(tag == "caption" for tag, _ in page.tags) == sum(tag == "table" for tag, _ in page.tags)


def test_a_bad_run_reads_well(pages) -> None:
    words = "".join(Page(pages["bad"].read_text("utf-8")).words)
    assert "512 samples (0.5 s) are missing in 1 gap" in words
    assert f"{STEP:.3g}" in words
    assert "lost samples512 (1.25 %) in 1 gap" in words.replace("\n", "")
    assert "■ trip" in words
    assert "▲ warning" in words
    assert "20.000" in words
    assert not re.search(r"\bnan\b", words.lower())


def test_colours_have_contrast() -> None:
    from importlib.resources import files

    style = files("replay.report").joinpath("assets/report.css").read_text("utf-8")
    blocks = re.findall(r":root\{([^}]*)\}", style)
    assert len(blocks) == 3
    for block in blocks:
        colours = dict(re.findall(r"--(\w+):(#[0-9a-f]+)", block.replace("\n", "")))
        for name in ("text", "muted", "info", "warn", "bad", "first", "second", "third"):
            for ground in ("base", "window") if name == "text" else ("base",):
                assert contrast(colours[name], colours[ground]) >= 4.5, (name, ground)


def contrast(one: str, other: str) -> float:
    """Return the contrast of two colours by WCAG 2."""
    light = []
    for colour in (one, other):
        digits = colour[1:] if len(colour) == 7 else "".join(2 * c for c in colour[1:])
        parts = np.array([int(digits[i : i + 2], 16) / 255.0 for i in (0, 2, 4)])
        linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
        light.append(float(linear @ [0.2126, 0.7152, 0.0722]))
    return (max(light) + 0.05) / (min(light) + 0.05)


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["none.csv"], "none.csv: no such file or directory"),
        (["FILE", "-o", "FOLDER/out.pdf"], "write"),
        (["FILE", "-o", "FOLDER/out.txt"], "give it the ending .html"),
        (["FILE", "-o", "FOLDER/none/out.html"], "cannot be written (No such file or directory)"),
        (["FILE", "-o", "FOLDER/there.html"], "exists: give another name with -o OUT, or --overwrite"),
        (["FOLDER/prose.csv"], "no rows of numbers"),
    ],
)
def test_what_cannot_be_reported_is_one_line_and_leaves_nothing(tmp_path, capsys, words, error) -> None:
    t = np.arange(2000) / RATE
    table = tmp_path / "record.csv"
    np.savetxt(table, np.column_stack([t, np.sin(t), np.sin(t - 0.1)]), delimiter=",", header="t,command,measured")
    (tmp_path / "there.html").write_text("mine")
    (tmp_path / "prose.csv").write_text("no numbers\n")
    before = sorted(tmp_path.iterdir())
    words = [word.replace("FILE", str(table)).replace("FOLDER", str(tmp_path)) for word in words]
    assert error in refusal_of(capsys, "report", *words)
    assert sorted(tmp_path.iterdir()) == before
    assert (tmp_path / "there.html").read_text() == "mine"


@pytest.mark.parametrize("command", [["report"], ["compare", "good.h5"]])
def test_of_a_recording_that_becomes_unreadable_its_name_is_given(tmp_path, capsys, monkeypatch, command) -> None:
    monkeypatch.chdir(tmp_path)
    record_run(Path("good.h5"), duration=8.0)
    Path("gone.h5").write_bytes(Path("good.h5").read_bytes())
    blocks = RunRecording.blocks

    def unreadable(self, *arguments):
        if self._path.name == "gone.h5":
            raise OSError(errno.EIO, "Can't read data (file read failed: time = today\n, error message = 'I/O')")
        return blocks(self, *arguments)

    monkeypatch.setattr(RunRecording, "blocks", unreadable)
    before = sorted(tmp_path.iterdir())
    error = "gone.h5: can't read data (file read failed: time = today , error message = 'i/o')"
    assert refusal_of(capsys, *command, "gone.h5", "-o", "page.html") == error
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("command", [["report"], ["compare", "good.h5"]])
def test_a_stop_leaves_the_page_of_before(tmp_path, capsys, monkeypatch, command, number) -> None:
    monkeypatch.chdir(tmp_path)
    record_run(Path("good.h5"), duration=8.0)
    Path("page.html").write_text("the previous page")
    before = sorted(tmp_path.iterdir())
    monkeypatch.setattr(RunRecording, "blocks", lambda *_: os.kill(os.getpid(), number))
    assert main([*command, "good.h5", "-o", "page.html", "--overwrite"]) == 130
    assert capsys.readouterr().err == f"synchroscope {command[0]}: interrupted; nothing was written\n"
    assert sorted(tmp_path.iterdir()) == before and Path("page.html").read_text() == "the previous page"


def test_many_actuators_make_a_page_of_some_megabytes(tmp_path, capsys) -> None:
    t, n = np.arange(6000) / 256.0, 24
    channels, samples = [], []
    for i in range(n):
        channels += [Channel(f"{i}.c", Role.COMMAND, "mm", f"{i}"), Channel(f"{i}.m", Role.MEASURED, "mm", f"{i}")]
        samples += [np.sin(2 * np.pi * t), np.sin(2 * np.pi * (t - 0.002 * i))]
    from replay.report import write_report

    recording = ArrayRecording(Stream("rig", 0, 256.0, tuple(channels)), np.column_stack(samples))
    source = tmp_path / "record.bin"
    source.write_bytes(b"")
    done = write_report(source, recording, tmp_path / "out.html", {"window": 2.0})
    assert done.lead[0].startswith(f"Worst: {n - 1}, delay 46.0 ms")
    assert done.size / n < 150e3
    assert (
        Page(done.path.read_text("utf-8")).tags.count(
            ("section", {"class": "actuator", "id": "actuator-24", "aria-labelledby": "name-24"})
        )
        == 1
    )


def test_recorded_reliability_is_drawn_and_its_last_value_is_in_words(tmp_path) -> None:
    run, rate = tmp_path / "run.h5", 256.0
    channels = Channel("a.c", Role.COMMAND, "mm", "a"), Channel("a.m", Role.MEASURED, "mm", "a")
    t = np.arange(2560) / rate
    samples = np.column_stack([np.sin(6.0 * t), np.sin(6.0 * (t - 0.02))])
    columns = Column("reliability_accumulated", "1", "a.m"), Column("reliability_accumulated_se", "1", "a.m")
    writer = RunWriter(run, {})
    writer.signals(SignalBlock(Stream("rig", 1, rate, channels), 0, 0.0, samples))
    falling = np.linspace(1.0, 0.25, 256)
    values = np.column_stack([falling, np.full(256, 0.01)])
    writer.results(ResultBlock(ResultStream("rig", 1, rate, 10, columns), 0, 0.0, values))
    writer.close()
    assert main(["report", str(run)]) == 0
    page = Page((tmp_path / "run.html").read_text("utf-8"))
    assert "Model reliability" in "".join(page.words)
    labels = [
        attributes["aria-label"] for tag, attributes in page.tags if tag == "svg" and "aria-label" in attributes
    ]
    assert "Model reliability of a.m. accumulated: 0.250 at the end" in labels


def test_a_run_with_reliability_alone_is_reported(tmp_path, capsys) -> None:
    """A sensor without a command: accumulated from 1 to 0.25 in 9.96 s, and rejected when it is below 0.5."""
    run, rate = tmp_path / "run.h5", 256.0
    names = "reliability_accumulated", "reliability_accumulated_se", "reliability_decision"
    columns = tuple(Column(name, "1", "drift") for name in names)
    stream = Stream("rig", 1, rate, (Channel("drift", Role.AUXILIARY, "mm"),))
    writer = RunWriter(run, {"reliability": {"tolerance": 0.1}})
    writer.signals(SignalBlock(stream, 0, 0.0, np.sin(6.0 * np.arange(2560)[:, None] / rate)))
    falling = np.linspace(1.0, 0.25, 256)
    values = np.column_stack([falling, np.full(256, 0.01), np.where(falling < 0.5, -1.0, 0.0)])
    writer.results(ResultBlock(ResultStream("rig", 1, rate, 10, columns), 0, 0.0, values))
    writer.event(Event(EventKind.NOTE, 5.0, 1280, 0, "tightened"))
    writer.close()
    assert main(["report", str(run)]) == 0
    whole = "Reliability of the model at drift: accumulated 0.250 at the end, 0.250 at least; rejected at the end."
    assert capsys.readouterr().out.splitlines()[0] == whole
    words = "".join(Page((tmp_path / "run.html").read_text("utf-8")).words)
    assert whole in words
    assert "tightened" in words
    assert "recorded: reliability.tolerance0.1" in words
    assert main(["report", str(run), "-o", str(tmp_path / "part.html"), "--stop", "5"]) == 0
    # half of the way: a row of 10 samples each, up to number 128 of 255
    expected = 1.0 - 0.75 * 128 / 255
    assert f"accumulated {expected:.3f} at the end, {expected:.3f} at least; watched" in capsys.readouterr().out


def test_a_run_without_actuators_and_reliability_is_refused(tmp_path, capsys) -> None:
    run = tmp_path / "run.h5"
    writer = RunWriter(run, {})
    stream = Stream("rig", 1, 256.0, (Channel("drift", Role.AUXILIARY, "mm"),))
    writer.signals(SignalBlock(stream, 0, 0.0, np.zeros((256, 1))))
    writer.close()
    assert "no command and measured channels" in refusal_of(capsys, "report", run)
    assert not (tmp_path / "run.html").exists()


def test_a_run_with_a_restart_has_one_time_axis(tmp_path, capsys) -> None:
    run = record(tmp_path / "run.h5", restart=12.0)
    assert main(["report", str(run)]) == 0
    words = "".join(Page((tmp_path / "run.html").read_text("utf-8")).words)
    assert "restarts of the publisher1" in words
    # 300 samples, a gap of 10, and 50 after the restart, at 128 Hz
    assert "lost samples10 (2.78 %) in 1 gap" in words
    assert "=1+1, a note" in words


def test_settings_that_were_changed_stand_apart_from_the_defaults_and_limits_are_a_table() -> None:
    limit = {"value": "broadband_delay", "warn": (-0.038, 0.038), "trip": (-0.058, 0.058)}
    changed = load_settings(None, {"mqtt": {"host": "broker"}, "alarms": {"limit": [limit]}})
    found = setting_tables(IndicatorSettings(window=3.0), changed.model_dump(mode="json"), 512.0)
    main = dict(found.main.rows)
    assert set(main) == {"sample rate", "indicators.window", "indicators.measures", "recorded: mqtt.host"}
    assert (main["sample rate"], main["indicators.window"], main["recorded: mqtt.host"]) == ("512 Hz", "3", "broker")
    assert found.limits is not None
    assert found.limits.rows == (("delay, broadband", "all", "ms", "-38 to 38", "-58 to 58"),)
    rest = dict(found.rest.rows)
    assert rest["recorded: mqtt.rate"] == "5"
    assert rest["recorded: mqtt.ca"] == "—"
    assert not set(rest) & set(main)
    assert "the run file has them all" in found.where


def test_every_warning_has_words_and_the_indicators_are_named_as_in_the_window() -> None:
    assert set(WARNING_WORDS) == set(WORST_FIRST)
    assessment = assess(late_at(0.0, 0.0, 20.0, 26.0), IndicatorSettings(window=2.0))
    rows = {row[0]: row for row in indicators_table(assessment.pairs[0], assessment).rows}
    assert not any("_" in name for name in rows)
    assert rows["ratio, broadband"][2:] == ("1", "1", "1", "1")
    # perfect tracking: what is left is rounding
    assert rows["delay, FDB"][2] == "0"


def test_lengths_below_a_metre_are_in_millimetres() -> None:
    assert [shown_length("m", 0.05), shown_length("m", 1.5), shown_length("V", 0.05)] == [
        ("mm", 1e3),
        ("m", 1.0),
        ("V", 1.0),
    ]


@pytest.mark.parametrize(("seconds", "loops"), [(1.5, 1), (40.0, 2)])
def test_a_record_of_fewer_than_two_windows_has_one_loop_and_no_unresolved_transfer(seconds, loops) -> None:
    whole = late_at(0.01, 0.01, 0.0, 0.0)
    unlike = tuple(
        Channel(c.name, c.role, unit, "a") for c, unit in zip(whole.stream.channels, ("V", "mm"), strict=True)
    )
    samples = read_signals(whole).samples[: round(seconds * RATE)]
    recording = ArrayRecording(Stream("rig", 0, RATE, unlike), samples)
    assessment = assess(recording, IndicatorSettings(window=1.0))
    found = assessment.pairs[0]
    extremes = best_and_worst(found, assessment, assessment.series.elapsed)
    assert extremes is not None
    figure = subspace_figure(found, assessment, read_signals(recording), *extremes)
    assert figure.svg.count("curve measured") == loops
    assert ("fewer than two windows" in figure.caption) == (loops == 1)
    assert "ratio 1.000 V/mm" in figure.caption
    # 1 Hz is not two lines above zero where the segment is as short as the record
    assert bool(unresolved_transfer(found, assessment)) == (loops == 1)
