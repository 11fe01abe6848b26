"""The table of what was injected beside what was indicated, read back from the terminal."""

from __future__ import annotations

import io
import math

from rich.console import Console

from replay.commands.truth_table import Tracking, TruthInterval, truth_blocks
from replay.tables import print_blocks

TRUE = Tracking(0.012, 1.05)
INDICATED = {
    "broadband": Tracking(0.01203, 1.0500),
    "fdb": Tracking(0.0110, 1.0605),
    "paei": Tracking(0.0151, 0.9970),
}
NOTHING = Tracking(math.nan, math.nan)


def printed(*intervals: TruthInterval, width: int = 80) -> list[str]:
    console = Console(file=io.StringIO(), width=width)
    print_blocks(truth_blocks(intervals), console)
    return console.file.getvalue().splitlines()


def test_the_headline_comes_first_each_with_what_it_is_off_by() -> None:
    lines = printed(TruthInterval("north", 0.0, 15.0, False, TRUE, INDICATED))
    delay, ratio = (line.split() for line in lines if line.startswith("north"))
    # in ms: 12.03 - 12, 11 - 12, 15.1 - 12; in hundredths: 0, 1.05, -5.3
    assert delay == ["north", "0.0–15.0", "12.00", "12.03", "+0.03", "11.00", "-1.00", "15.10", "+3.10"]
    assert ratio == ["north", "0.0–15.0", "1.050", "1.050", "+0.00", "1.060", "+1.05", "0.997", "-5.30"]
    headings = [line.split()[-7:] for line in lines if line.startswith("actuator")]
    assert headings == 2 * [["true", "broadband", "off", "FDB", "off", "PAEI", "off"]]


def test_only_what_was_computed_has_a_column_and_no_window_is_a_dash() -> None:
    lines = printed(
        TruthInterval("north", 0.0, 1.0, False, NOTHING, {"paei": NOTHING}),
        TruthInterval("north", 1.0, 15.0, True, TRUE, {"paei": INDICATED["paei"]}),
    )
    assert [line.split()[-3:] for line in lines if line.startswith("actuator")] == 2 * [["true", "PAEI", "off"]]
    assert sum(line.split() == ["north", "0.0–1.0", "—", "—", "—"] for line in lines) == 2
    assert any(line.split() == ["1.0–15.0,", "slides", "12.00", "15.10", "+3.10"] for line in lines)
    assert any("shorter than a window" in line for line in lines)


def test_no_number_is_cut_where_there_is_little_room() -> None:
    late = Tracking(-0.09999, 1.2345)
    interval = TruthInterval("north", 133.5, 136.7, True, late, dict.fromkeys(INDICATED, Tracking(-0.0887, 0.9)))
    cells = [cell for line in printed(interval, width=60) for cell in line.split()]
    # the headline, FDB and PAEI; -88.7 + 99.99, and 90 - 123.45
    assert [cells.count(cell) for cell in ("-99.99", "-88.70", "+11.29", "1.234", "-33.45")] == [1, 3, 3, 1, 3]
    assert not any("…" in cell for cell in cells)
