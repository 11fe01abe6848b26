"""Finer detail takes the place of what it covers."""

from __future__ import annotations

import numpy as np
import pytest

from gui.model.pyramid import Envelope, spliced


def envelope(begin, width, values):
    found = np.array(values, dtype=float)[:, np.newaxis]
    return Envelope(begin + width * np.arange(len(found) + 1), found, found + 0.5, 4)


@pytest.mark.parametrize(("begin", "n"), [(0.0, 8), (8.0, 8), (6.0, 12), (0.0, 40), (3.0, 5), (34.0, 6)])
def test_inside_it_is_fine_outside_it_is_coarse(begin, n):
    coarse, fine = envelope(0.0, 4.0, range(10)), envelope(begin, 1.0, 100 + np.arange(n))
    found = spliced(coarse, fine)
    assert len(found.edges) == len(found.low) + 1 == len(found.high) + 1
    assert (np.diff(found.edges) >= 0.0).all()
    for x in np.arange(0.5, 40.0):
        inside = begin <= x < begin + n
        bucket = int(np.searchsorted(found.edges, x, side="right")) - 1
        if inside:
            assert found.low[bucket, 0] == 100 + int(x - begin)
        elif not begin - 4.0 < x < begin + n + 4.0:
            # a coarse bucket that is covered in part may give way to its neighbour
            assert found.low[bucket, 0] == int(x // 4.0)


def test_without_detail_nothing_changes():
    coarse = envelope(0.0, 4.0, range(10))
    assert spliced(coarse, envelope(0.0, 1.0, [])) is coarse
