"""`synchroscope identify` of a real rig's records: as late as FDB says, swapped, at one frequency."""

from __future__ import annotations

import json

import pytest

from monitor.__main__ import main


@pytest.mark.usefixtures("warm_kernels")
@pytest.mark.parametrize("name", ["Large*_16.00Hz", "Large*_19.00Hz", "OnTop*"])
def test_a_real_rig_is_as_late_as_fdb_says(name, records, capsys) -> None:
    (path,) = records.shaker.glob(f"{name}.csv")
    words = [str(path), "--command", "shaker_front_cmd_V", "--measured", "laser_front_mm", "--json"]
    assert main(["identify", *words, "--max-delay", "0.03"]) == 0
    (actuator,) = json.loads(capsys.readouterr().out)["actuators"]
    assert main(["assess", *words]) == 0
    (pair,) = json.loads(capsys.readouterr().out)["pairs"]
    assert 1e3 * actuator["estimates"]["delay_s"] == pytest.approx(pair["fdb"]["delay_ms"]["median"], abs=0.05)
    # measured over command, and command over measured
    assert actuator["estimates"]["gain"] == pytest.approx(1.0 / pair["fdb"]["ratio"]["median"], rel=0.03)


def test_columns_of_a_real_rig_that_are_swapped_are_asked_about(records, capsys) -> None:
    (path,) = records.shaker.glob("Large*_16.00Hz.csv")
    words = ["--measured", "shaker_front_cmd_V", "--command", "laser_front_mm", "--max-delay", "0.03", "--json"]
    assert main(["identify", str(path), *words]) == 0
    (actuator,) = json.loads(capsys.readouterr().out)["actuators"]
    (swapped,) = (text for text in actuator["warnings"] if "an actuator is late; are command and measured" in text)
    assert float(swapped.removeprefix("a lead of ").split()[0]) == pytest.approx(22.2, abs=0.1)
    assert not any("lag" in note for note in actuator["notes"])


def test_a_real_rig_at_one_frequency_tells_no_lag(records, capsys) -> None:
    (path,) = records.shaker.glob("Large*_16.00Hz.csv")
    words = [str(path), "--command", "shaker_front_cmd_V", "--measured", "laser_front_mm", "--max-delay", "0.03"]
    with_lag, without = [], []
    for option, found in ((["--lag"], with_lag), ([], without)):
        assert main(["identify", *words, "--json", *option]) == 0
        found += json.loads(capsys.readouterr().out)["actuators"]
    assert with_lag[0]["unidentified"] == ["lag_s"]
    assert with_lag[0]["estimates"] == without[0]["estimates"] | {"lag_s": None}


def test_a_command_that_was_recorded_twice_is_told(records, capsys) -> None:
    assert main(["identify", str(records.openfresco / "Elmt_ctrlDsp_Ref.out")]) == 0
    said = capsys.readouterr()
    assert said.err == ""
    assert said.out.count("residuals are rounding errors: the measured signal is the command") == 2
    assert "e-1" not in said.out.replace("left", "").split("samples compared")[0]
