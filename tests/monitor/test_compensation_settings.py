"""Settings of compensators: wrong ones are refused, and docs/compensation.md has those of the code."""

import re
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest

from monitor.compensation.adaptive_time_series import AdaptiveTimeSeries
from monitor.compensation.base import Compensation
from monitor.compensation.fixed_inverse import FixedInverse
from monitor.compensation.indicator_driven import IndicatorDriven
from monitor.compensation.methods import by_name
from monitor.compensation.recursive_inverse import RecursiveInverse

DT = 1 / 1024
TEXT = (Path(__file__).parents[2] / "docs" / "compensation.md").read_text(encoding="utf-8")


def test_the_loop_finds_the_delay_of_its_actuator(capsys):
    block = re.search(r"```python\n(.*?)```", TEXT, re.DOTALL)
    assert block is not None
    exec(block[1], names := {})
    assert names["delay"] == pytest.approx(15 / 1024, abs=4e-4)
    assert (names["adapting"], names["limited"], names["held"]) == (1.0, 0.0, 0.0)
    assert float(capsys.readouterr().out.split()[-1]) < 0.01


def test_settings_and_columns_are_those_of_the_code():
    sections = {IndicatorDriven: "**IndicatorDriven** is driven", RecursiveInverse: "**RecursiveInverse** fits"}
    for settings, begin in sections.items():
        section = TEXT[TEXT.index(begin) :].split("\n**")[0].split("\n## ")[0]
        named = re.findall(r"`(\w+)`", " ".join(re.findall(r"^\| (.*?) \|", section, re.MULTILINE)))
        assert named == [field.name for field in fields(settings) if field.name != "indicator"]
    table = TEXT[TEXT.index("## Columns") : TEXT.index("`[column.name for")]
    columns = re.findall(r"`(\w+)`", " ".join(re.findall(r"^\| (.*?) \|", table, re.MULTILINE)))
    shared = [column.name for column in Compensation.columns]
    assert columns[: len(shared)] == shared
    own = [c.name for each in (IndicatorDriven, AdaptiveTimeSeries, RecursiveInverse) for c in each.columns]
    assert columns[len(shared) :] == [name for name in own if name not in shared]


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: FixedInverse((0.0, 0.02)), "a0"),
        (lambda: FixedInverse((1.0, np.nan)), "finite"),
        (lambda: FixedInverse.of_delay(0.02, order=9), "order"),
        (lambda: FixedInverse.of_plant([1.0, 0.0], [1.0, 2.0, 3.0]), "numerator"),
        (lambda: FixedInverse.of_plant([1.0], [1.0, 2.0, 0.0]), "has an integrator and no static gain"),
        (lambda: FixedInverse.of_delay(12.0), "delay = 12.0 s: .* is it in ms"),
        (lambda: FixedInverse.of_delay(np.array([0.012, np.nan])), "delay"),
        (lambda: FixedInverse().begin(0.0), "dt"),
        (lambda: FixedInverse().begin(DT).observe([1.0], [1.0]), "observe before the first compensate"),
        (
            lambda: by_name("fdb", FixedInverse()).begin(DT).observe([1.0], [1.0, 2.0]),
            r"command \(1,\), measured \(2,\)",
        ),
        (lambda: replace(by_name("fdb", FixedInverse()), lead="x"), "lead = 'x': must be one of scaled, series"),
        (lambda: replace(by_name("fdb", FixedInverse()), window=2000.0), "window = 2000.0 s: .* is it in ms"),
        (lambda: replace(by_name("fdb", FixedInverse()), window=-2), "window = -2 s"),
        (
            lambda: replace(by_name("paei", FixedInverse()), longest_gap=5.0),
            "longest_gap = 5.0 s: .* than the window",
        ),
        (lambda: replace(by_name("ats", FixedInverse()), longest_gap=5.0), "longest_gap = 5.0 s: .* than the window"),
        (lambda: replace(by_name("fdb", FixedInverse()), relative_gate=2.0), "gate = 2.0 of the largest motion"),
        (lambda: replace(by_name("ats", FixedInverse()), relative_threshold=2.0), "gate = 2.0 of the largest motion"),
        (lambda: replace(by_name("fdb", FixedInverse()), band=(9.0, 1.0)), "lower frequency comes first"),
        (lambda: replace(by_name("ats", FixedInverse()), ranges=((1.3, 0.7), (0, 1), (0, 1))), "range of a0"),
        (lambda: replace(by_name("ats", FixedInverse()), rates=(1.0, 0.0, 1.0)), "rate of a1"),
        (lambda: by_name("fdb", FixedInverse(), slowest=0.01), "slowest = 0.01 Hz: .* window"),
        (lambda: FixedInverse().begin(DT).compensate([1.0, 2.0]), "command"),
        (lambda: by_name("pid", FixedInverse()), "pid"),
        (lambda: replace(by_name("fdb", FixedInverse()), indicator="ti"), "indicator"),
        (lambda: replace(by_name("fdb", FixedInverse()), settling=0.0), "settling"),
        (lambda: replace(by_name("ats", FixedInverse()), filter_order=3), "filter_order"),
        (lambda: replace(by_name("ats", FixedInverse()), cutoff=600.0).begin(DT), "cutoff"),
    ],
)
def test_bad_settings_are_named(make, text):
    with pytest.raises(ValueError, match=text) as caught:
        make()
    assert "\n" not in str(caught.value)


def test_on_and_off_are_true_and_false():
    with pytest.raises(TypeError, match=r"switch\('on'\): must be True or False"):
        FixedInverse().begin(DT).switch("on")
