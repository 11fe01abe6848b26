"""The thermal challenge's tables: the paper's own counts, and entries copied from it by hand."""

from itertools import pairwise

import numpy as np
import pytest

from sim.models.thermal_tables import (
    LEVELS,
    accreditation_runs,
    check_values,
    configurations,
    material,
    validation_runs,
)


def test_counts():
    assert [len(material(level).conductivity) for level in LEVELS] == [6, 20, 30]
    assert [len(material(level).heat_capacity) for level in LEVELS] == [6, 20, 30]
    assert [[runs.temperature.shape for runs in validation_runs(level).values()] for level in LEVELS] == [
        [(11, number)] * 4 for number in (1, 2, 4)
    ]
    assert [[runs.temperature.shape for runs in accreditation_runs(level).values()] for level in LEVELS] == [
        [(21, number)] * 3 for number in (1, 1, 2)
    ]
    assert check_values().temperature.shape == (10, 1)


def test_entries_of_table_4():
    high = material("High")
    found = {
        temperature: sorted(high.conductivity[high.temperature == temperature].tolist())
        for temperature in (20.0, 500.0, 1000.0)
    }
    assert found[20.0] == [0.0455, 0.0483, 0.0490, 0.0493, 0.0496, 0.0530]
    assert found[500.0] == [0.0546, 0.0602, 0.0614, 0.0638, 0.0643, 0.0714]
    assert found[1000.0] == [0.0631, 0.0692, 0.0739, 0.0796, 0.0806, 0.0811]
    assert sorted(high.heat_capacity[high.temperature == 250.0].tolist()) == [
        *(3.37e5, 3.77e5, 3.87e5, 4.19e5, 4.28e5, 4.69e5)
    ]
    low = material("Low")
    assert sorted(set(low.temperature.tolist())) == [20.0, 500.0, 1000.0]
    pairs = set(zip(low.conductivity.tolist(), low.heat_capacity.tolist(), strict=True))
    assert pairs == {(0.0496, 3.76e5), (0.0530, 3.38e5), (0.0602, 4.52e5), (0.0546, 4.10e5), (0.0631, 4.19e5)} | {
        (0.0796, 4.38e5)
    }


def test_a_level_has_all_that_a_lower_one_has():
    for less, more in pairwise(LEVELS):
        rows = [
            set(zip(each.temperature, each.conductivity, each.heat_capacity, strict=True))
            for each in (material(less), material(more))
        ]
        assert rows[0] < rows[1]
        for runs in (validation_runs, accreditation_runs):
            for name, each in runs(less).items():
                number = each.temperature.shape[1]
                np.testing.assert_array_equal(each.temperature, runs(more)[name].temperature[:, :number])


def test_entries_of_tables_5_to_8():
    runs = validation_runs()
    np.testing.assert_array_equal(runs["1"].time, np.arange(0.0, 1001.0, 100.0))
    assert runs["1"].temperature[-1].tolist() == [315.8, 313.1, 273.5, 319.8]
    assert runs["2"].temperature[3].tolist() == [154.4, 165.9, 148.7, 157.2]
    assert runs["3"].temperature[-1].tolist() == [565.6, 537.6, 606.2, 528.2]
    assert runs["4"].temperature[6].tolist() == [379.5, 393.2, 394.7, 413.1]
    depths = accreditation_runs()
    np.testing.assert_array_equal(depths["back"].time, np.arange(0.0, 1001.0, 50.0))
    assert [depths[name].temperature[-1].tolist() for name in ("front", "middle", "back")] == [
        [735.4, 691.2], [389.3, 366.0], [266.3, 244.2]
    ]  # fmt: skip
    for each in (*runs.values(), *depths.values()):
        assert (each.temperature[0] == 25.0).all() and (np.diff(each.temperature, axis=0) >= 0.0).all()
    tests = {name: (test.flux, test.thickness) for name, test in configurations().items()}
    assert tests == {
        "1": (1000.0, 0.0127), "2": (1000.0, 0.0254), "3": (2000.0, 0.0127), "4": (2000.0, 0.0254),
        "accreditation": (3000.0, 0.019), "application": (3500.0, 0.019), "check": (3000.0, 0.0127),
    }  # fmt: skip


def test_what_is_kept_for_the_next_one_cannot_be_changed():
    for array in (material("Low").conductivity, validation_runs()["1"].temperature, check_values().time):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0.0


@pytest.mark.parametrize("table", [material, validation_runs, accreditation_runs])
def test_an_unknown_level_is_answered_with_those_there_are(table):
    with pytest.raises(ValueError, match=r"^level of data 'low': choose Low, Medium or High$"):
        table("low")
