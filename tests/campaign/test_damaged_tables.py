"""A small form of the campaign, the same files at every run."""

import warnings
from pathlib import Path

from tests.campaign.damaged_tables import campaign


def test_no_damaged_table_ends_in_a_traceback(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tally, faults = campaign(tmp_path, 240, seed=3)
    assert not faults
    assert tally["table.csv: read"] > 5 and tally["e.h5: read"] > 5
