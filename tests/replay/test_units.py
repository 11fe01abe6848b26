"""Units of signals: symbols, SI values and factors between two of a kind."""

import itertools

import pint
import pytest

from replay.formats import units
from replay.formats.base import RecordingError
from replay.formats.units import si_factor, unit_factor, unit_symbol

LENGTHS = {"m": 1.0, "cm": 1e-2, "mm": 1e-3, "µm": 1e-6, "um": 1e-6, "in": 0.0254, "ft": 0.3048}
FORCES = {"N": 1.0, "mN": 1e-3, "kN": 1e3, "MN": 1e6, "lbf": 4.4482216152605, "kip": 4448.2216152605}
PINT = pint.UnitRegistry(cache_folder=None)


@pytest.mark.parametrize(
    "kind", [LENGTHS, [f"{each}/s" for each in LENGTHS], [f"{each}/s2" for each in LENGTHS], FORCES]
)
def test_factors_are_those_of_pint(kind):
    for one, other in itertools.permutations(kind, 2):
        wanted = PINT.convert(1.0, *(each.replace("s2", "s^2") for each in (one, other)))
        assert unit_factor(one, other) == pytest.approx(wanted, rel=1e-14)


def test_common_units_need_no_pint(monkeypatch):
    monkeypatch.setattr(units, "_registry", lambda: None)
    assert unit_factor("in", "mm") == 25.4
    assert unit_factor("g", "m/s^2") == 9.80665
    assert unit_factor("mm", "kN") is None
    assert unit_factor("psi", "Pa") is None
    assert unit_symbol("millimeters") == "millimeters"


def test_other_units_are_converted_by_pint():
    assert unit_factor("psi", "Pa") == pytest.approx(4.4482216152605 / 0.0254**2, rel=1e-12)
    assert unit_factor("degC", "degF") is None
    assert unit_factor("mm", "furlongs per lunch") is None
    assert unit_symbol("millimeters") == "mm"


@pytest.mark.parametrize("unit", ["cm/s2", "cm/s^2", "cm/s**2", "cm / s²", "CM/SEC/SEC", "cm/s/s", "cm/(s^2)", "Gal"])
def test_spellings_of_one_unit(unit):
    assert si_factor(unit, "acceleration") == 0.01


@pytest.mark.parametrize(("unit", "quantity"), [("", "force"), ("mm", "velocity"), ("mn", "force"), ("s", "force")])
def test_what_is_not_a_unit_of_the_quantity_is_refused(unit, quantity):
    with pytest.raises(RecordingError, match=f"{unit!r} is not a unit of {quantity}: give one of "):
        si_factor(unit, quantity)
