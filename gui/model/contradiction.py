"""What is said where other indicators contradict the headline."""

from __future__ import annotations

from collections.abc import Sequence

from monitor.messages.headline import HEADLINE, LABELS

SIGN = "≠"
"""Marks what differs by more than the bands of both."""
_PAEI, _ADAPTIVE = "paei", "paei_adaptive"


def contradiction_mark(prefixes: Sequence[str]) -> str:
    """Return ``≠ FDB, PAEI`` for the indicators that contradict; empty for none."""
    # of the two PAEI the one with the common window stands for both
    told = [prefix for prefix in prefixes if prefix != _ADAPTIVE or _PAEI not in prefixes]
    return f"{SIGN} {_labels(told)}" if told else ""


def contradiction_reason(prefixes: Sequence[str]) -> str:
    """Return why these indicators differ from the headline, and which to believe; empty for none."""
    if not prefixes:
        return ""
    headline = LABELS[HEADLINE]
    return (
        f"{SIGN} {_labels(prefixes)}: differs from the {headline} delay or ratio by more than the bands of ± 2 sd.\n"
        "Where delay and gain are the same at all frequencies and amplitudes all agree, on any motion: here delay\n"
        "or gain depends on frequency or amplitude, or changes within the window.\n"
        f"Believe the {headline} values, which are those of all frequencies, over their window. Only while a delay\n"
        "changes, or just after, is the adaptive PAEI quicker."
    )


def _labels(prefixes: Sequence[str]) -> str:
    return ", ".join(LABELS[prefix] for prefix in prefixes)
