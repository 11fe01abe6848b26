"""The commands and the window follow from the table of formats."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from monitor.__main__ import main, offers
from replay.formats import file_kinds
from tests.replay.written_formats import WRITERS, written

pytestmark = pytest.mark.usefixtures("warm_kernels")
_DELAYS = {"x": 0.012, "y": 0.025}


@pytest.mark.parametrize("name", ["mat-7.3", "tdms", "xdf"])
def test_assess_identify_and_replay_read_it(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(written(tmp_path, name))
    assert main(["assess", path, "--json", "--window", "0.8"]) == 0
    assessed = json.loads(capsys.readouterr().out)
    found = {pair["actuator"]: pair for pair in assessed["pairs"]}
    for actuator, delay in _DELAYS.items():
        assert found[actuator]["headline"]["delay_ms"] == pytest.approx(1e3 * delay, abs=0.1)
    assert main(["identify", path, "--json"]) == 0
    identified = json.loads(capsys.readouterr().out)["actuators"]
    delays = {each["actuator"]: each["estimates"]["delay_s"] for each in identified}
    assert delays == pytest.approx(_DELAYS, abs=1e-4)
    assert main(["replay", path, "--describe", "--overview", "10"]) == 0
    described = json.loads(capsys.readouterr().out)
    assert described["guess"]["command"] == ["command_x", "command_y"]
    assert len(described["overview"]["seconds"]) == 10


def test_the_dialog_of_the_window_offers_every_format() -> None:
    filters = offers().filters.split(";;")
    assert filters[1:-1] == [f"{name} ({' '.join(patterns)})" for name, patterns in file_kinds()]
    suffixes = {suffix for suffix, _ in WRITERS.values()}
    assert {f"*{suffix}" for suffix in suffixes} <= set(re.findall(r"[^ ()]+", filters[0]))
