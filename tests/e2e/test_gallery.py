"""Programs of docs/examples: what each draws is right, and the three to begin with do what their users need."""

from __future__ import annotations

import re
from runpy import run_path

import numpy as np
import pytest

from monitor import Rig, connect
from tests.e2e.conftest import ANY_PORT, ROOT

EXAMPLES = ROOT / "docs" / "examples"


@pytest.fixture
def drawn(request, warm_kernels, tmp_path, monkeypatch):
    """Run the program that is named in the test, and return what it has computed."""
    monkeypatch.chdir(tmp_path)
    name = request.node.name.removeprefix("test_")
    found = run_path(str(EXAMPLES / f"{name}.py"))
    assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    return found


def test_delay_step(drawn):
    for delay, _ in drawn["delays"].values():
        for at, true in ((19.0, 0.012), (23.0, 0.025)):
            assert delay[round(512.0 * at)] == pytest.approx(true, abs=5e-5)


def test_backlash(drawn):
    last = slice(-4000, None)  # six cycles
    tone = np.exp(-3j * np.pi * drawn["time"][last]) @ drawn["measured"][last]
    lag = -np.angle(tone / (-2000j * drawn["amplitude"])) / (3.0 * np.pi)
    np.testing.assert_allclose(drawn["delay"], lag, atol=2e-5)
    np.testing.assert_allclose(np.interp(drawn["amplitude"], drawn["sizes"], drawn["known_delay"]), lag, atol=5e-5)


def test_earthquake_bands(drawn):
    strong = (drawn["time"] > 5.0) & (drawn["time"] < 18.0)
    for delay, sd in drawn["bands"].values():
        off, known = np.abs(delay - 0.018), np.isfinite(delay)
        assert np.mean(off[strong]) < 1e-4 and np.mean(off[known] <= 2.0 * sd[known]) > 0.9 and not known[-1]


def test_compensation(drawn):
    none, fixed, recursive = drawn["errors"].values()
    assert recursive < 0.01 < fixed < 0.3 * none


def test_beam_reliability(drawn):
    for name, record in drawn["measured"].items():
        within = np.abs(drawn["response"] - record) <= 0.16 * np.abs(record)
        found = drawn["reliabilities"][name]
        np.testing.assert_allclose(found.instantaneous.value, within.mean(1), atol=1e-12)
        np.testing.assert_allclose(found.first_passage.value, np.logical_and.accumulate(within).mean(1), atol=1e-12)
        assert found.accumulated.value[-1] == pytest.approx(within.mean())


def test_missing_force(drawn):
    law = drawn["law"]
    assert law.names == ("x^3",) and drawn["covered"].mean() > 0.95
    assert law.coefficients[0] == pytest.approx(200.0, abs=3.0 * law.standard_errors[0])


def test_the_controller_finds_twelve_samples(warm_kernels):
    left, lead = run_path(str(EXAMPLES / "control_loop.py"))["run"](1024.0, 12)
    assert (left, lead) == pytest.approx((0.0, 12.0 / 1024.0), abs=1e-4)


def test_the_operator_ends_a_late_test_and_the_analyst_finds_why(start, tmp_path, monkeypatch, capsys):
    supervise = run_path(str(EXAMPLES / "supervise.py"))["supervise"]
    run, time = tmp_path / "run.h5", np.arange(6000) / 1000.0
    monkeypatch.setattr("sys.argv", ["analyse_run.py", str(run)])
    service = start("monitor", "--bind", ANY_PORT, "--publish", ANY_PORT, "--record", run)
    channels = ["north.command [mm]", "north.measured [mm]"]
    rig = Rig(service.listening, channels=channels, sample_rate=1000.0, connect=True)
    with rig, connect(service.results, timeout=60.0) as connection:
        assert next(connection.items()) and rig.wait_for_subscriber(60.0)
        rig.send(np.stack([np.sin(9.0 * late) + np.sin(17.0 * late) for late in (time, time - 0.03)], 1))
        assert re.match(r"north is 30\.0 ± 0\.\d ms late at", supervise(connection, 0.02))
    service.stop()
    told = run_path(str(EXAMPLES / "analyse_run.py"), run_name="__main__")
    assert told["delay"] == pytest.approx(0.03, abs=5e-4)
    assert "s: note beyond the limit of 20 ms: north is 30.0" in capsys.readouterr().out


def test_the_types_of_the_programs_are_checked():
    assert re.search(
        r'\[tool.mypy\]\nstrict = true\npackages = .*"docs.examples"', (ROOT / "pyproject.toml").read_text()
    )
