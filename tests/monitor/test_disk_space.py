"""Room on a disk, looked at by a thread of its own."""

from __future__ import annotations

import os
import threading

import pytest

from monitor.commands.service_files import UNKNOWN, DiskSpace

pytestmark = pytest.mark.usefixtures("no_leftovers")


def test_it_says_what_the_file_system_says(tmp_path) -> None:
    said = os.statvfs(tmp_path)
    space = DiskSpace(tmp_path)
    # others write to the disk meanwhile
    assert space.free == pytest.approx(said.f_bavail * said.f_frsize, rel=0.1)
    space.close()
    space.close()


def test_a_disk_that_cannot_be_asked_is_not_known(tmp_path) -> None:
    space = DiskSpace(tmp_path / "nowhere")
    assert space.free == UNKNOWN == -1
    space.close()


def test_it_is_looked_at_again(tmp_path) -> None:
    looks, again = [], threading.Event()

    def look(folder) -> int:
        looks.append(folder)
        if len(looks) == 3:
            again.set()
        return 10 * len(looks)

    space = DiskSpace(tmp_path, 0.01, look)
    assert space.free >= 10
    assert again.wait(10.0)
    space.close()
    assert space.free == 10 * len(looks)
    assert set(looks) == {tmp_path}
