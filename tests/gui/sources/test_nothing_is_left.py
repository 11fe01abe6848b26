"""No widget and no session outlives its parent: nothing here keeps a reference that it should not."""

import gc
import weakref

import pytest
import shiboken6
from PySide6.QtWidgets import QWidget

from gui.sources.opening.column_chooser import ColumnChooser
from gui.sources.opening.columns import ColumnChoice
from gui.sources.opening.connect_dialog import ConnectDialog
from gui.sources.opening.first_page import FirstPage
from gui.sources.opening.open_dialog import Opener
from gui.sources.processes.catalogue import Catalogue
from gui.sources.processes.playback import PlaySimulation
from gui.sources.processes.player import ReplayControl
from gui.sources.replay_bar.fault_bar import FaultBar
from gui.sources.replay_bar.replay_bar import ReplayBar
from gui.widgets.theme import LIGHT
from monitor.messages.recordings import read_description
from monitor.transport.zeromq.requests import RequestClient


def steered(kind, parent):
    bar = kind(LIGHT, parent)
    bar.set_player(ReplayControl(RequestClient("tcp://127.0.0.1:1"), parent))
    return bar


def opening(parent, settings, launch):
    opener = Opener(parent, settings, Catalogue(), launch=launch)
    opener.open_path("/x.csv")
    return opener


def playing(parent, launch):
    session = PlaySimulation("hybrid").session(parent, launch=launch)
    session.start()
    launch.of("replay").take_requests()
    return session


MAKERS = {
    "replay bar": lambda parent, settings, launch, table: steered(ReplayBar, parent),
    "fault bar": lambda parent, settings, launch, table: steered(FaultBar, parent),
    "first page": lambda parent, settings, launch, table: FirstPage(Catalogue(), settings, LIGHT, parent),
    "connect dialog": lambda parent, settings, launch, table: ConnectDialog(settings, parent),
    "opener": lambda parent, settings, launch, table: opening(parent, settings, launch),
    "session": lambda parent, settings, launch, table: playing(parent, launch),
    "chooser": lambda parent, settings, launch, table: ColumnChooser(
        "x", read_description(table), ColumnChoice(), parent
    ),
}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_it_goes_with_its_parent(qtbot, settings, launch, table, make):
    parent = QWidget()
    made = weakref.ref(make(parent, settings, launch, table))
    assert made() is not None
    shiboken6.delete(parent)
    launch.clear()
    gc.collect()
    assert made() is None
