"""What all tests share: how hypothesis searches, what garbage is looked for in, and kernels that are compiled
before anything is timed."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Generator
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import settings

from monitor.commands import output
from tests.long_tests import Durations, mark_long
from tests.needs import absent
from tests.records import Records, own_records, real_records

settings.register_profile("same", deadline=None, max_examples=20, derandomize=True)
# with --hypothesis-profile=random, as make test-all has it
settings.register_profile("random", deadline=None, max_examples=100, print_blob=True)
settings.load_profile("same")

# what a command says of taking long depends on the machine's load
output._SILENCE = 1e6

# reports are as wide as it says; workers of xdist have 80
os.environ.pop("COLUMNS", None)


def _freeze_objects() -> None:
    """Exclude all objects that exist now from later garbage collections, which would go through them every time."""
    if "PySide6.QtWidgets" in sys.modules:
        from tests.gui.hands import delete_later, top_level_widgets

        # a widget that waits for its deletion would never be deleted once it is frozen
        delete_later()
        if top_level_widgets():
            return
    gc.collect()
    gc.freeze()


# the objects of a collection are kept: going through them again and again finds nothing
gc.disable()


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    """Leave the plugin for Qt out where Qt cannot be loaded: it would end everything."""
    if absent("Qt"):
        pluginmanager.set_blocked("pytest-qt")
    parser.addoption("--write-long", action="store_true", help="write which tests take more than a second")


def pytest_configure(config: pytest.Config) -> None:
    if config.option.write_long:
        config.pluginmanager.register(Durations())


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    mark_long(items)


def pytest_collection_finish(session: pytest.Session) -> None:
    wanted = any("warm_kernels" in getattr(item, "fixturenames", ()) for item in session.items)
    if wanted and not session.config.option.collectonly:
        # not within a test, whose time is limited; what cannot be compiled is reported there
        with suppress(Exception):
            _compile_kernels()
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> Generator[None]:
    """Freeze what a file of tests leaves: modules, compiled kernels, session fixtures."""
    yield
    if nextitem is not None and nextitem.path != item.path:
        _freeze_objects()


# a shell that runs the tests in the background has Ctrl-C ignored, also by all that they start
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def signals_restored() -> Generator[None]:
    """Put handlers back: a command that is run in this process leaves its own, as it usually ends the process."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in before.items():
        if signal.getsignal(number) is not handler:
            signal.signal(number, handler)


@pytest.fixture(scope="session", params=["own", "real"] if real_records() else ["own"])
def records(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Records:
    """Records as laboratories write them; those of real rigs too, where they are on this machine."""
    real = real_records() if request.param == "real" else None
    return real or own_records(tmp_path_factory.mktemp("records"))


def _compile_kernels() -> None:
    # here, so that tests without kernels do not wait for numba
    from tests.kernels import compile_all

    compile_all()


@pytest.fixture(scope="session")
def warm_kernels() -> None:
    """Have every kernel compiled: no test knows whether it was in the cache, nor does a process that it starts."""
    _compile_kernels()


@pytest.fixture(scope="session")
def long_run(warm_kernels):
    """Run ten million samples on an offset 1000 times the amplitude: the last rows, and those of a fresh start."""
    rate, n_window, block, blocks = 1000.0, 500, 1_000_000, 10

    def signals(start, stop):
        angle = 2.0 * np.pi * 7.3 / rate * np.arange(start, stop)
        return np.cos(angle) + 1000.0, 0.93 * np.cos(angle - 0.21) - 1000.0

    def run(kind):
        total = block * blocks
        indicator = kind(rate, n_window / rate, every=1000)
        for start in range(0, total, block):
            indicator.update_block(*signals(start, start + block))
        rows = [indicator.update_block(*signals(total, total + 5000))]
        fresh = kind(rate, n_window / rate, every=1000)
        fresh.update_block(*signals(total - 1000, total), first=total - 1000)
        rows.append(fresh.update_block(*signals(total, total + 5000)))
        return rows

    return run
