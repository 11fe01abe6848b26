"""How far back a history goes at which resolution, within the memory that it may take."""

from __future__ import annotations

FACTOR = 16
_HOUR, _DAY = 3600.0, 86_400.0
_LEAST_ROWS = 1 << 14
_FOR_COARSE = 8
_NUMBER = 8


def signal_levels(sample_rate: float, width: int, minutes: float, memory: int) -> tuple[int, ...]:
    """Return the rows or buckets of each level: as they came, for an hour by 16, for a day by 256 and by 4096.

    The last makes a view of hours as quick as one of minutes, for a sixteenth of the memory of the one before.
    """
    return _levels(sample_rate, width, minutes, memory, (_HOUR, _DAY, _DAY))


def result_levels(rate: float, width: int, minutes: float, memory: int) -> tuple[int, ...]:
    """Return the instants or buckets of each level: as they came, for two hours by 16, for a day by 256."""
    return _levels(rate, width, minutes, memory, (2.0 * _HOUR, _DAY))


def _levels(rate: float, width: int, minutes: float, memory: int, spans: tuple[float, ...]) -> tuple[int, ...]:
    """Return the lengths of the levels.

    Where memory is short the coarse ones shrink, all by the same share, until an eighth of it is left for them; then
    the finest. A slow stream, of which `minutes` are few rows, is kept as it came for some thousand rows.
    """
    row = _NUMBER * max(1, width)
    wanted = max(round(60.0 * minutes * rate), min(_LEAST_ROWS, round(spans[-1] * rate)))
    finest = max(FACTOR, min(wanted, (memory - memory // _FOR_COARSE) // row))
    coarse = [span * rate / FACTOR ** (k + 1) for k, span in enumerate(spans)]
    # each bucket has a least and a greatest value
    share = min(1.0, max(0, memory - finest * row) / (2.0 * row * sum(coarse)))
    return finest, *(max(FACTOR, int(share * length)) for length in coarse)
