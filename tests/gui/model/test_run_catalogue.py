"""The catalogue of runs: what is read from an answer, which rows are shown, in which order, and their texts."""

import json
import time
from dataclasses import replace

import pytest

from gui.model.run_catalogue import (
    COLUMNS,
    RunFilter,
    alarm_level,
    cell_text,
    details,
    ordered,
    outcome_level,
    read_listing,
    searched_text,
)
from gui.wording.level import Level
from monitor.messages.recordings import RunRow

BEST = RunRow(
    "a/best.h5", "2026-01-05T10:00:00+00:00", 59.94, 100.0, 5994, "rig", "a; b", "clean", -2.0, 12.0, "a", 0, 0, "",
    1, "Pump ON", 0, 0, 0, 2.0, 1_000_000,
)  # fmt: skip
WORST = RunRow(
    "worst.hdf5", "2026-01-06T10:00:00+01:00", 8045.0, 100.0, 9, "rig", "a", "lossy", -40.04, None, "a", 3, 1,
    "a.delay.trip", 0, "", 1, 40, 0, 2.0, 64_000_000,
)  # fmt: skip
DAMAGED = RunRow("cut.h5", problem="cut short: synchroscope recover cut.h5")
ROWS = BEST, WORST, DAMAGED


def names(rows):
    return [row.file for row in rows]


def test_an_answer_is_read_as_it_was_printed():
    answer = {"folder": "/x", "index": None, "found": 3, "foreign": 2, "runs": [row.values() for row in ROWS]}
    listing = read_listing(json.loads(json.dumps(answer)))
    assert (listing.rows, listing.foreign, listing.saved) == (ROWS, 2, False)
    assert read_listing({**answer, "index": "/x/index"}).saved


@pytest.mark.parametrize(
    "answer", [{}, {"runs": 3, "foreign": 0, "index": ""}, {"runs": [{"file": 3}], "foreign": 0, "index": ""}]
)
def test_another_answer_is_refused(answer):
    with pytest.raises(ValueError, match="no list of runs"):
        read_listing(answer)


@pytest.mark.parametrize(
    ("run_filter", "expected"),
    [
        (RunFilter(), ROWS),
        (RunFilter("pump on"), [BEST]),
        (RunFilter("on pump"), [BEST]),
        (RunFilter("LOSSY"), [WORST]),
        (RunFilter("damaged"), [DAMAGED]),
        (RunFilter("delay.trip worst"), [WORST]),
        (RunFilter("pump lossy"), []),
        (RunFilter(with_alarms=True), [WORST]),
        (RunFilter("pump", with_alarms=True), []),
    ],
)
def test_filters(run_filter, expected):
    assert run_filter.matching(ROWS, [searched_text(row) for row in ROWS]) == list(expected)


@pytest.mark.parametrize("column", range(len(COLUMNS)))
def test_unknown_values_are_last_in_either_order(column):
    for descending in (False, True):
        found = ordered(ROWS, column, descending=descending)
        assert set(found) == set(ROWS)
        if COLUMNS[column] not in ("Name", "Record"):
            assert found[-1] is DAMAGED


def test_delays_are_ordered_by_their_distance_from_zero_and_starts_by_instant():
    assert names(ordered(ROWS, COLUMNS.index("Worst [ms]"), descending=True))[:2] == ["worst.hdf5", "a/best.h5"]
    earlier = RunRow("earlier", "2026-01-05T10:30:00+02:00")
    assert names(ordered((BEST, earlier), 0, descending=False)) == ["earlier", "a/best.h5"]


def test_cells(monkeypatch):
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    try:
        assert [cell_text(BEST, n) for n in range(len(COLUMNS))] == [
            "2026-01-05 10:00", "a/best", "● complete", "59.9 s", "-2.0", "", "Pump ON", "1.0 MB",
        ]  # fmt: skip
        assert [cell_text(WORST, n) for n in range(len(COLUMNS))] == [
            "2026-01-06 09:00", "worst", "▲ lossy", "2:14:05", "-40.0", "■ 3", "", "64 MB",
        ]  # fmt: skip
        assert [cell_text(DAMAGED, n) for n in range(len(COLUMNS))] == [
            "—", "cut", "■ damaged", "—", "—", "—", "cut short: synchroscope recover cut.h5", "—",
        ]  # fmt: skip
    finally:
        monkeypatch.undo()
        time.tzset()


@pytest.mark.parametrize(
    ("seconds", "text"), [(59.94, "59.9 s"), (59.97, "1:00"), (60.0, "1:00"), (60.6, "1:01"), (3599.6, "1:00:00")]
)
def test_durations_are_rounded_before_their_form_is_chosen(seconds, text):
    assert cell_text(replace(BEST, duration_s=seconds), COLUMNS.index("Duration")) == text


def test_levels():
    assert [outcome_level(row) for row in ROWS] == [Level.NONE, Level.WARN, Level.BAD]
    assert [alarm_level(row) for row in ROWS] == [Level.NONE, Level.BAD, Level.NONE]


def test_details_have_what_the_table_has_no_room_for():
    assert "12.0 s after its first sample" in details(BEST)
    assert "3 alarms, 1 of them trips: a.delay.trip" in details(WORST)
    assert "40 samples lost" in details(WORST)
    assert "1 sample lost, 1 restart of the rig" in details(replace(WORST, lost_samples=1, restarts=1))
    assert details(DAMAGED).splitlines() == ["cut.h5", DAMAGED.problem]


def test_a_run_whose_alarms_were_not_judged_is_not_shown_without_a_word():
    row = replace(BEST, alarms=2, not_judged_s=12.34, not_judged_names="a.delay.warn")
    assert cell_text(row, COLUMNS.index("Alarms")) == "▲ 2 ⊘ not judged"
    assert cell_text(replace(row, alarms=0), COLUMNS.index("Alarms")) == "⊘ not judged"
    assert "not judged for 12.3 s: a.delay.warn" in details(row)
