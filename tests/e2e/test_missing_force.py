"""`synchroscope identify RUN --missing-force --model FILE`: the force, its laws, doubts, mistakes."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure
from scipy.integrate import solve_ivp

from benchmarks.force_records import CASES, known_force
from monitor.__main__ import main
from monitor.messages.blocks import Channel, Role, SignalBlock, Stream
from monitor.recording import RunWriter
from replay.commands.identify_force import _is_determined, _laws
from replay.identification.force_model import channel_factor
from replay.identification.missing_force import find_missing_force
from sim.missing_force.law_fit import LawFit
from sim.missing_force.law_terms import terms
from tests.mistakes import refusal_of

TIME = np.arange(0.0, 30.001, 0.04)
ALPHA = 0.05
MODEL = """
mass = 1.0
damping = 0.1
stiffness = 1.0

[[sensor]]
channel = "x"
dof = 1
quantity = "displacement"

[[sensor]]
channel = "acc"
dof = 1
quantity = "acceleration"

[[load]]
channel = "F"
dof = 1

[[missing]]
dof = 1
"""


def _samples(alpha: float = ALPHA, seed: int = 1) -> np.ndarray:
    """Return (N, 3): displacement in mm, acceleration in m/s2 and load in kN of Duffing's oscillator, with noise."""
    x, v = solve_ivp(
        lambda t, z: [z[1], np.cos(t) - 0.1 * z[1] - z[0] - alpha * z[0] ** 3],
        (0.0, TIME[-1]), [1.0, 0.0], t_eval=TIME, rtol=1e-9, atol=1e-11,
    ).y  # fmt: skip
    noise = np.random.default_rng(seed).standard_normal((2, len(TIME)))
    acceleration = np.cos(TIME) - 0.1 * v - x - alpha * x**3
    return np.column_stack([1e3 * (x + 0.02 * noise[0]), acceleration + 0.05 * noise[1], 1e-3 * np.cos(TIME)])


def _table(path: Path, samples: np.ndarray) -> Path:
    header = "time [s],x [mm],acc [m/s2],F [kN]"
    np.savetxt(path, np.column_stack([TIME, samples]), delimiter=",", header=header, comments="", fmt="%.9g")
    return path


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "model.toml"
    path.write_text(MODEL)
    return path


def _found(capsys, *words) -> dict:
    assert main(["identify", *map(str, words), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_finds_the_cubic_force_in_a_table_in_mm_and_kn(tmp_path, model, capsys):
    record, out = _table(tmp_path / "rig.csv", _samples()), tmp_path / "force.csv"
    found = _found(capsys, record, "--missing-force", "--model", model, "--out", out)
    (force,) = found["forces"]
    assert found["laws"][0]["terms"] == ["x^3"]
    assert found["laws"][0]["coefficients"]["x^3"] == pytest.approx(ALPHA, abs=0.0005)
    assert found["laws"][0]["units"]["x^3"] == "N/m^3"
    assert not found["nothing_missing"]
    assert force["place"] == "at dof 1"
    table = np.loadtxt(out, delimiter=",", skiprows=1)
    assert out.read_text().startswith(
        "time [s],force_1 [N],force_1_sd [N],displacement_1 [m],velocity_1 [m/s],sampled\n"
    )
    true = (
        ALPHA
        * (1e-3 * _samples(seed=1)[:, 0] - 0.02 * np.random.default_rng(1).standard_normal((2, len(TIME)))[0]) ** 3
    )
    assert np.mean(np.abs(table[:, 1] - true) <= 1.96 * table[:, 2]) > 0.9
    assert force["rms"] == pytest.approx(np.sqrt(np.mean(true**2)), rel=0.02)
    assert force["largest"] == pytest.approx(true[np.argmax(np.abs(true))], rel=0.05)
    # the elastic force and the missing one together
    stretch = np.cbrt(true / ALPHA)
    expected = np.sqrt(np.mean(true**2) / np.mean((stretch + true) ** 2))
    assert force["share"] == pytest.approx(expected, rel=0.02)
    assert [each["sd"] for each in found["noise"]["sensors"]] == pytest.approx([0.02, 0.05], rel=0.1)
    assert len(found["history"]["time"]) <= 2000


def test_reads_a_run_file_with_a_gap_and_a_restart(tmp_path, model, capsys, monkeypatch):
    path, samples = tmp_path / "run.h5", _samples()
    channels = (
        Channel("x", Role.AUXILIARY, "mm"),
        Channel("acc", Role.AUXILIARY, "m/s²"),
        Channel("F", Role.AUXILIARY, "kN"),
    )
    writer = RunWriter(path, {})
    first, second = (Stream("rig", epoch, 25.0, channels) for epoch in (1, 2))
    writer.signals(SignalBlock(first, 0, 0.0, samples[:200].copy()))
    writer.signals(SignalBlock(first, 220, 8.8, samples[220:500].copy()))
    writer.signals(SignalBlock(second, 0, 30.0, samples[500:].copy(), last=True))
    writer.close()
    found = _found(capsys, path, "--missing-force", "--model", model)
    assert found["laws"][0]["coefficients"]["x^3"] == pytest.approx(ALPHA, abs=0.001)
    assert found["instants"] == 1 + len(samples)
    assert any("the load is not known at 21 of" in each for each in found["warnings"])
    out = tmp_path / "force.csv"
    figures = []
    monkeypatch.setattr(Figure, "savefig", lambda figure, *_, **__: figures.append(figure))
    _found(capsys, path, "--missing-force", "--model", model, "--out", out, "--pictures", tmp_path)
    over_time, over_stretch, over_rate = figures[0].axes
    assert np.isnan(over_time.lines[0].get_ydata()[200:220]).all()
    assert [axis.get_ylabel() for axis in figures[0].axes] == ["force [N]"] * 3
    # the law is a cubic of the stretch
    stretch, law = over_stretch.lines[1].get_data()
    np.testing.assert_allclose(law[:200], ALPHA * stretch[:200] ** 3, rtol=0.02)
    assert len(over_rate.lines) == 2
    sampled = np.loadtxt(out, delimiter=",", skiprows=1)[:, -1]
    # 20 lost samples, and one instant at the restart
    np.testing.assert_array_equal(np.flatnonzero(sampled == 0.0), [*range(200, 220), 500])


def test_a_sensor_may_have_gaps(tmp_path, model, capsys):
    samples = _samples()
    samples[100:180, 0] = samples[300:320, 1] = np.nan
    found = _found(capsys, _table(tmp_path / "rig.csv", samples), "--missing-force", "--model", model)
    assert found["laws"][0]["terms"] == ["x^3"]
    assert any("100 of 751 instants have a sample that is missing" in each for each in found["notes"])


def test_nothing_is_missing(tmp_path, model, capsys):
    record = _table(tmp_path / "rig.csv", _samples(alpha=0.0))
    found = _found(capsys, record, "--missing-force", "--model", model)
    assert found["nothing_missing"]
    assert found["laws"] == []
    assert main(["identify", str(record), "--missing-force", "--model", str(model)]) == 0
    assert "nothing is missing, zero is within the band" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("case", "what", "share"),
    [
        ("a cubic spring, mass 10 % too large", "mass", 10.0),
        ("stiffness 10 % too large", "stiffness", 10.0),
        ("damping 50 % too large", "damping", 50.0),
    ],
)
def test_what_is_wrong_in_the_linear_model_has_its_name(case, what, share):
    known = known_force(CASES[case], 3)
    (line,) = find_missing_force(known.recording, known.model).warnings
    found, error = re.match(rf"the model's {what} at dof 1 is (\S+) ± (\S+) % too large", line).groups()
    assert abs(float(found) - share) < 3.5 * float(error) < 0.5 * share


def test_a_given_law_and_a_picture(tmp_path, model, capsys):
    model.write_text(MODEL + 'law = ["x^3", "v"]\n')
    record = _table(tmp_path / "rig.csv", _samples())
    assert main(["identify", str(record), "--missing-force", "--model", str(model), "--pictures", str(tmp_path)]) == 0
    printed = capsys.readouterr()
    assert "N/m^3" in printed.out
    assert "N/(m/s)" in printed.out
    assert (tmp_path / "missing-force.png").is_file()


def test_a_force_between_masses_under_ground_motion(tmp_path, capsys):
    rng = np.random.default_rng(3)
    time, stiffness = np.arange(0.0, 20.0, 0.01), np.array([[80.0, -40.0], [-40.0, 40.0]])
    ground = np.interp(time, time[::10], rng.standard_normal(200))

    def rate(t, z):
        friction = 0.3 * np.tanh((z[3] - z[2]) / 1e-3)
        force = np.array([-friction, friction])
        ag = np.interp(t, time, ground)
        return np.concatenate([z[2:], -ag - 0.005 * stiffness @ z[2:] - stiffness @ z[:2] - force])

    x = solve_ivp(rate, (0.0, time[-1]), np.zeros(4), t_eval=time, rtol=1e-6, atol=1e-8, max_step=0.01).y
    absolute = np.array([rate(t, z)[3] for t, z in zip(time, x.T, strict=True)]) + ground
    sd = 0.01 * x[0].std(), 0.01 * absolute.std()
    columns = [time, x[0] + sd[0] * rng.standard_normal(len(time)), absolute + sd[1] * rng.standard_normal(len(time))]
    record = tmp_path / "shake.csv"
    header = "time [s],x1 [m],a2 [m/s2],ag [g]"
    np.savetxt(record, np.column_stack([*columns, ground / 9.80665]), delimiter=",", header=header, comments="")
    path = tmp_path / "model.toml"
    path.write_text(
        "mass = [1.0, 1.0]\ndamping = [[0.4, -0.2], [-0.2, 0.2]]\nstiffness = [[80.0, -40.0], [-40.0, 40.0]]\n"
        f'[[sensor]]\nchannel = "x1"\ndof = 1\nquantity = "displacement"\nnoise = {sd[0]}\n'
        f'[[sensor]]\nchannel = "a2"\ndof = 2\nquantity = "acceleration"\nnoise = {sd[1]}\n'
        '[ground]\nchannel = "ag"\n[[missing]]\nbetween = [2, 1]\n'
    )
    found = _found(capsys, record, "--missing-force", "--model", path)
    assert found["forces"][0]["place"] == "between dofs 2 and 1"
    assert found["noise"]["known"]
    assert "sign v" in found["laws"][0]["terms"]
    assert found["laws"][0]["coefficients"]["sign v"] == pytest.approx(0.3, rel=0.1)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("mass = 1.0", "", "mass: is missing"),
        ("mass = 1.0", "mass = -1.0", "mass matrix"),
        ("mass = 1.0", 'mass = "one"', "mass: must be a number, a diagonal or a matrix"),
        ("stiffness = 1.0", "stiffness = [[1.0, 0.0], [0.0, 1.0]]", "structure stiffness"),
        (
            'channel = "x"',
            'channel = "y"',
            "sensor 1: channel 'y': there is no such channel: the record has x, acc, F",
        ),
        (
            'channel = "x"',
            "channel = 4",
            "sensor 1: channel 4: there is no such channel: the record has 1 to 3, x, acc, F",
        ),
        ('quantity = "displacement"', 'quantity = "strain"', "sensor 1: quantity: must be"),
        ('quantity = "displacement"', 'quantity = "velocity"', "sensor 1: 'mm' is not a unit of velocity"),
        ("[[missing]]\ndof = 1", "[[missing]]\ndof = 2", "missing 1: dof 2: the mass matrix has dofs 1 to 1"),
        ("[[missing]]\ndof = 1", "[[missing]]\n", "give either dof or between"),
        ("[[missing]]\ndof = 1", '[[missing]]\ndof = 1\nlaw = ["y"]', "law term 'y'"),
        ("[[missing]]\ndof = 1", "", "missing: where a force may be missing: add [[missing]] with dof or between"),
        ("[[load]]", "[[loads]]", "loads: there is no such setting"),
        ("damping = 0.1", "damping = [", "is not TOML"),
    ],
)
def test_a_model_that_does_not_fit_is_refused_in_one_line(tmp_path, model, capsys, old, new, message):
    model.write_text(MODEL.replace(old, new, 1))
    record = _table(tmp_path / "rig.csv", _samples())
    assert message in refusal_of(capsys, "identify", record, "--missing-force", "--model", model)


@pytest.mark.parametrize(
    ("unit", "quantity", "factor"),
    [("mN", "force", 1e-3), ("MN", "force", 1e6), ("KN", "force", 1e3), ("n", "force", 1.0), ("", "force", 1.0),
     ("MM / s^2", "acceleration", 1e-3), ("m/s²", "acceleration", 1.0), ("G", "acceleration", 9.80665)],
)  # fmt: skip
def test_units_are_read_as_spelled_and_by_letters_of_another_case_where_that_is_one(unit, quantity, factor):
    assert channel_factor(unit, quantity, "load 1") == factor


def test_a_unit_that_may_be_two_is_refused():
    with pytest.raises(ValueError, match="load 1: 'mn' is not a unit of force: give one of N, mN, kN, MN, lbf, kip"):
        channel_factor("mn", "force", "load 1")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--missing-force"], "give the model with --model FILE"),
        (["--model", "model.toml"], "--model: is of --missing-force"),
        (["--out", "force.csv"], "--out: is of --missing-force"),
        (["--missing-force", "--model", "model.toml", "--lag"], "--lag: is of a fit of actuators"),
        (["--missing-force", "--model", "model.toml", "--drift", "2"], "--drift: is of a fit of actuators"),
        (["other.csv", "--missing-force", "--model", "model.toml"], "2 files: give one run"),
        (["--missing-force", "--model", "nowhere.toml"], "nowhere.toml: cannot be read"),
    ],
)
def test_options_that_make_no_sense_together_are_refused(tmp_path, model, capsys, monkeypatch, words, message):
    monkeypatch.chdir(tmp_path)
    _table(tmp_path / "rig.csv", _samples())
    assert message in refusal_of(capsys, "identify", "rig.csv", *words)


def test_dead_channels_and_diverging_models_have_a_line(tmp_path, model, capsys):
    samples = _samples()
    samples[:, 0] = 3.0
    record = _table(tmp_path / "rig.csv", samples)
    assert "x is constant, 0.003" in refusal_of(capsys, "identify", record, "--missing-force", "--model", model)
    model.write_text(MODEL.replace("damping = 0.1", "damping = -2.0"))
    record = _table(tmp_path / "rig.csv", _samples())
    found = _found(capsys, record, "--missing-force", "--model", model)
    assert any("the model diverges" in each for each in found["warnings"])


def test_sensors_that_see_nothing_are_reported(tmp_path, capsys):
    record, path = _table(tmp_path / "rig.csv", _samples()), tmp_path / "model.toml"
    path.write_text(
        "mass = [1.0, 1.0]\ndamping = [0.1, 0.1]\nstiffness = [1.0, 1.0]\n"
        '[[sensor]]\nchannel = "x"\ndof = 1\nquantity = "displacement"\n[[load]]\nchannel = "F"\ndof = 1\n'
        "[[missing]]\ndof = 2\n"
    )
    assert main(["identify", str(record), "--missing-force", "--model", str(path)]) == 0
    assert "but the sensors hardly see this force" in capsys.readouterr().out


def test_an_error_in_a_table_is_not_reported_as_a_missing_table_too(tmp_path, model, capsys):
    model.write_text(MODEL.replace("dof = 1", "dof = 0", 1))
    record = _table(tmp_path / "rig.csv", _samples())
    said = refusal_of(capsys, "identify", record, "--missing-force", "--model", model)
    assert "sensor 1: dof: must be greater than or equal to 1" in said and ";" not in said
    record.unlink()
    refusal_of(capsys, "identify", record, "--missing-force", "--model", "model.toml")
    model.write_text(MODEL)
    said = refusal_of(capsys, "identify", record, "--missing-force", "--model", model)
    assert said == f"{record}: there is no such file"


def test_a_law_that_does_not_explain_the_record_has_no_standard_errors(tmp_path, model, capsys):
    # one term may be without brackets
    model.write_text(MODEL + 'law = "sign v"\n')
    record = _table(tmp_path / "rig.csv", _samples())
    (law,) = _found(capsys, record, "--missing-force", "--model", model)["laws"]
    assert law["residual_over_noise"] > 1.3
    assert law["standard_errors"] == {"sign v": None}
    assert main(["identify", str(record), "--missing-force", "--model", str(model)]) == 0
    printed = capsys.readouterr().out
    (row,) = (line for line in printed.splitlines() if line.startswith("sign v"))
    assert row.split()[4] == "—"
    # the doubt is above the tables
    assert 0 < printed.index("the given law does not explain the record") < printed.index("missing force\n")


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        # a wrong sign
        ([1.0, -1.0, 1.0], "sensor 2, acc: its estimated noise is"),
        # acceleration in m/s2 that is in g
        ([1.0, 1.0 / 9.80665, 1.0], "sensor 1, x: its estimated noise is"),
        # displacement in mm that is in µm
        ([1e3, 1.0, 1.0], "contradicts the other sensors or the model: check unit, sign and dof"),
    ],
)
def test_a_wrong_unit_or_sign_is_reported(tmp_path, model, capsys, columns, message):
    record = _table(tmp_path / "rig.csv", _samples() * columns)
    found = _found(capsys, record, "--missing-force", "--model", model)
    assert any(message in each for each in found["warnings"])


def test_a_load_that_is_left_out_a_unit_and_a_sign_are_reported(tmp_path, model, capsys):
    model.write_text(
        MODEL.replace("stiffness = 1.0", "stiffness = -1.0").replace('[[load]]\nchannel = "F"\ndof = 1', "")
    )
    record = _table(tmp_path / "rig.csv", _samples() * [1e-3, 1.0, 1.0])
    record.write_text(record.read_text().replace("x [mm]", "x"))
    found = _found(capsys, record, "--missing-force", "--model", model)
    assert any("the model has no load" in each for each in found["warnings"])
    assert "the stiffness matrix has a negative eigenvalue, -1 N/m" in found["warnings"][0]
    assert found["notes"][0] == "no unit is given for x: SI is assumed"


def test_laws_of_two_places_name_them_and_one_that_is_not_determined_is_seen():
    numbers = np.array([2.0, 30.0]), np.array([0.1, 20.0]), None, np.ones(1), np.ones(1)
    law = LawFit((terms(["x"]), terms(["v"])), ("x (1)", "v (2)"), *numbers, 7.0)
    found = _laws([law], ["at dof 1", "between dofs 3 and 2"], [1.0])
    cells = [found.cells(row) for group in found.groups for row in group]
    assert [(*row[:2], row[3]) for row in cells] == [("at dof 1", "x", "2"), ("between dofs 3 and 2", "v", "30")]
    assert not _is_determined(law)
