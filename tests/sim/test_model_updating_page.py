"""The examples of docs/model-updating.md run as they are printed, one after the other, and show what they say."""

from __future__ import annotations

import io
import re
from contextlib import redirect_stdout
from pathlib import Path

import numpy as np
import pytest

from monitor.__main__ import main
from sim.ensembles import measurement
from sim.models.nonlinear_chains import DuffingOscillator

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "model-updating.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture(scope="module")
def typed() -> tuple[dict[str, object], list[str]]:
    names, printed = {"__name__": "docs"}, []
    for block in BLOCKS:
        with redirect_stdout(io.StringIO()) as out:
            exec(compile(block, "docs/model-updating.md", "exec"), names)
        printed.append(out.getvalue())
    return names, printed


def test_a_model_of_ones_own_has_its_parameters_found(typed) -> None:
    names, printed = typed
    found = names["found"]
    away = (found.parameters - [90.0, 120.0, 200.0]) / found.standard_errors
    assert np.all(np.abs(away) < 4.0)
    assert found.doubts() == () and "\n()\n" in printed[0]


def test_what_cannot_be_told_apart_is_the_line_on_the_page(typed) -> None:
    line = typed[1][1].strip()
    assert f"```\n{line}\n```" in PAGE
    words = r"column and wall cannot be told apart: only column \+ wall \(90\.\d+ ± 0\.\d+\) is determined near this "
    words += "point"
    assert re.fullmatch(words, line)


def test_the_missing_force_is_the_cubic_spring(typed) -> None:
    names = typed[0]
    law, recovered = names["law"], names["recovered"]
    assert law.names == ("x^3",)
    assert abs(law.coefficients[0] - 200.0) < 4.0 * law.standard_errors[0] < 20.0
    x = names["chain_response"](names["chain"], names["load"], 0.01).displacement[:, 0]
    away = np.abs(recovered.force[:, 0] - 200.0 * x**3)
    assert np.mean(away <= 1.96 * recovered.force_sd[:, 0]) >= 0.95
    np.testing.assert_allclose(recovered.sigma, 0.2, rtol=0.15)


def test_the_examples_are_short() -> None:
    assert all(len(block.splitlines()) <= 35 for block in BLOCKS)


def test_the_model_on_the_page_finds_the_law_on_the_page(tmp_path, capsys) -> None:
    bed = DuffingOscillator()
    samples = measurement(bed, seed=1)
    names = [f"{name} [{unit}]" for name, unit in bed.channels]
    record, model = tmp_path / "run.csv", ROOT / "examples" / "duffing.toml"
    assert model.read_text(encoding="utf-8") == re.findall(r"```\n(mass = .*?)```", PAGE, re.DOTALL)[0]
    table = np.column_stack([bed.time, samples])
    np.savetxt(record, table, "%.9g", ",", header=",".join(["time [s]", *names]), comments="")
    assert main(["identify", str(record), "--missing-force", "--model", str(model)]) == 0
    row = r"(?m)^(x(?:\^3)?) +N/m\S* +(-?[\d.]+) +([\d.]+)(?: |$)"
    found, shown = (re.findall(row, text)[:2] for text in (capsys.readouterr().out, PAGE))
    assert [each[0] for each in found] == [each[0] for each in shown] == ["x", "x^3"]
    for one, other, truth in zip(found, shown, (0.02656, 0.05), strict=True):
        assert float(one[1]) == pytest.approx(float(other[1]), rel=0.01)
        assert abs(abs(float(one[1])) - truth) < 3.0 * float(one[2])
