"""The examples of docs/model-updating.md run as they are printed, one after the other, and show what they say."""

from __future__ import annotations

import io
import re
from contextlib import redirect_stdout
from pathlib import Path

import numpy as np
import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "model-updating.md").read_text(encoding="utf-8")
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
    words = r"column and wall cannot be told apart: only column \+ wall \(90\.\d+ ± 0\.\d+\) is determined"
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
