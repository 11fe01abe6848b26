"""A small form of the campaign, the same files at every run."""

import random
from pathlib import Path

from monitor.recording import RunReader
from replay.formats import open_recording
from tests.campaign.damaged_run_files import campaign
from tests.campaign.run_file_mutations import damaged_bytes, write_run


def test_no_damaged_run_file_ends_in_a_traceback_or_is_called_good(warm_kernels: None, tmp_path: Path) -> None:
    tally, faults = campaign(tmp_path, 150, seed=20)
    assert not faults
    assert tally["recover: kept"] > 10 and tally["read: doubtful, and told"] > 3


def test_damage_is_the_same_for_the_same_seed(tmp_path: Path) -> None:
    whole = write_run(tmp_path / "run.h5").read_bytes()
    assert damaged_bytes(whole, random.Random(5)) == damaged_bytes(whole, random.Random(5))
    with RunReader(tmp_path / "run.h5") as reader:
        assert reader.n_samples == open_recording(tmp_path / "run.h5").n_samples == 1200
