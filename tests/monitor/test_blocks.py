"""Units: one that is written in several ways, and one that is not known."""

from __future__ import annotations

import pytest

from monitor.messages.blocks import Channel, Role, ratio_unit, same_unit, units_differ


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("m/s²", "m/s^2", True),
        ("m/s2", "m / s^2", True),
        ("m³", "m^3", True),
        ("m", "", True),
        ("", "", True),
        (" ", "kN", True),
        ("m", "mm", False),
        ("mN", "MN", False),
        ("m/s", "m/s2", False),
    ],
)
def test_a_unit_is_the_same_however_it_is_written(one, other, same):
    assert same_unit(one, other) == same_unit(other, one) == same
    command, measured = Channel("c", Role.COMMAND, one, "a"), Channel("m", Role.MEASURED, other, "a")
    assert units_differ(command, measured) != same
    assert ratio_unit(command, measured) == ("1" if same else f"{one}/{other}")
