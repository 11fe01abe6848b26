"""The loop of the laboratory: its documentation runs, and its parts fit together."""

import re
from pathlib import Path

import numpy as np

PAGE = Path(__file__).parents[2] / "docs" / "laboratory.md"


def test_the_example_of_the_documentation_runs():
    code = re.search(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL).group(1)
    names = {}
    exec(code, names)
    record = names["record"]
    assert record.command.shape == record.measured.shape == record.force.shape == (10240, 1)
    assert record.displacement.shape == (10240, 2)
    np.testing.assert_array_equal(record.command[:, 0], record.displacement[:, 0])
    np.testing.assert_allclose(record.force, 5e4 * record.command, rtol=1e-14)
    assert np.max(np.abs(record.displacement[:, 1] - record.displacement[:, 0])) > 0.002
