"""From settings to a plan: ensembles and tolerances out of files, and what cannot be used, in one line."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path
from types import SimpleNamespace

import h5py
import numpy as np
import pytest

from monitor.__main__ import main
from monitor.config import ReliabilitySettings, SettingsError, load_settings
from monitor.ensembles.files import read_ensemble
from monitor.ensembles.plan_files import open_plan, read_tolerance_table
from monitor.messages.blocks import Column
from monitor.recording import RunFileError, RunReader
from monitor.reliability.ensemble import EnsembleError, sort_ensemble
from monitor.reliability.plan import DecisionLimits, ReliabilityPlan, ValidationSite
from monitor.reliability.tolerance import Tolerance, ToleranceError, TolerancePolicy
from monitor.system.safe_text import csv_cell, printable
from replay.assessment import Series
from replay.assessment.run import record_settings
from replay.commands.assess import _write_series
from replay.formats import RecordingError, open_recording
from tests.campaign.run_file_mutations import write_run

TIME = 0.02 * np.arange(50)
# its mean is 3 + 2 sin, at least 1 and at most 5
MEAN = 3.0 + 2.0 * np.sin(2.0 * np.pi * TIME)


@pytest.fixture
def ensemble(tmp_path):
    def make(response=None, name="beam.npz", time=TIME):
        spread = np.linspace(-0.1, 0.1, 21)
        response = MEAN[:, None] * (1.0 + spread) if response is None else response
        np.savez(tmp_path / name, time=time, response=response)
        return str(tmp_path / name)

    return make


def opened(path, **changes):
    plan = open_plan(ReliabilitySettings(channel="deflection", ensemble=path, **changes))
    assert len(plan.sites) == 1
    return plan, plan.sites[0]


def test_no_channel_no_plan():
    assert open_plan(ReliabilitySettings()) is None


def test_settings_become_a_plan(ensemble):
    path = ensemble()
    limits = {"accumulated": (0.7, 0.85), "first_passage": (0.05, 0.3)}
    plan, site = opened(path, tolerance=0.25, start=1.5, shift=-0.02, window=0.5, after=0.1, limits=limits)
    assert (plan.window, plan.start, plan.shift, plan.after) == (0.5, 1.5, -0.02, 0.1)
    assert plan.limits == {"accumulated": DecisionLimits(0.7, 0.85), "first_passage": DecisionLimits(0.05, 0.3)}
    assert site.channel == "deflection"
    assert (site.tolerance.policy, site.tolerance.value) == (TolerancePolicy.ABSOLUTE, 0.25)
    np.testing.assert_array_equal(site.ensemble.time, TIME)
    # the realizations stand in their order: ranks 1, 10 and 19 of 21
    np.testing.assert_allclose(site.quantiles, MEAN[:, None] * [0.91, 1.0, 1.09], rtol=1e-12)
    assert plan.notes == (f"deflection is compared with 21 realizations in {path}, tolerance 0.25",)


@pytest.mark.parametrize(
    ("settings", "policy", "reference", "told"),
    [
        ({"tolerance": "16%"}, TolerancePolicy.LITERAL, None, "16 % of the measurement"),
        ({"tolerance": 0.16, "policy": "literal"}, TolerancePolicy.LITERAL, None, "16 % of the measurement"),
        ({"tolerance": "16%", "policy": "peak"}, TolerancePolicy.PEAK, 5.0, "16 % of 5 (mean of the model)"),
        ({"tolerance": "16%", "policy": "floored"}, TolerancePolicy.FLOORED, np.sqrt(11.0),
         "16 % of the measurement, at least of 3.32 (mean of the model)"),
        ({"tolerance": "16%", "policy": "floored", "reference": 2.5}, TolerancePolicy.FLOORED, 2.5,
         "16 % of the measurement, at least of 2.5 (as set)"),
    ],
)  # fmt: skip
def test_a_share_is_of_what_the_policy_says(ensemble, settings, policy, reference, told):
    plan, site = opened(ensemble(), **settings)
    assert site.tolerance.policy is policy
    assert site.tolerance.value == pytest.approx(0.16)
    if reference is not None:
        # the largest instant misses the crest of the sine by a little
        np.testing.assert_allclose(site.tolerance.reference, [reference], rtol=2e-3)
    assert plan.notes[0].endswith(f"tolerance {told}")


def test_a_literal_tolerance_of_a_response_that_passes_zero_is_warned_of(ensemble):
    plan, _ = opened(ensemble((MEAN - 3.0)[:, None] * np.linspace(0.9, 1.1, 9)), tolerance="8%")
    assert plan.notes[0].endswith("which is nearly zero where the measurement is: use policy floored or peak")


def test_a_varying_tolerance_is_a_table(ensemble, tmp_path):
    path = tmp_path / "tolerance.csv"
    path.write_text("time,tolerance\n-1,0.5\n\n0.5,0.5\n1.5,1.5\n")
    plan, site = opened(ensemble(), tolerance=str(path), policy="varying")
    np.testing.assert_allclose(site.tolerance.profile, np.maximum(0.5, TIME))
    assert plan.notes[0].endswith(f"tolerance as in {path}")


@pytest.mark.parametrize(
    "header", ["Time, Tolerance", "time [s],tolerance", " TIME[s] ,tolerance ", "\ufefftime,tolerance"]
)
def test_a_file_is_varying_without_being_called_so(ensemble, tmp_path, header):
    path = tmp_path / "tolerance.csv"
    path.write_text(f"{header}\n0,1\n1,3\n", encoding="utf-8")
    _, site = opened(ensemble(), tolerance=str(path))
    assert site.tolerance.policy is TolerancePolicy.VARYING
    np.testing.assert_allclose(site.tolerance.profile, 1.0 + 2.0 * TIME)
    with pytest.raises(ValueError, match="give a percentage such as 8%, or a number"):
        opened(ensemble(), tolerance=str(path), policy="absolute")


@pytest.mark.parametrize(
    ("table", "told"),
    [
        ("time,tolerance\n", "must be a table with the header time,tolerance, in s"),
        ("", "must be a table"),
        ("time [ms],tolerance\n0,1\n2000,1\n", r"must be a table .* \(not 'time \[ms\],tolerance'\)"),
        ("tolerance,time\n0,1\n2,1\n", "not 'tolerance,time'"),
        ("0,1\n1,2\n2,1\n", "not '0,1'"),
        ("time,tolerance [mm]\n0,1\n2,1\n", "not 'time,tolerance"),
        ("time,tolerance\n0,1,2\n3,4,5\n", "must be a table"),
        ("time,tolerance\n0,1\n1\n", "must be a table"),
        ("time,tolerance\n0,1\n2,0.1", "last line has no end and may be cut short"),
        ("time,tolerance\n0,high\n", "must be a table"),
        ("time,tolerance\n0.5,1\n2,1\n", "must cover 0 to 0.98 s"),
        ("time,tolerance\n0,1\n0.5,1\n", "must cover 0 to 0.98 s"),
        ("time,tolerance\n0,1\n0.5,2\n0.5,3\n2,1\n", "time must increase"),
        ("time,tolerance\n0,1\nnan,2\n2,1\n", "time must increase"),
        ("time,tolerance\n0,1\n2,-3\n", "must be positive at every instant"),
        ("time,tolerance\n0,1\n2,nan\n", "must be positive at every instant"),
    ],
)
def test_tables_that_are_none(ensemble, tmp_path, table, told):
    path = tmp_path / "tolerance.csv"
    path.write_text(table)
    with pytest.raises(ValueError, match=told) as problem:
        opened(ensemble(), tolerance=str(path), policy="varying")
    assert str(problem.value).startswith("reliability.tolerance: ") and "\n" not in str(problem.value)


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"tolerance": "much"}, "give a percentage such as 8%, or a number"),
        ({"tolerance": "-8%"}, "give more than 0"),
        ({"tolerance": "nan"}, "give"),
        ({"tolerance": "8%", "policy": "absolute"}, "an absolute tolerance is a number"),
        ({"tolerance": "none.csv", "policy": "varying"}, "none.csv: must be a table"),
        ({"tolerance": ".", "policy": "varying"}, "must be a table"),
    ],
)
def test_tolerances_that_are_none(ensemble, settings, told):
    with pytest.raises(ValueError, match=told) as problem:
        opened(ensemble(), **settings)
    assert str(problem.value).startswith("reliability.tolerance: ") and "\n" not in str(problem.value)


def test_a_model_that_says_zero_has_no_size_to_take_a_share_of(ensemble):
    with pytest.raises(ValueError, match=r"reliability\.tolerance: .* zero: give an absolute one"):
        opened(ensemble(np.zeros((50, 3))), tolerance="8%", policy="peak")


def test_ensembles_that_cannot_be_used_are_named(ensemble, tmp_path):
    with pytest.raises(ValueError, match=r"none\.h5: there is no such file"):
        opened(str(tmp_path / "none.h5"))
    (tmp_path / "text.h5").write_text("time,response")
    with pytest.raises(ValueError, match=r"text\.h5: cannot be read as an ensemble"):
        opened(str(tmp_path / "text.h5"))
    uneven = np.append(TIME[:-1], 2.0)
    with pytest.raises(ValueError, match=r"uneven\.npz: time steps are not equal"):
        opened(ensemble(name="uneven.npz", time=uneven), tolerance=1.0)


def test_sites_must_fit_each_other(ensemble):
    first, second = ensemble(), ensemble(name="other.npz", time=2.0 * TIME)
    with pytest.raises(ValueError, match="the ensembles of a and b have different instants"):
        open_plan(ReliabilitySettings(channel=("a", "b"), ensemble=(first, second), tolerance=1.0))
    with pytest.raises(ValueError, match="channel 'a' has two ensembles"):
        open_plan(ReliabilitySettings(channel=("a", "a"), ensemble=(first, first), tolerance=1.0))
    plan = open_plan(ReliabilitySettings(channel=("a", "b"), ensemble=(first, first), tolerance=1.0))
    assert [site.channel for site in plan.sites] == ["a", "b"]
    assert len(plan.notes) == 2


@pytest.mark.parametrize(
    ("settings", "fits"),
    [
        ({"tolerance": 0.5}, False),
        ({"tolerance": "t.csv"}, False),
        ({"tolerance": "8%", "policy": "peak", "reference": 2.0}, False),
        ({"tolerance": "8%", "policy": "peak"}, True),
        ({"tolerance": "8%", "reference": 2.0}, True),
    ],
)
def test_one_number_does_not_serve_two_units(tmp_path, monkeypatch, settings, fits):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text("time,tolerance\n0,1\n1,1\n")
    units = {"a": "mm", "b": "kN", "c": "m/s^2", "d": "m/s²", "e": ""}
    for name, unit in units.items():
        with h5py.File(f"{name}.h5", "w") as file:
            file["time"], file["response"], file.attrs["unit"] = TIME, MEAN[:, None] * [0.9, 1.1], unit

    def plan(*names):
        files = tuple(f"{name}.h5" for name in names)
        return open_plan(ReliabilitySettings(channel=names, ensemble=files, **settings))

    for names in (("c", "d"), ("a", "e")):
        assert len(plan(*names).sites) == 2
    # the unknown unit between them is the same as neither
    for names in (("a", "b"), ("a", "e", "b")):
        if fits:
            assert len(plan(*names).sites) == len(names)
            continue
        with pytest.raises(
            ValueError, match=r"^reliability\.tolerance: the sites are in mm and kN, .*give a percentage"
        ):
            plan(*names)


@pytest.mark.parametrize("wrong", [{"window": np.inf}, {"window": 0.0}, {"after": -1.0}, {"after": np.inf}])
def test_a_plan_has_finite_times(wrong):
    site = ValidationSite(
        "y", sort_ensemble(np.arange(3.0), np.zeros((3, 2))), Tolerance(TolerancePolicy.ABSOLUTE, 1.0)
    )
    with pytest.raises(ValueError, match=r"^(window|after) .* must be"):
        ReliabilityPlan((site,), **wrong)


ENDLESS = Path("/dev/zero")


@pytest.fixture(params=["pipe", "device"])
def endless(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    if request.param == "device":
        return ENDLESS
    os.mkfifo(tmp_path / "pipe")
    return tmp_path / "pipe"


def test_what_never_ends_is_refused_and_not_waited_for(endless: Path) -> None:
    with pytest.raises(RecordingError, match="not a regular file"):
        open_recording(endless)
    with pytest.raises(RunFileError, match="not a regular file"):
        RunReader(endless)
    with pytest.raises(SettingsError, match="not a regular file"):
        load_settings(endless, {})
    with pytest.raises(EnsembleError, match="not a regular file"):
        read_ensemble(endless)
    with pytest.raises(ToleranceError, match="not a regular file"):
        read_tolerance_table(endless, np.arange(3.0))


@pytest.mark.parametrize("words", [("assess",), ("identify",), ("recover",), ("replay", "--describe")])
def test_the_commands_say_so_in_one_line(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([words[0], str(ENDLESS), *words[1:]]) == 2
    said = capsys.readouterr().err
    assert "regular file" in said and said.count("\n") == 1


@pytest.mark.parametrize(
    "text", ["a = " + "[" * 50_000 + "]" * 50_000, "a = " + "{b = " * 50_000 + "1" + "}" * 50_000]
)
def test_settings_that_are_nested_for_ever_are_one_line(tmp_path: Path, text: str) -> None:
    path = tmp_path / "lab.toml"
    path.write_text(text)
    with pytest.raises(SettingsError, match="nested too deep"):
        load_settings(path, {})


def test_settings_of_many_megabytes_are_not_read(tmp_path: Path) -> None:
    path = tmp_path / "lab.toml"
    path.write_text("# " + "x" * (1 << 20))
    with pytest.raises(SettingsError, match="more than"):
        load_settings(path, {})


def test_a_small_file_is_not_unpacked_to_gigabytes(tmp_path: Path) -> None:
    packed = tmp_path / "e.npz"
    np.savez_compressed(packed, time=np.arange(2.0), response=np.zeros((2, 1 << 24)))
    with pytest.raises(EnsembleError, match=r"claims 0\.268 GB of numbers in a file of 0\.26"):
        read_ensemble(packed)
    claimed = tmp_path / "e.h5"
    with h5py.File(claimed, "w") as file:
        file["time"] = np.arange(4.0)
        file.create_dataset("response", (4, 1 << 28), "f8", chunks=(4, 1 << 12))
    with pytest.raises(EnsembleError, match=r"claims 8\.59 GB of numbers in a file of 0\.00"):
        read_ensemble(claimed)


@pytest.mark.parametrize("header", [b"{'shape': (3,", b"(((", b'{\'descr\': """', b"\xff\xfe"])
def test_an_array_whose_header_breaks_off_is_one_line(tmp_path: Path, header: bytes) -> None:
    with zipfile.ZipFile(tmp_path / "e.npz", "w") as file:
        for name in ("time", "response"):
            text = header.ljust(117) + b"\n"
            file.writestr(f"{name}.npy", b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text)
    with pytest.raises(EnsembleError, match="cannot be read as an ensemble") as caught:
        read_ensemble(tmp_path / "e.npz")
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("way", ["link", "raw"])
def test_an_ensemble_does_not_reach_into_other_files(tmp_path: Path, way: str) -> None:
    other, path = tmp_path / "other", tmp_path / "e.h5"
    with h5py.File(other, "w") as file:
        file["response"] = np.random.default_rng(0).normal(size=(4, 8))
    with h5py.File(path, "w") as file:
        file["time"] = np.arange(4.0)
        if way == "link":
            file["response"] = h5py.ExternalLink(other, "/response")
        else:
            file.create_dataset("response", (4, 8), "f8", external=[(str(other), 0, h5py.h5f.UNLIMITED)])
    with pytest.raises(EnsembleError, match="stored in another file"):
        read_ensemble(path)


def test_texts_of_a_run_do_not_steer_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_run(tmp_path / "run\x1b[31m.h5")
    with h5py.File(path, "r+") as file:
        rows = file["events"][()]
        rows["detail"][:] = b"\x1b]0;owned\x07\x1b[2J"
        file["events"][...] = rows
        del file["settings"], file["outcome"]
        file["settings"] = np.bytes_(rb'{"indicators": {"\u001b[2Jx": 1}}')
        file["outcome"] = np.bytes_(b"\x1b[2J")
        file.attrs["rig"] = "\x1b[2J"
    main(["replay", str(path), "--describe"])
    main(["recover", str(path)])
    main(["recover", str(path), "-o", str(path)])
    said = capsys.readouterr()
    for text in (said.out, said.err):
        assert text and "\x1b" not in text and "\x07" not in text


def test_a_series_has_no_formula_in_its_header(tmp_path: Path) -> None:
    columns = (Column("fdb_delay", "s", "=cmd|' /C calc'!A0"), Column("fdb_delay", "s", "north"))
    found = SimpleNamespace(series=Series(np.arange(3.0), np.arange(3.0), np.zeros((3, 2)), columns), pairs=range(2))
    _write_series(found, tmp_path / "s.csv", 1, lambda *_: None)
    header = (tmp_path / "s.csv").read_text().splitlines()[0]
    assert header == "t [s],'=cmd|' /C calc'!A0_fdb_delay [s],north_fdb_delay [s]"


@pytest.mark.parametrize("content", ['{"indicators": {"window": -1, "no": {}}}', '{"indicators": 7}', "[", "{}"])
def test_a_run_is_assessed_whatever_its_settings_say(tmp_path: Path, content: str) -> None:
    path = write_run(tmp_path / "run.h5")
    with h5py.File(path, "r+") as file:
        del file["settings"]
        file["settings"] = np.bytes_(content)
    settings, notes = record_settings(open_recording(path), {})
    assert settings.window > 0.0
    assert any("are not valid and were ignored" in note for note in notes) == ("window" in content)


def test_a_header_cell_is_no_formula() -> None:
    assert csv_cell("=HYPERLINK(1)") == "'=HYPERLINK(1)" and csv_cell(" @x") == "' @x" and csv_cell("-1+2") == "'-1+2"
    assert csv_cell("x_c\n=1") == "x_c =1" and csv_cell("broadband_delay") == "broadband_delay"
    assert printable("a\x1b[31mb") == "a\ufffd[31mb" and printable("µm ²") == "µm ²"
