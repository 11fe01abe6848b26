"""Ground motions from files, and what is wrong with them in one line."""

import re
from pathlib import Path

import h5py
import numpy as np
import pandas as pd
import pytest
import scipy.io

from monitor.__main__ import main
from replay.formats.base import RecordingError
from replay.formats.ground_motion import read_ground_motion
from replay.formats.units import STANDARD_GRAVITY

VALUES = np.random.default_rng(1).standard_normal(53) * 0.1
TITLE = "PEER NGA STRONG MOTION DATABASE RECORD\nIMPERIAL VALLEY 05/19/40, EL CENTRO ARRAY #9, 180\n"
GRAVITIES = "ACCELERATION TIME SERIES IN UNITS OF G\n"


def peer(values=VALUES, width=5, header="NPTS=   53, DT=   .0100 SEC\n", units=GRAVITIES):
    cells = [f"{value:15.7E}" for value in values]
    rows = ["".join(cells[i : i + width]) for i in range(0, len(cells), width)]
    return TITLE + units + header + "\n".join(rows) + "\n"


def written(tmp_path, text, name="motion.AT2"):
    path = tmp_path / name
    path.write_text(text)
    return path


@pytest.mark.parametrize("name", ["motion.AT2", "motion.txt"])
def test_assess_takes_no_ground_motion_and_names_what_does(tmp_path, name, capsys):
    assert main(["assess", str(written(tmp_path, peer(), name))]) == 2
    said = capsys.readouterr().err
    assert "a ground motion (AT2), not the record of a test" in said and "study loop --motion" in said
    assert len(said.splitlines()) == 1


@pytest.mark.parametrize("width", [1, 5, 8, 53])
@pytest.mark.parametrize(
    "header",
    [
        "NPTS=   53, DT=   .0100 SEC\n",
        "NPTS= 53, DT= 0.01 SEC,\n",
        "npts=53 , dt=1.0e-2\n",
        "   53    0.0100    NPTS, DT\n",
        "NPTS = 53\nDT = 0.01\n",
    ],
)
def test_a_peer_file_of_any_width(tmp_path, width, header):
    found = read_ground_motion(written(tmp_path, peer(width=width, header=header)))
    np.testing.assert_allclose(found.acceleration, STANDARD_GRAVITY * VALUES, rtol=1e-6)
    assert found.sample_rate == pytest.approx(100.0)
    assert found.notes == ()


def test_a_peer_file_gives_its_unit(tmp_path):
    slow = read_ground_motion(written(tmp_path, peer(units="ACCELERATION TIME SERIES IN UNITS OF CM/SEC/SEC\n")))
    np.testing.assert_allclose(slow.acceleration, 0.01 * VALUES, rtol=1e-6)
    silent = read_ground_motion(written(tmp_path, peer(units="A TITLE\n"), "other.txt"))
    np.testing.assert_allclose(silent.acceleration, STANDARD_GRAVITY * VALUES, rtol=1e-6)
    assert silent.notes == ("no unit in the header: taken as g",)
    chosen = read_ground_motion(written(tmp_path, peer()), unit="m/s^2")
    np.testing.assert_allclose(chosen.acceleration, VALUES, rtol=1e-6)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (peer(VALUES[:50]), "50 values but NPTS = 53: it is cut off, or NPTS is wrong"),
        (peer(np.append(VALUES, 1.0)), "54 values but NPTS = 53: it has another record at its end, or NPTS is wrong"),
        (peer(header="NPTS= 53\n"), "no DT in its header: add it as 'DT= value' to line 4"),
        (peer(header="DT= .01 SEC\n"), "no NPTS in the first 20 lines: this is not an AT2 file of PEER"),
        (peer(header="NPTS= 53, DT= 0.0 SEC\n"), "DT = 0 in line 4: must be from 1e-09 to 1e+06 s"),
        (peer(header="NPTS= 53, DT= 1e-320\n"), "DT = 9.99989e-321 in line 4: must be from 1e-09 to 1e+06 s"),
        (peer(header="NPTS= 1e999, DT= 0.01\n"), "NPTS = inf in line 4: must be a whole number, 2 or more"),
        (peer(header="NPTS= 1.5, DT= 0.01\n"), "NPTS = 1.5 in line 4: must be a whole number, 2 or more"),
        (peer() + "here ends the record\n", "'here' in line 16 is not a number"),
        (peer() + "nan\n", "'nan' in line 16 is not a finite number"),
        (
            peer(units="VELOCITY TIME SERIES IN UNITS OF CM/S\n"),
            "this is a velocity: give the file of the acceleration, AT2",
        ),
        ("", "no NPTS in the first 20 lines: this is not an AT2 file of PEER"),
    ],
)
def test_a_wrong_peer_file_is_refused_in_one_line(tmp_path, text, problem):
    path = written(tmp_path, text)
    with pytest.raises(RecordingError) as caught:
        read_ground_motion(path)
    assert str(caught.value) == f"{path}: {problem}"


def table(header, unit_factor=1.0, time=True):
    rows = [
        f"{n * 0.005:.3f},{value * unit_factor:.9g}" if time else f"{value:.9g}" for n, value in enumerate(VALUES)
    ]
    return "\n".join([header, *rows]) + "\n"


@pytest.mark.parametrize(
    ("header", "factor", "unit"),
    [
        ("time [s],acceleration [m/s2]", 1.0, None),
        ("time [s],a_g (g)", 1.0 / STANDARD_GRAVITY, None),
        ("t,acc (cm/s^2)", 100.0, None),
        ("time,acceleration [gal]", 100.0, None),
        ("time,acceleration", 1000.0, "mm/s2"),
        ("time,acceleration [g]", 1.0, "m/s²"),
    ],
)
def test_a_table_of_times_and_accelerations(tmp_path, header, factor, unit):
    found = read_ground_motion(written(tmp_path, table(header, factor), "motion.csv"), unit=unit)
    np.testing.assert_allclose(found.acceleration, VALUES, rtol=1e-8)
    assert found.sample_rate == pytest.approx(200.0)


def test_a_table_of_a_rate_and_of_a_chosen_column(tmp_path):
    plain = read_ground_motion(written(tmp_path, table("a (m/s2)", time=False), "a.csv"), rate=50.0)
    np.testing.assert_allclose(plain.acceleration, VALUES, rtol=1e-8)
    assert plain.sample_rate == 50.0
    rows = "\n".join(f"{n * 0.01:.2f};{n};{2 * n}" for n in range(20))
    path = written(tmp_path, f"time (s);north (g);east (g)\n{rows}\n", "b.csv")
    east = read_ground_motion(path, column="east")
    np.testing.assert_allclose(east.acceleration, 2.0 * STANDARD_GRAVITY * np.arange(20))
    with pytest.raises(RecordingError, match=r"2 columns beside the time: name the acceleration of north, east$"):
        read_ground_motion(path)


@pytest.mark.parametrize(
    ("text", "options", "problem"),
    [
        (
            table("time,acceleration"),
            {},
            "column 'acceleration' has no unit: give one of m/s2, cm/s2, mm/s2, µm/s2, um/s2, in/s2, ft/s2, g, gal",
        ),
        (
            table("time,acceleration [mm]"),
            {},
            "'mm' is not a unit of acceleration: give one of m/s2, cm/s2, mm/s2, µm/s2, um/s2, in/s2, ft/s2, g, gal",
        ),
        (table("a (g)", time=False), {}, "no column of times: name it with --time NAME or give --rate HZ"),
        (table("a (g)", time=False), {"rate": -1.0}, "rate -1.0 Hz: must be a positive number"),
        (
            "\n".join(line for n, line in enumerate(table("time,a (g)").split("\n")) if n != 30),
            {},
            "1 missing samples in a gap, the first before line 31: "
            "fill them first, a motion with gaps cannot be applied",
        ),
        (table("time,a (g)").replace("0.050,", "0.050,nan #"), {}, None),
        ("only words\n", {}, None),
    ],
)
def test_a_wrong_table_is_refused_in_one_line(tmp_path, text, options, problem):
    path = written(tmp_path, text, "motion.csv")
    with pytest.raises(RecordingError, match=r"^[^\n]*$") as caught:
        read_ground_motion(path, **options)
    assert str(caught.value).startswith(f"{path}: ")
    assert problem is None or str(caught.value) == f"{path}: {problem}"


def test_a_cell_without_a_number_and_a_file_that_is_not_there(tmp_path):
    path = written(tmp_path, table("time,a (g)").replace("0.050,", "0.050,nan\n0.050,", 1), "motion.csv")
    with pytest.raises(RecordingError, match=r"^[^\n]*line 1[23][^\n]*$"):
        read_ground_motion(path)
    with pytest.raises(RecordingError, match=r"^[^\n]*nothing.csv: No such file or directory$"):
        read_ground_motion(tmp_path / "nothing.csv")


def test_a_velocity_is_refused_whatever_unit_is_given(tmp_path):
    path = written(tmp_path, peer(units="VELOCITY TIME SERIES IN UNITS OF CM/S\n"))
    with pytest.raises(RecordingError, match="this is a velocity: give the file of the acceleration"):
        read_ground_motion(path, unit="g")


def test_the_example_of_the_documentation_runs(tmp_path, monkeypatch):
    page = (Path(__file__).parents[2] / "docs" / "laboratory.md").read_text()
    (example,) = (code for code in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if "read_ground" in code)
    written(tmp_path, peer(), "RSN6_IMPVALL.I_I-ELC180.AT2")
    monkeypatch.chdir(tmp_path)
    names = {}
    exec(example, names)
    found = names["excitation"].sample(np.arange(53) * 0.01)
    np.testing.assert_allclose(found, 0.4 * STANDARD_GRAVITY * VALUES, rtol=1e-6)


@pytest.mark.parametrize("suffix", ["h5", "npz", "parquet", "mat"])
def test_a_motion_in_a_binary_file(tmp_path, suffix):
    path, time = tmp_path / f"motion.{suffix}", np.arange(200) / 50.0
    values = np.sin(3.0 * time)
    if suffix == "h5":
        with h5py.File(path, "w") as file:
            file["time"], file["east"] = time, values
            file["east"].attrs["unit"] = "g"
    elif suffix == "npz":
        np.savez(path, time=time, east=values)
    elif suffix == "mat":
        scipy.io.savemat(path, {"time": time[:, None], "east": values[:, None]})
    else:
        pd.DataFrame({"time": time, "east [g]": values}).to_parquet(path)
    given = None if suffix in ("h5", "parquet") else "g"
    found = read_ground_motion(path, unit=given)
    assert found.sample_rate == pytest.approx(50.0)
    np.testing.assert_allclose(found.acceleration, 9.80665 * values, rtol=1e-14)
    if given:
        with pytest.raises(RecordingError, match=rf"^{path}: column 'east' has no unit: give one of m/s2, "):
            read_ground_motion(path)


@pytest.mark.parametrize("width", [1, 5, 8, 53])
def test_no_cut_of_the_last_line_gives_another_number_in_silence(tmp_path, width):
    whole = peer(width=width).removesuffix("\n")
    for at in range(len(whole) - 40, len(whole) + 1):
        try:
            found = read_ground_motion(written(tmp_path, whole[:at]))
        except RecordingError as problem:
            assert "\n" not in str(problem) and at < len(whole)
            continue
        if not any("cut short" in note for note in found.notes):
            np.testing.assert_allclose(found.acceleration, STANDARD_GRAVITY * VALUES, rtol=1e-6)
