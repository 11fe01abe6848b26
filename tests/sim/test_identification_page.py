"""The examples of docs/identification.md run as they are typed, one after the other, and show what they say."""

import importlib
import inspect
import re
from pathlib import Path

import numpy as np
import pytest

TEXT = (Path(__file__).parents[2] / "docs" / "identification.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def typed():
    names = {"__name__": "docs"}
    for block in re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL):
        exec(block, names)
    return names


def test_the_examples_find_what_was_put_in(typed):
    found, truth = typed["found"], typed["truth"]
    assert np.abs(found.parameters - [truth.q0, truth.q1, truth.omega]).max() < 0.2 and found.doubts() == ()
    np.testing.assert_allclose(typed["found_system"].parameters, [2.0, 0.1, 0.5], atol=0.05)
    assert typed["response"].shape == (1, 301) and typed["derivatives"].shape == (1, 301, 3)
    assert (
        np.abs(typed["fit"](typed["inside"], typed["observed"], typed["starts"][:, [0, 1, 1]]).parameters) < 5
    ).all()


def test_what_is_printed_is_what_is_said(typed, capsys):
    first = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)[0]
    exec(first, {"__name__": "docs"})
    assert "\n()\n" in capsys.readouterr().out


@pytest.mark.parametrize(("code", "module"), re.findall(r"^\| `(\w+\([^`]*\))`.* \| `(\w+)` \|$", TEXT, re.MULTILINE))
def test_names_and_parameters_are_those_of_the_code(code, module):
    name, _, rest = code.partition("(")
    names = {}
    exec(f"def typed({rest.split(').')[0].removesuffix(')')}): ...", names)
    shown, found = (
        [(each.name, each.kind, each.default) for each in inspect.signature(function).parameters.values()]
        for function in (names["typed"], getattr(importlib.import_module(f"sim.fitting.{module}"), name))
    )
    assert shown == found
