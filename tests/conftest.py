"""What all tests share: how hypothesis searches, and kernels that are compiled before anything is timed."""

from __future__ import annotations

import os

import pytest
from hypothesis import settings

from monitor.engine import warm_up

settings.register_profile("local", deadline=None, max_examples=40)
settings.register_profile("ci", deadline=None, max_examples=40, derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "local")


@pytest.fixture(scope="session")
def warm_kernels() -> None:
    """Compile or load every kernel."""
    warm_up()
