"""The parameter space of the thermal challenge as drawn, against the paper's Tables 3, 5 and 7 and its eq. 1."""

from __future__ import annotations

import pytest

from replay.papers.thermal.pictures import parameter_space


def test_every_configuration_is_where_the_paper_puts_it():
    (axis,) = parameter_space().axes
    drawn = sorted((float(line.get_xdata()[0]), float(line.get_ydata()[0])) for line in axis.get_lines())
    expected = [(1.27, 1000.0), (1.27, 2000.0), (1.90, 3000.0), (1.90, 3500.0), (2.54, 1000.0), (2.54, 2000.0)]
    assert drawn == [pytest.approx(point) for point in expected]
    words = [text.get_text() for text in axis.texts]
    assert words == [*(f"{i}: 4 experiments" for i in range(1, 5)), "2 experiments", "no experiment"]
    labels = [text.get_text() for text in axis.get_legend().get_texts()]
    assert labels == ["ensemble validation", "accreditation", "application"]
