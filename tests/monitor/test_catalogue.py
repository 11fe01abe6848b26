"""The catalogue of measures: what is entered there is everywhere, and needs no other place."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from monitor.catalogue import CATALOGUE, RATIO_UNIT, outputs_by_name
from monitor.config import MEASURES, IndicatorSettings
from monitor.indicators.tracking_pass import create_indicators
from monitor.messages.reasons import Reason
from tests.needs import require

ROOT = Path(__file__).parents[2]


def test_each_entry_fits_its_class_and_the_settings(warm_kernels):
    made = create_indicators(IndicatorSettings(), 100.0, 1, with_force=True)
    entries = [entry for entry in CATALOGUE.values() if entry.indicator]
    for indicator, entry in zip(made, entries, strict=True):
        assert type(indicator).__name__ == entry.indicator.split(":")[1]
        assert indicator.outputs is entry.outputs
        assert len(indicator.value_type._fields) == len(entry.outputs)
        # so the settings file, the options, the form and the guide have what the class takes
        assert isinstance(IndicatorSettings(), type(indicator.settings))
        assert getattr(indicator, "measure", None) in (None, *MEASURES)


def test_no_two_columns_have_one_name_and_rows_are_in_one_unit():
    outputs = [output for entry in CATALOGUE.values() for output in entry.outputs]
    assert len(outputs_by_name()) == len(outputs)
    # what is compared by size, not by time
    assert {output.unit for output in outputs if output.same_unit}.isdisjoint({"s", "Hz", "rad", RATIO_UNIT})
    rows = {(output.row, output.display_unit, output.display_factor) for output in outputs if output.row}
    assert len(rows) == len({row for row, _, _ in rows})


# in a process of its own, so that the catalogue of the other tests stays as it is
_NEW_INDICATOR = """
import contextlib, io, json, sys
import numpy as np
from monitor.catalogue import CATALOGUE, SIGNAL_UNIT, MeasureEntry, Output, columns_of
CATALOGUE["rms_error"] = MeasureEntry(
    "tests.monitor.rms_error_example:WindowedRmsIndicator",
    outputs=columns_of(
        "rms_error", "rms", Output("rms_error", SIGNAL_UNIT, row="rms error", same_unit=True), group="rms"
    ),
)
from PySide6.QtWidgets import QApplication
from gui.panels.indicators import IndicatorsPanel
from gui.plots.view import View
from gui.widgets.theme import LIGHT
from gui.wording.quantity_names import QUANTITIES
from monitor.__main__ import main
from monitor.config import MEASURES, IndicatorSettings
from tests.gui.panels.tone_rig import tone_history, tone_samples, RATE

assert MEASURES[-1] == "rms_error"
IndicatorSettings(measures=("rms_error",))
try:
    IndicatorSettings(measures=("rms_errors",))
except ValueError as problem:
    refused = str(problem)

history = tone_history(measures=("fdb", "rms_error"))
_, command, measured, _ = tone_samples(5.0, 0.012, 1.1)
application = QApplication([])
view = View()
view.extend(history.begin_x, history.end_x)
panel = IndicatorsPanel(view, LIGHT)
rows = [row.key for row, _ in panel.available_rows(history)]

path = sys.argv[1]
np.savetxt(path, np.column_stack([np.arange(len(command)) / RATE, command, measured]),
           delimiter=",", header="time [s],command [m],measured [m]", comments="")
told = {}
for option in ("--json", "--quiet"):
    with contextlib.redirect_stdout(io.StringIO()) as out:
        options = [option] if option == "--json" else []
        assert main(["assess", path, *options, "--measures", "fdb,rms_error"]) == 0
    told[option] = out.getvalue()
print(json.dumps({
    "refused": refused, "value": history.results.value("a", "rms_error", history.end_x),
    "unit": history.results.column("a", "rms_error") is not None, "rows": rows,
    "titles": [quantity.title for quantity in QUANTITIES], "table": told["--quiet"],
    "json": json.loads(told["--json"]),
}))
"""


@pytest.fixture(scope="module")
def with_a_new_indicator(warm_kernels, tmp_path_factory):
    """What programs say when the worked example is in the catalogue."""
    require("Qt")
    record = tmp_path_factory.mktemp("new_indicator") / "tone.csv"
    done = subprocess.run(
        [sys.executable, "-c", _NEW_INDICATOR, str(record)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=os.environ | {"QT_QPA_PLATFORM": "offscreen", "PYTHONPATH": str(ROOT)},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_a_new_indicator_is_a_setting(with_a_new_indicator):
    assert "rms_error" in with_a_new_indicator["refused"]


def test_a_new_indicator_is_in_the_results(with_a_new_indicator):
    turn = 2.0 * np.pi * 1.7 * 0.012
    size = abs(1.0 - np.exp(-1j * turn) / 1.1) * 0.004 / np.sqrt(2.0)
    assert with_a_new_indicator["value"] == pytest.approx(size, rel=0.05)


def test_a_new_indicator_is_in_the_assessment(with_a_new_indicator):
    pair = with_a_new_indicator["json"]["pairs"][0]
    assert pair["rms"]["error"]["median"] == pytest.approx(with_a_new_indicator["value"], rel=0.1)
    assert "rms_error" in with_a_new_indicator["table"]


def test_a_new_indicator_has_a_row_in_the_window(with_a_new_indicator):
    assert with_a_new_indicator["titles"][-1] == "rms error"
    assert "rms_error" in with_a_new_indicator["rows"]


def test_the_page_has_every_reason() -> None:
    page = (ROOT / "docs/indicators.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| (\d+) \| (.+) \| (.+) \|$", page, re.MULTILINE)
    assert listed == [(str(each.value), each.word, each.sentence) for each in Reason]
