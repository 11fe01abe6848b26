"""`synchroscope validate`: files in, the definition's numbers out; every mistake is one line."""

from __future__ import annotations

import json

import h5py
import numpy as np
import pytest

from monitor.__main__ import main
from tests.mistakes import refusal_of

TIME = 0.01 * np.arange(301)
KEYS = {
    *("time", "instantaneous", "first_passage", "accumulated", "windowed", "standard_error", "shift_s"),
    *("tolerance", "judged", "decision", "sites", "notes"),
}


def motion(time, number=0):
    return 3.0 + np.cos(2.0 * np.pi * np.multiply.outer(time, [0.7, 1.7, 3.1]) + number + np.arange(3)).sum(axis=-1)


def realizations(number=0, m=60):
    rng = np.random.default_rng(number)
    return motion(TIME, number)[:, None] * rng.normal(1.0, 0.08, m) + rng.normal(0.0, 0.05, (301, m))


def measured(number=0, replicate=0, time=TIME, late=0.0):
    rng = np.random.default_rng([number, replicate])
    return motion(time - late, number) * rng.normal(1.0, 0.05) + rng.normal(0.0, 0.02, len(time))


def table(path, *columns, header="time,response"):
    rows = [",".join(map(repr, row)) for row in np.column_stack(columns).tolist()]
    path.write_text("\n".join([*([header] if header else []), *rows]) + "\n")
    return path


def definition(response, columns, share):
    """Return the three reliabilities of (n_times, M) against (n_times, n), |Y_M - Y_D| < share |Y_D| strictly."""
    within = np.abs(response[:, None, :] - columns[:, :, None]) < share * np.abs(columns)[:, :, None]
    now = within.mean(axis=(1, 2))
    ever = np.logical_and.accumulate(within, axis=0).mean(axis=(1, 2))
    return {"instantaneous": now, "first_passage": ever, "accumulated": np.cumsum(now) / np.arange(1, len(now) + 1)}


def assert_found(found, expected):
    for name, values in expected.items():
        np.testing.assert_allclose(found[name], values, rtol=1e-9, atol=1e-12)


def code_of(words):
    try:
        return main(words)
    except SystemExit as end:
        return end.code


@pytest.fixture
def site(tmp_path):
    """Write an ensemble and its records; return the words of the command and the columns."""

    def write(number=0, replicates=2):
        model = tmp_path / f"e{number}.npz"
        np.savez(model, time=TIME, response=realizations(number))
        columns = [measured(number, replicate) for replicate in range(replicates)]
        paths = [table(tmp_path / f"r{number}{i}.csv", TIME, column) for i, column in enumerate(columns)]
        return ["--model", model, "--measured", *paths], np.column_stack(columns)

    return write


@pytest.fixture
def validate(capsys):
    def run(*words):
        assert main(["validate", *map(str, words), "--json"]) == 0
        said = capsys.readouterr()
        found = json.loads(said.out)
        # what is told to a reader is in the object too
        assert said.err.splitlines() == found["notes"]
        return found

    return run


@pytest.fixture
def complaint(capsys):
    def run(*words):
        return refusal_of(capsys, "validate", *words, "--json")

    return run


@pytest.mark.parametrize("replicates", [1, 3])
def test_the_numbers_are_the_definitions(site, validate, replicates):
    words, columns = site(0, replicates)
    found = validate(*words, "--tolerance", "16%")
    assert set(found) == KEYS
    np.testing.assert_allclose(found["time"], TIME, atol=1e-15)
    assert_found(found, definition(realizations(), columns, 0.16))
    assert (found["judged"], found["shift_s"], found["tolerance"]) == (301, 0.0, "16 % of the measurement")
    assert set(found["standard_error"]) == {"instantaneous", "first_passage", "accumulated", "windowed"}
    within = np.abs(realizations()[-1][:, None] - columns[-1]) < 0.16 * np.abs(columns[-1])
    error = within.mean(axis=1).std(ddof=1) / np.sqrt(60)
    assert found["standard_error"]["instantaneous"][-1] == pytest.approx(error)
    # not full yet
    assert found["windowed"][:59] == [None] * 59 and None not in found["windowed"][59:]


def test_measured_may_be_said_once_or_for_each_replicate(site, validate):
    words, _ = site()
    one = validate(*words, "--tolerance", "8%")
    again = validate(*words[:4], "--measured", words[4], "--tolerance", "8%")
    assert one == again


def test_several_sites_as_a_product_and_jointly(site, validate):
    (first, a), (second, b) = site(0, 2), site(1, 1)
    found = validate(*first, *second, "--tolerance", "16%")
    alone = [definition(realizations(n), columns, 0.16) for n, columns in ((0, a), (1, b))]
    assert_found(found, {name: alone[0][name] * alone[1][name] for name in alone[0]})
    assert [len(one["replicates"]) for one in found["sites"]] == [2, 1]
    joint = validate(*first, *second, "--tolerance", "16%", "--joint")
    within = [
        np.abs(realizations(n) - column[:, None]) < 0.16 * np.abs(column)[:, None]
        for n, column in ((0, a[:, 0]), (0, a[:, 1]), (1, b[:, 0]))
    ]
    now = ((within[0] & within[2]).mean(axis=1) + (within[1] & within[2]).mean(axis=1)) / 2.0
    assert_found(joint, {"instantaneous": now, "accumulated": np.cumsum(now) / np.arange(1, 302)})


@pytest.mark.parametrize("late", [0.05, -0.023])
def test_a_lag_is_told_and_taken_out_if_asked(site, validate, tmp_path, late):
    words, _ = site()
    record = table(tmp_path / "late.csv", TIME, measured(late=late))
    told = validate(*words[:3], record, "--tolerance", "16%")
    assert told["shift_s"] == 0.0
    assert told["sites"][0]["replicates"][0]["lag_s"] == pytest.approx(late, abs=1e-3)
    aligned = validate(*words[:3], record, "--tolerance", "16%", "--align")
    assert aligned["shift_s"] == pytest.approx(late, abs=1e-3)
    straight = validate(*words[:4], "--tolerance", "16%")
    assert aligned["accumulated"][-1] == pytest.approx(straight["accumulated"][-1], abs=0.03)


def test_where_not_all_are_shifted_alike_each_replicate_has_its_shift(site, validate, tmp_path):
    words, _ = site()
    records = [table(tmp_path / f"late{late}.csv", TIME, measured(late=late)) for late in (0.05, -0.03)]
    words = [*words[:3], *records, "--tolerance", "16%"]
    shifts = {}
    for how in ("each", "common"):
        found = validate(*words, "--align", how)
        shifts[how] = [found["shift_s"], *(one["shift_s"] for one in found["sites"][0]["replicates"])]
    assert shifts["each"] == [None, pytest.approx(0.05, abs=1e-3), pytest.approx(-0.03, abs=1e-3)]
    assert shifts["common"] == [pytest.approx(0.01, abs=1e-3)] * 3


def test_columns_are_chosen_by_name(site, validate, tmp_path):
    words, columns = site(0, 1)
    plain = validate(*words, "--tolerance", "16%")
    record = table(tmp_path / "c.csv", TIME, -columns[:, 0], columns[:, 0], header="clock,a,b")
    found = validate(*words[:3], record, "--tolerance", "16%", "--time", "clock", "--response", "b")
    assert_found(found, {"accumulated": plain["accumulated"]})


def test_other_rates(site, validate, complaint, tmp_path):
    words, _ = site(0, 1)
    for number, dt in enumerate((0.005, 0.02, 0.0075)):
        time = dt * np.arange(round(3.0 / dt) + 1)
        record = table(tmp_path / f"rate{number}.csv", time, motion(time))
        if number:
            assert "check the rate, or let --resample interpolate" in complaint(
                *words[:3], record, "--tolerance", "16%"
            )
        found = validate(*words[:3], record, "--tolerance", "16%", *(["--resample"] if number else []))
        exact = definition(realizations(), motion(TIME)[:, None], 0.16)
        # interpolated measurements move a realization or two across the tolerance
        np.testing.assert_allclose(found["accumulated"], exact["accumulated"], atol=2e-3 if number else 1e-12)


def test_the_decision(site, validate):
    words, _ = site(0, 1)
    value = validate(*words, "--tolerance", "12%")["accumulated"][-1]
    assert 0.4 < value < 0.9
    for low, high, verdict in ((0.0, 0.2, "accept"), (0.98, 0.99, "reject"), (0.0, 0.99, "watch")):
        found = validate(*words, "--tolerance", "12%", "--limit", f"accumulated={low}:{high}")
        assert found["decision"]["verdict"] == verdict and f"{value:.3f}" in found["decision"]["reason"]


def test_the_tables_are_for_a_reader(tmp_path, capsys):
    folder = tmp_path / "[bold]"
    folder.mkdir()
    np.savez(folder / "e[1].npz", time=TIME, response=realizations())
    record = table(folder / "r[red].csv", TIME, measured(late=0.05))
    words = ["--model", folder / "e[1].npz", "--measured", record, "--tolerance", "16%", "--align"]
    assert main(["validate", *map(str, words)]) == 0
    said = capsys.readouterr().out
    for word in ("16 % of the measurement", "first-passage", "[bold]/e[1].npz", "S&G M", "area metric", "▲ watch"):
        assert word in said
    assert "nan" not in said


def test_the_picture(site, validate, complaint, tmp_path):
    words, _ = site()
    more, _ = site(1)
    picture = tmp_path / "v.png"
    validate(*words, *more, "--tolerance", "16%", "--picture", picture)
    assert picture.read_bytes().startswith(b"\x89PNG\r\n\x1a\n") and picture.stat().st_size > 20_000
    for name, reason in (("no/v.png", "No such file or directory"), ("v.xyz", "Format 'xyz' is not supported")):
        said = complaint(*words, "--tolerance", "16%", "--picture", tmp_path / name)
        assert said.startswith(f"--picture {tmp_path / name}: {reason}")


@pytest.mark.parametrize(
    ("tolerance", "more", "expected"),
    [
        ("-8%", [], "tolerance -8%: give more than 0"),
        ("8%", ["--policy", "varying"], "argument --policy: invalid choice"),
        ("8%", ["--window", "0"], "argument --window: 0: must be a positive number"),
        ("8%", ["--limit", "accumulated=2:1"], "--limit accumulated=2:1: "),
        ("8%", ["--joint"], "--joint: needs several sites"),
        ("8%", ["--sensor-deviation", "1"], "a sensor's deviation goes with a prediction"),
        ("8%", ["--model", "e0.npz"], "2 --model and 1 --measured: give one --measured for each site"),
        ("8%", ["--response", "force"], "no column 'force'; there are time, response"),
    ],
)
def test_a_mistake_in_the_words(site, complaint, tolerance, more, expected):
    words, _ = site()
    assert expected in complaint(*words, f"--tolerance={tolerance}", *more)


def test_a_mistake_in_the_files(site, complaint, tmp_path):
    words, columns = site(0, 1)
    model, record = words[1], words[3]
    with h5py.File(tmp_path / "unit.h5", "w") as file:
        file["time"], file["response"], file.attrs["unit"] = TIME, realizations(), "m"
    in_mm = table(tmp_path / "mm.csv", TIME, columns[:, 0], header="time,response [mm]")
    for which, what, expected in (
        (tmp_path / "no.npz", record, "no.npz: there is no such file"),
        (model, table(tmp_path / "later.csv", TIME + 10.0, columns[:, 0]), "they have no time in common"),
        (tmp_path / "unit.h5", in_mm, "mm.csv: is in mm, the model in m: convert one to the other's unit"),
    ):
        assert expected in complaint("--model", which, "--measured", what, "--tolerance", "16%")


def test_a_run_that_is_piped_prints_json_and_nothing_else(start, site):
    words, columns = site()
    running = start("validate", *words, "--tolerance", "16%", "--json").wait()
    assert_found(json.loads(running.out), definition(realizations(), columns, 0.16))
    assert running.err.splitlines() == json.loads(running.out)["notes"]


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("validate", ["--measured", "--tolerance 8%|ABS|FILE", "standard_deviation", "--align", "floored"]),
        ("simulate", ["MODEL", "beam, duffing, eight-dof, four-dof, impact, sandia or thermal", "FILE.part"]),
        ("study", ["tracking", "--replicates", "default 100000; sandia 10000"]),
    ],
)
def test_the_help_names_what_there_is(command, words, capsys):
    assert code_of([command, "--help"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert all(word in said for word in words)
