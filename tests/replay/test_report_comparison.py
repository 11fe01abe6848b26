"""The page of a comparison: its words and tables against the figures, its curves, and its refusals."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from monitor.__main__ import main
from tests.mistakes import refusal_of
from tests.replay.test_compare import TONES, motion
from tests.replay.test_report import Page

pytest.importorskip("jinja2")
pytestmark = pytest.mark.usefixtures("warm_kernels")
RATE = 250.0


def write(path: Path, *, late: float = 0.0, delay: float = 0.012, actuators: int = 1, seed: int = 1) -> str:
    """A record of 20 s whose motion is `late` [s], and whose actuators lag by `delay` [s], with noise."""
    t, rng = np.arange(0.0, 20.0, 1.0 / RATE), np.random.default_rng(seed)
    headings, columns = ["time [s]"], [t]
    for number, name in enumerate(("north", "south")[:actuators]):
        lag = delay if number == 0 else 0.012
        headings += [f"{name}.command [mm]", f"{name}.measured [mm]"]
        columns += [motion(t - late), 0.97 * motion(t - late - lag) + rng.normal(0.0, 0.02, t.size)]
    np.savetxt(path, np.column_stack(columns), "%.6f", ",", header=",".join(headings), comments="")
    return str(path)


def lead_of(page: Path) -> list[str]:
    inside = re.search(r'<div class="lead">(.*?)</div>', page.read_text("utf-8"), re.DOTALL)
    return re.findall("<p>(.*?)</p>", inside.group(1))


def test_the_words_are_the_figures(tmp_path, capsys) -> None:
    """Errors by the formula of a delay and a gain: |0.97 exp(-iwd) - 1| of each tone, and the noise."""
    files = write(tmp_path / "a.csv"), write(tmp_path / "b.csv", late=1.5, delay=0.015, seed=2)
    page = tmp_path / "page.html"
    words = "--tolerance", "delay_ms=2", "--tolerance", "ratio=1%"
    assert main(["compare", *files, *words, "-o", str(page)]) == 1
    assert f"{page}: " in capsys.readouterr().out
    first, second = lead_of(page)
    found = re.match(
        r"b.csv tracks worse than a.csv: rms error J2 (\S+) against (\S+) %, (\S+) ± \S+ % apart, which is more than "
        r"chance. It is (\S+) ± (\S+) ms later \((\S+) against (\S+) ms\).$",
        first,
    )
    error, reference, apart, later, sd, delay, own = map(float, found.groups())

    def expected(lag: float) -> float:
        of_tones = sum(0.5 * (size * abs(0.97 * np.exp(-2j * np.pi * f * lag) - 1.0)) ** 2 for size, f, _ in TONES)
        return 100.0 * float(np.sqrt((of_tones + 0.02**2) / (sum(size**2 for size, _, _ in TONES) / 2.0)))

    assert (error, reference) == pytest.approx((expected(0.015), expected(0.012)), rel=0.02)
    assert apart == pytest.approx(expected(0.015) - expected(0.012), rel=0.05)
    assert (later, delay, own) == pytest.approx((3.0, 15.0, 12.0), abs=0.15)
    assert sd < 0.2
    assert second == "b.csv is not within 1 of 2 tolerances: delay."
    # the table has what is printed
    assert main(["compare", *files, *words, "--json"]) == 1
    figures = json.loads(capsys.readouterr().out)["runs"][0]["actuators"][0]
    text = page.read_text("utf-8")
    assert f">{figures['peak_error_percent']['value']:.5g}<" in text
    assert "1.5 s later, by north.command" in text
    assert "p: probability of so large a difference by noise alone" in text
    assert ">p</th>" in text and ">quantity</th>" in text and ">chance</th>" not in text


def test_a_difference_that_is_chance_or_nothing_is_stated_as_that(tmp_path) -> None:
    files = write(tmp_path / "a.csv"), write(tmp_path / "b.csv", seed=5), str(tmp_path / "a.csv")
    page = tmp_path / "page.html"
    assert main(["compare", *files, "--tolerance", "delay_ms=2", "-o", str(page)]) == 0
    lead = lead_of(page)
    assert re.match(r"\S+b.csv tracks neither better nor worse than \S+a.csv .1.: .*, no more than chance\.", lead[0])
    assert lead[1].endswith("/b.csv is within the tolerance.")
    assert " tracks as " in lead[2]


def test_of_runs_with_other_motions_none_is_called_better(tmp_path, capsys) -> None:
    a, b, page = write(tmp_path / "a.csv"), tmp_path / "b.csv", tmp_path / "page.html"
    columns = np.loadtxt(a, delimiter=",", skiprows=1)
    # the command is 1.25 times as large, so that the commands differ by a quarter of its rms
    b.write_text(Path(a).read_text("utf-8").splitlines()[0] + "\n", "utf-8")
    with b.open("a", encoding="utf-8") as file:
        np.savetxt(file, columns * (1.0, 1.25, 1.25), "%.6f", ",")
    assert main(["compare", a, str(b), "-o", str(page)]) == 0
    rms = 100.0 * np.sqrt(np.mean((0.25 * columns[:, 1]) ** 2)) / np.std(columns[:, 1])
    assert f"note: north: not the same motion: the commands differ by {rms:.3g} % rms" in capsys.readouterr().out
    assert f"b.csv and a.csv are not the same motion: the commands differ by {rms:.1f} % rms." in lead_of(page)[0]
    assert "better than" not in lead_of(page)[0]
    # a twentieth is one motion
    np.savetxt(b, columns * (1.0, 1.05, 1.05), "%.6f", ",", header="time,north.command,north.measured", comments="")
    assert main(["compare", a, str(b), "-o", str(page), "--overwrite"]) == 0
    assert "not the same motion" not in page.read_text("utf-8")


def test_other_units_are_compared_by_the_delay_and_few_windows_leave_chance_open(tmp_path) -> None:
    files = write(tmp_path / "a.csv"), write(tmp_path / "b.csv", delay=0.015, seed=2)
    for file in map(Path, files):
        file.write_text(file.read_text("utf-8").replace("north.command [mm]", "north.command [V]"), "utf-8")
    page = tmp_path / "page.html"
    assert main(["compare", *files, "-o", str(page)]) == 0
    pattern = r"b.csv tracks worse than a.csv: delay (\S+) against (\S+) ms, \S+ ± \S+ ms apart, which is"
    later, earlier = map(float, re.match(pattern, lead_of(page)[0]).groups())
    assert (later, earlier) == pytest.approx((15.0, 12.0), abs=0.2)
    assert main(["compare", *files, "--stop", "9", "-o", str(page), "--overwrite"]) == 0
    assert lead_of(page)[0].endswith("; whether by more than chance is unknown.")
    assert "9 s are too short for standard deviations: 14 s are needed" in page.read_text("utf-8")


def test_the_curves_are_the_delays_and_their_difference(tmp_path) -> None:
    """The paths, by the scale that the picture states: 12 and 15 ms, and 3 ms in the row beneath."""
    files = write(tmp_path / "a.csv"), write(tmp_path / "b.csv", late=1.5, delay=0.015)
    page = tmp_path / "page.html"
    assert main(["compare", *files, "-o", str(page)]) == 0
    rows = re.findall(
        r"<g class='row' data-low='(\S+)' data-high='(\S+)' .*?data-unit='(\w*)'>(.*?)</g>", page.read_text("utf-8")
    )
    assert [unit for _, _, unit, _ in rows] == ["ms", "ms", "", ""]
    means = {}
    for low, high, _, row in rows[:2]:
        for name, path in re.findall(r"data-name='(.*?)' d='(.*?)'", row):
            y = np.array([float(point.split()[1]) for point in re.findall(r"[-\d.]+ [-\d.]+", path)])
            means[name] = np.median(float(high) - y * (float(high) - float(low)) / 116.0)
    assert means == pytest.approx({"a.csv": 12.0, "b.csv": 15.0, "b.csv − a.csv": 3.0}, abs=0.15)


def test_several_actuators_and_runs(tmp_path) -> None:
    files = [write(tmp_path / "a.csv", actuators=2)]
    files += [write(tmp_path / f"b{i}.csv", actuators=2, delay=0.012 + 0.003 * i, seed=i) for i in range(4)]
    page = tmp_path / "page.html"
    assert main(["compare", *files, "-o", str(page)]) == 0
    assert lead_of(page)[2] == "b2.csv beside a.csv: north tracks worse; south tracks alike."
    parsed = Page(page.read_text("utf-8"))
    # delay and ratio of two actuators, three runs in a figure
    figures = [attributes for tag, attributes in parsed.tags if tag == "svg" and attributes.get("role") == "img"]
    assert len(figures) == 8
    assert all(figure["aria-label"] for figure in figures)
    assert [int(tag[1]) for tag, _ in parsed.tags if re.fullmatch("h[1-6]", tag)] == [1, 2, 2, 2, 2, 2]
    regions = [attributes["aria-label"] for tag, attributes in parsed.tags if attributes.get("role") == "region"]
    assert len(regions) == len(set(regions)) == 1 + 8 + 3
    assert not [tag for tag, _ in parsed.tags if tag in ("link", "img", "iframe")]


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["-o", "page.pdf"], "page.pdf: the report is a page; write page.html and print it to PDF"),
        (["-o", "a.csv"], "a.csv: the report is a page; give it the ending .html"),
        (["-o", "there.html"], "there.html exists: give another name with -o OUT, or --overwrite"),
        (["--overwrite"], "--overwrite replaces a page: give its name with -o"),
        (["-o", "nowhere/page.html"], "nowhere/page.html: cannot be written (No such file or directory)"),
        (["-o", "page.html", "--lag", "99"], "no time in common with a.csv"),
    ],
)
def test_what_cannot_be_written_is_one_line_and_leaves_nothing(tmp_path, capsys, monkeypatch, words, error) -> None:
    monkeypatch.chdir(tmp_path)
    write(Path("a.csv"))
    Path("there.html").write_text("mine", "utf-8")
    before = sorted(tmp_path.iterdir())
    assert error in refusal_of(capsys, "compare", "a.csv", "a.csv", *words)
    assert sorted(tmp_path.iterdir()) == before
    assert Path("there.html").read_text("utf-8") == "mine"
