"""A report that is stopped leaves nothing."""

from __future__ import annotations

import os
import signal
from time import monotonic, sleep

import pytest

from tests.e2e.conftest import PATIENCE, ROOT, Start

pytest.importorskip("jinja2")
# an assessment that takes a minute, after the unfinished page has a name
_SLOW = """
import time
import replay.assessment.run as run
settings = run.record_settings
def slow(*of):
    open(MARK, "w").close()
    for _ in range(6000):  # a signal that comes just before a sleep is noticed after it
        time.sleep(0.01)
    return settings(*of)
run.record_settings = slow
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stop_leaves_nothing(start: Start, record, tmp_path, number) -> None:
    folder, mark = tmp_path / "slow", tmp_path / "slow" / "mark"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(_SLOW.replace("MARK", repr(str(mark))))
    path = os.pathsep.join(filter(None, (str(folder), str(ROOT), os.environ.get("PYTHONPATH"))))
    table, page = record(2000), tmp_path / "page.html"
    page.write_text("the previous page")
    done = start("report", table, "-o", page, "--overwrite", PYTHONPATH=path)
    deadline = monotonic() + PATIENCE
    while not mark.exists():
        assert monotonic() < deadline
        sleep(0.01)
    done.stop(number, code=130)
    assert done.err == "synchroscope report: interrupted; nothing was written\n"
    assert sorted(tmp_path.iterdir()) == sorted([table, folder, page])
    assert page.read_text() == "the previous page"
