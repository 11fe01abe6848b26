"""The table of what was injected beside what was indicated, read back from the terminal."""

from __future__ import annotations

import io
import math

from rich.console import Console

from replay.commands.truth_table import Tracking, TruthInterval, print_intervals

TRUE = Tracking(0.012, 1.05)
INDICATED = {
    "broadband": Tracking(0.01203, 1.0500),
    "fdb": Tracking(0.0110, 1.0605),
    "paei": Tracking(0.0151, 0.9975),
}
NOTHING = Tracking(math.nan, math.nan)


def printed(*intervals: TruthInterval) -> list[str]:
    console = Console(file=io.StringIO(), width=80)
    print_intervals(intervals, console)
    return console.file.getvalue().splitlines()


def test_the_headline_comes_first_each_with_what_it_is_off_by() -> None:
    lines = printed(TruthInterval("north", 0.0, 15.0, False, TRUE, INDICATED))
    delay, ratio = (line.split() for line in lines if line.startswith("north"))
    # in ms: 12.03 - 12, 11 - 12, 15.1 - 12; in hundredths: 0, 1.05, -5.25
    assert delay == ["north", "0.0–15.0", "12.00", "12.03", "+0.03", "11.00", "-1.00", "15.10", "+3.10"]
    assert ratio == ["north", "0.0–15.0", "1.0500", "1.0500", "+0.00", "1.0605", "+1.05", "0.9975", "-5.25"]
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


def test_long_names_and_numbers_have_room_in_eighty_characters() -> None:
    late = Tracking(-0.09999, 1.2345)
    lines = printed(
        TruthInterval(
            "the-one-at-the-north-end", 133.5, 136.7, True, late, dict.fromkeys(INDICATED, Tracking(-0.0887, 0.9))
        )
    )
    rows = [line for line in lines if "slides" in line]
    assert len(rows) == 2
    assert all(line.startswith("the-one…") and "133.5–136.7, slides" in line for line in rows)
    assert "-99.99" in rows[0] and "+11.29" in rows[0] and "…" not in rows[0][8:]
