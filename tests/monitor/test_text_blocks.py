"""Blocks: cells of typed columns, and what becomes JSON."""

import math

import numpy as np
import pytest

from monitor.text.blocks import Column, Data, Row, Table, Text, Tone, to_json, words

RATIO, DELAY, NAME = Column("ratio", form=".2f"), Column("delay", "ms", ".3g", 1e3, "delay"), words("name", "name")


@pytest.mark.parametrize(
    ("column", "value", "text"),
    [
        (RATIO, 0.126, "0.13"),
        (RATIO, np.float64(-0.001), "0.00"),
        (RATIO, math.nan, "—"),
        (RATIO, None, "—"),
        (RATIO, 12000, "12000"),
        (RATIO, np.int64(7), "7"),
        (RATIO, "3 of 4", "3 of 4"),
        (DELAY, 0.0123456, "12.3"),
        (DELAY, 2, "2e+03"),
        (NAME, "plant", "plant"),
        (NAME, None, "—"),
    ],
)
def test_cells(column, value, text):
    assert column.cell(value) == text


def test_headings_have_units():
    assert [each.heading for each in (RATIO, DELAY, Column("", "Hz"), words())] == ["ratio", "delay [ms]", "[Hz]", ""]


def test_programs_get_values_without_scale_and_what_is_told_to_them_only():
    table = Table(
        "delays",
        (NAME, DELAY, Column(None, key="known"), RATIO),
        [("a", 0.012, 0.013, 1.5), None, ("b", math.nan, 0.0, 1.0), Row(("paper", 0.1, 0.1, 1.0), Tone.PAPER)],
        key="plant.delays",
    )
    found = to_json([Data({"study": "x", "plant.rate": 2.0}), Text("told"), table, Data({"plant.last": [1]})])
    assert list(found) == ["study", "plant"] and list(found["plant"]) == ["rate", "delays", "last"]
    assert found["plant"]["delays"][0] == {"name": "a", "delay": 0.012, "known": 0.013}
    assert len(found["plant"]["delays"]) == 2
    assert [table.cells(row) for group in table.groups for row in group] == [
        ("a", "12", "1.50"),
        ("b", "—", "1.00"),
        ("paper", "100", "1.00"),
    ]


def test_a_row_has_a_value_for_each_column():
    with pytest.raises(ValueError, match="zip"):
        Table("", (NAME, RATIO), ()).cells(("a",))
