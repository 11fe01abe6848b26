"""`python -m docs.truth`: run the bench of truth and write its table into docs/indicators.md."""

from __future__ import annotations

import math
import sys
from pathlib import Path

from benchmarks.known_pairs import UNRELATED
from benchmarks.truth import DELAYS, Truth, is_honest, run

PAGE = Path(__file__).parent / "indicators.md"
N_SHOWN = 3  # broadband, FDB, PAEI; `python -m benchmarks truth` prints all
BEGIN, END = "<!-- truth: begin -->\n", "<!-- truth: end -->\n"


def main() -> int:
    """Replace the table between the two marks."""
    rows = run(quick=False)
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(before + BEGIN + table(rows) + END + after, encoding="utf-8")
    return 0


def table(rows: list[Truth]) -> str:
    """Return the delays of all classes as a Markdown table."""
    labels = [accuracy.label for accuracy in DELAYS[:N_SHOWN]]
    units = {accuracy.label: accuracy.unit for accuracy in DELAYS}
    lines = ["| motion | " + " | ".join(f"{label}, {units[label]}" for label in labels) + " |"]
    lines.append("|---" * (len(labels) + 1) + "|")
    for motion in dict.fromkeys(row.motion for row in rows):
        found = {row.label: row for row in rows if row.motion == motion and row.quantity != "ratio"}
        lines.append("| " + " | ".join([motion, *(_cell(found[label]) for label in labels)]) + " |")
    return "\n".join(lines) + "\n"


def _cell(row: Truth) -> str:
    if row.motion in UNRELATED:
        return f"{100.0 * row.valid:.1f} % valid"
    if not math.isfinite(row.median):
        return "no value"
    few = "" if row.valid > 0.95 else f", {100.0 * row.valid:.0f} % valid"
    mark = "" if is_honest(row) else " (!)"
    return f"{row.median:.3f}/{row.most:.2f}, {_share(row.one)}/{_share(row.two)}{mark}{few}"


def _share(value: float) -> str:
    return "1.0" if value > 0.995 else f"{value:.2f}".removeprefix("0")


if __name__ == "__main__":
    sys.exit(main())
