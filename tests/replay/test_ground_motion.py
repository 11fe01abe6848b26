"""Ground motions from files, and what is wrong with them in one line."""

import re
from pathlib import Path

import h5py
import numpy as np
import pandas as pd
import pytest
import scipy.io

from replay.formats.base import RecordingError
from replay.formats.ground_motion import read_ground_motion
from replay.formats.units import STANDARD_GRAVITY
from tests.mistakes import refusal_of

VALUES = np.random.default_rng(1).standard_normal(53) * 0.1
TITLE = "PEER NGA STRONG MOTION DATABASE RECORD\nIMPERIAL VALLEY 05/19/40, EL CENTRO ARRAY #9, 180\n"
NO_NPTS = (
    "no NPTS in the first 20 lines: this is not an AT2 file of PEER; above bare numbers write 'NPTS= n, DT= s SEC'"
)
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
    said = refusal_of(capsys, "assess", written(tmp_path, peer(), name))
    assert "a ground motion (AT2), not the record of a test" in said and "study loop --motion" in said


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
        (peer(header="DT= .01 SEC\n"), NO_NPTS),
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
        ("", NO_NPTS),
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
    for count in (53, 50):
        series = written(tmp_path, peer(VALUES[:count], header="", units="").removeprefix(TITLE), "c.txt")
        with pytest.raises(RecordingError, match=r"a series in lines of several numbers needs 'NPTS= n, DT= s SEC'"):
            read_ground_motion(series, rate=100.0)
    again = read_ground_motion(written(tmp_path, "NPTS= 50, DT= 0.01 SEC\n" + series.read_text(), "d.txt"))
    np.testing.assert_allclose(again.acceleration, STANDARD_GRAVITY * VALUES[:50], rtol=1e-6)


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


def _fixed(values, per, form):
    cells = [format(value, form) for value in values]
    return "".join("".join(cells[at : at + per]) + "\n" for at in range(0, len(cells), per))


def cosmos(values=VALUES, *, what="acceleration", interval=10.0, unit="cm/sec2(04)"):
    """Write two channels of COSMOS' volume 2, the second twice as large: numbers that touch each other."""
    parts = []
    for number, factor in ((1, 100.0), (2, 200.0)):
        real = np.full(100, -999.0)
        real[[33, 61]] = 0.02, interval
        parts += [
            f"Corrected {what}    (Format v01.20 with 13 text lines) Src: 052\n",
            *["Record of a test\n"] * 7,
            f"Sta Chan   {number}: {90 * number} deg (Rcrdr Chan  {number}) Location: Roof\n",
            *["Record filtered below  0.1 Hz\n"] * 4,
            " 100 Integer-header values follow on  10 lines, Format= (10I8)\n",
            _fixed([-999] * 100, 10, "8d"),
            " 100 Real-header values follow on  17 lines, Format= (6F13.6)\n",
            _fixed(real, 6, "13.6f"),
            '   1 Comment line(s) follow, each starting with a "|":\n| a comment\n',
            f"{len(values):8d} {what} pts, approx    1 secs, units={unit},Format=(8F10.5)\n",
            _fixed(factor * values - 900.0, 8, "10.5f"),
            f"End-of-data for Chan  {number} {what}\n",
        ]
    return "".join(parts)


def csmip(values=VALUES):
    """Write as CSMIP does: acceleration, velocity and displacement of a channel below one header."""
    head = "Corrected accelerogram   15481673.CI.WLT.--.HN      Chan  1:  90 Deg\n" + "Rcrd of a test\n" * 44
    blocks = (("accel", "cm/sec2", 100.0), ("veloc", "cm/sec", 7.0), ("displ", "cm", 3.0))
    return head + "".join(
        f" {len(values)} points of {what} data equally spaced at  .020 sec, in {unit}. (8f10.6)\n"
        + _fixed(factor * values, 8, "10.6f")
        for what, unit, factor in blocks
    )


def k_net(values=VALUES, seconds=None):
    counts = np.round(values * 100.0 * 6182761 / 3920).astype(int) + 5000
    seconds = len(values) / 100 if seconds is None else seconds
    keys = {
        "Origin Time": "2011/03/11 14:46:00",
        "Lat.": "38.103",
        "Station Code": "IBR011",
        "Mag.": "9.0",
        "Sampling Freq(Hz)": "100Hz",
        "Duration Time(s)": f"{seconds:g}",
        "Dir.": "N-S",
        "Scale Factor": "3920(gal)/6182761",
        "Last Correction": "2011/03/11 14:47:06",
        "Memo.": "",
    }
    return "".join(f"{key:<18}{value}\n" for key, value in keys.items()) + _fixed(counts, 8, "9d")


def test_the_channels_of_cosmos(tmp_path):
    path = written(tmp_path, cosmos(), "motion.V2c")
    with pytest.raises(RecordingError, match="2 channels: name one of 1 90 deg, 2 180 deg, or its number"):
        read_ground_motion(path)
    for column, factor in (("2", 200.0), ("1 90 deg", 100.0)):
        found = read_ground_motion(path, column=column)
        assert found.sample_rate == pytest.approx(100.0)
        np.testing.assert_allclose(found.acceleration, 0.01 * (factor * VALUES - 900.0), atol=1e-7)


def test_the_acceleration_of_csmip_alone(tmp_path):
    found = read_ground_motion(written(tmp_path, csmip(), "motion.V2"))
    assert found.sample_rate == pytest.approx(50.0)
    np.testing.assert_allclose(found.acceleration, VALUES, atol=1e-8)


def test_counts_of_k_net_are_scaled_and_their_offset_is_taken_out(tmp_path):
    found = read_ground_motion(written(tmp_path, k_net(), "motion.NS"))
    assert found.sample_rate == 100.0
    np.testing.assert_allclose(found.acceleration, VALUES - VALUES.mean(), atol=1e-5)
    assert found.notes[0].startswith("the offset of the instrument, a mean of ") and "gal" in found.notes[0]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (cosmos(what="velocity"), "no block of accelerations, only velocity: give the file of the corrected"),
        (cosmos(interval=500.0).replace("0.020000", "9.000000"), "no interval in the real header fits 53 values"),
        (cosmos()[:-400], "it is cut off"),
        (cosmos().replace("-9", "xx", 2000), "is no row of numbers"),
        (cosmos(unit="counts (50)"), "'counts' is not a unit of acceleration: give one of m/s2"),
        (csmip()[: csmip().index("points of veloc") - 60], "it is cut off"),
        (cosmos().replace("8F10.5", "5(1PE15.6)"), "line 45 is not understood: '53 acceleration pts, approx 1 secs"),
        (csmip().replace("(8f10.6)", "(units: cm/sec/sec)"), "line 46 is not understood: '53 points of accel data"),
        (k_net(seconds=9), "53 values, but 9 s at 100 Hz: it is cut off"),
        (k_net().replace("/6182761", ""), "no 'Sampling Freq"),
    ],
)
def test_a_wrong_file_of_a_network_is_refused_in_one_line(tmp_path, text, problem):
    path = written(tmp_path, text, "motion.dat")
    with pytest.raises(RecordingError, match=r"^[^\n]*$") as caught:
        read_ground_motion(path, column=None if text.startswith("Origin") else "1")
    assert problem in str(caught.value) and str(caught.value).startswith(f"{path}: ")


def by_line(values=VALUES):
    """Write as CSMIP does without a format: a number a line."""
    head = f"Corrected accelerogram\n {len(values)} points of accel data equally spaced at .02 sec, in cm/sec2.\n"
    return head + "".join(f"{value:.6f}\n" for value in 100.0 * values)


@pytest.mark.parametrize("whole", [k_net(), by_line()])
def test_no_cut_of_a_network_s_file_gives_another_number_in_silence(tmp_path, whole):
    right = read_ground_motion(written(tmp_path, whole, "motion.dat"))
    for at in range(len(whole) - 30, len(whole)):
        try:
            found = read_ground_motion(written(tmp_path, whole[:at], "motion.dat"))
        except RecordingError as problem:
            assert "cut off" in str(problem) or "line 54 is no row of numbers: '-'" in str(problem)
            continue
        if not any("cut short" in note for note in found.notes):
            np.testing.assert_array_equal(found.acceleration, right.acceleration)


def test_a_line_of_many_spaces_is_read_at_once(tmp_path):
    spaces = f"1{' ' * 10_000}x\n"
    found = read_ground_motion(
        written(tmp_path, cosmos().replace("Record of a test\n", spaces), "motion.V2c"), column="2"
    )
    np.testing.assert_allclose(found.acceleration, 0.01 * (200.0 * VALUES - 900.0), atol=1e-7)
    narrow = "8 acceleration pts, approx " + " x" * 3000 + ",Format=(8F10.5)\n"
    with pytest.raises(RecordingError, match="line 2 is not understood"):
        read_ground_motion(written(tmp_path, cosmos()[:60] + "\n" + narrow, "motion.V2c"))


@pytest.mark.parametrize(("text", "name"), [(cosmos(), "COSMOS"), (csmip(), "CSMIP"), (k_net(), "K-NET")])
def test_assess_names_the_network_and_what_uses_its_motions(tmp_path, text, name, capsys):
    said = refusal_of(capsys, "assess", written(tmp_path, text, "motion.dat"))
    assert f"a ground motion ({name}), not the record of a test" in said
