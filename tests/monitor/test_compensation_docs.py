"""The loop of docs/compensation.md is run, and its table of settings is that of the code."""

import re
from dataclasses import fields
from pathlib import Path

import pytest

from monitor.compensation.adaptive_time_series import AdaptiveTimeSeriesCompensator
from monitor.compensation.indicator_driven import IndicatorDriven

TEXT = (Path(__file__).parents[2] / "docs" / "compensation.md").read_text(encoding="utf-8")


def test_the_loop_finds_the_delay_of_its_actuator(capsys):
    block = re.search(r"```python\n(.*?)```", TEXT, re.DOTALL)
    assert block is not None
    exec(block[1], names := {})
    assert names["delay"] == pytest.approx(15 / 1024, abs=4e-4)
    assert (names["adapting"], names["limited"], names["held"]) == (1.0, 0.0, 0.0)
    assert float(capsys.readouterr().out.split()[-1]) < 0.01


def test_settings_and_columns_are_those_of_the_code():
    section = TEXT[TEXT.index("**IndicatorDriven** reads") : TEXT.index("## What freezes it")]
    named = re.findall(r"`(\w+)`", " ".join(re.findall(r"^\| (.*?) \|", section, re.MULTILINE)))
    assert named == [field.name for field in fields(IndicatorDriven) if field.name != "indicator"]
    table = TEXT[TEXT.index("## Columns") : TEXT.index("`[column.name for")]
    columns = re.findall(r"`(\w+)`", " ".join(re.findall(r"^\| (.*?) \|", table, re.MULTILINE)))
    assert columns == [column.name for column in AdaptiveTimeSeriesCompensator.columns]
