"""How kernels are compiled: what they may not contain, and what is reported of it."""

from __future__ import annotations

import ast
import sys
from pathlib import Path
from types import ModuleType

import numpy as np

from monitor.kernel import part, report_compilation

ROOT = Path(__file__).parents[2]


def test_no_kernel_calls_blas():
    """Sums of products by BLAS depend on the processor, and numba takes it from scipy.

    The missing force is left out: it is of scipy throughout, and no stream's bits depend on it.
    """
    found, kernels = [], 0
    paths = (path for folder in ("monitor", "sim", "gui", "replay") for path in (ROOT / folder).rglob("*.py"))
    for path in (path for path in paths if not path.is_relative_to(ROOT / "sim" / "missing_force")):
        for function in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(function, ast.FunctionDef):
                continue
            decorators = {ast.unparse(each).partition("(")[0] for each in function.decorator_list}
            if not decorators & {"kernel", "fused_kernel", "part", "inlined", "reduction", "njit"}:
                continue
            kernels += 1
            for node in ast.walk(function):
                name = node.attr if isinstance(node, ast.Attribute) else ""
                if isinstance(node, ast.MatMult) or name in ("dot", "vdot", "inner", "matmul", "linalg", "kron"):
                    found.append(f"{path.name}: {function.name}")
    assert kernels > 100 and not found


@part
def _twice(x):
    return 2.0 * x


def test_each_function_that_is_compiled_is_reported_once_and_the_end_always(monkeypatch):
    from numba import njit

    # not kept on disk, so that it is compiled in every run
    caller = njit(lambda x: _twice(x) + _twice(1))
    module = ModuleType("monitor.only_here")
    module.caller, module.twice = caller, _twice
    monkeypatch.setitem(sys.modules, module.__name__, module)
    reports = []
    with report_compilation(lambda *report: reports.append(report)):
        assert caller(np.float64(3.0)) == 8.0
        assert caller(np.float64(4.0)) == 10.0
    (first, total, name), (second, _, _), last = reports
    assert (second - first, name, last) == (1, "_twice", (total, total, ""))
    with report_compilation(lambda *report: reports.append(report)):
        caller(np.float64(5.0))
    assert reports[3:] == [last]
