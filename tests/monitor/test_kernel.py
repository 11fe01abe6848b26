"""How kernels are compiled: what is reported of it."""

from __future__ import annotations

import sys
from types import ModuleType

import numpy as np

from monitor.kernel import part, report_compilation


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
