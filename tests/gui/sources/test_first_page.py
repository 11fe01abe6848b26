"""Start page, and the forms for a service, its keys, and a rig."""

import pytest
from PySide6.QtCore import QSettings, Qt

from gui.sources.opening.connect_dialog import SERVICES, ConnectDialog, RecentList, WatchForm
from gui.sources.opening.first_page import FirstPage, recent_files
from gui.sources.processes.catalogue import Catalogue, ModelUnderTest, SimulationEntry
from gui.sources.processes.playback import PlaySimulation
from gui.sources.processes.session import ConnectToService, ServeRig
from gui.widgets.theme import DARK, LIGHT, palette
from monitor.transport.zeromq.allow_list import KeyFolder

BEAM = ModelUnderTest("beam", "deflection", "16%")


OFFERS = Catalogue(
    simulations=(
        SimulationEntry("hybrid", "three actuators", "hybrid tests"),
        SimulationEntry("beam", "an experiment", "models that are judged", BEAM),
    )
)


@pytest.fixture
def page(qtbot, settings, tmp_path):
    recording = tmp_path / "run.h5"
    recording.touch()
    recent_files(settings).add(str(recording))
    recent_files(settings).add(str(tmp_path / "gone.h5"))
    page = FirstPage(OFFERS, settings, LIGHT)
    qtbot.addWidget(page)
    page.resize(1000, 700)
    page.show()
    qtbot.waitExposed(page)
    return page


def test_the_demonstration_is_one_click_away(page, heard, qtbot):
    chosen = heard(page.chosen)
    qtbot.mouseClick(page.demonstration, Qt.MouseButton.LeftButton)
    assert chosen == [PlaySimulation("hybrid")]
    qtbot.keyClick(page.demonstration, Qt.Key.Key_Space)
    assert len(chosen) == 2


def test_without_simulations_there_is_no_demonstration(qtbot, settings):
    page = FirstPage(Catalogue(), settings, LIGHT)
    qtbot.addWidget(page)
    assert not page.demonstration.isEnabled()


def test_recordings_of_the_last_time_are_there_while_they_exist(page, heard, qtbot, tmp_path):
    chosen = heard(page.path_chosen)
    assert page.recent.count() == 1
    page.recent.setCurrentRow(0)
    qtbot.keyClick(page.recent, Qt.Key.Key_Return)
    assert chosen == [str(tmp_path / "run.h5")]
    (tmp_path / "run.h5").unlink()
    page.refresh()
    assert page.recent.isHidden()


def test_a_recording_can_be_looked_for(page, qtbot):
    with qtbot.waitSignal(page.browse):
        page.open.click()


def test_a_service_is_watched_by_enter(page, heard, qtbot):
    chosen = heard(page.chosen)
    # a list that can be written in hands its keys to its field
    box = page.watch.endpoint.box
    field = box.lineEdit()
    assert field.text() == "tcp://127.0.0.1:5556"
    field.selectAll()
    qtbot.keyClicks(box, "tcp://lab:70000")
    assert not page.watch.go.isEnabled()
    assert "65535" in page.watch.endpoint.fault.text()
    assert page.watch.endpoint.fault.isVisible()
    qtbot.keyClick(box, Qt.Key.Key_Return)
    assert not chosen
    field.selectAll()
    qtbot.keyClicks(box, "tcp://lab:7000")
    assert not page.watch.endpoint.fault.isVisible()
    qtbot.keyClick(box, Qt.Key.Key_Return)
    assert chosen == [ConnectToService("tcp://lab:7000")]


def test_an_endpoint_is_no_default_because_it_was_typed(qtbot, settings, page):
    usual = page.watch.endpoint.url
    page.watch.endpoint.write("tcp://lab:7000")
    page.watch.submit()
    dialog = ConnectDialog(settings)
    qtbot.addWidget(dialog)
    assert dialog.watch.endpoint.url == usual
    # one that has worked is
    RecentList(settings, SERVICES).add("tcp://lab:7001")
    page.refresh()
    assert page.watch.endpoint.url == "tcp://lab:7001"
    assert page.watch.endpoint.box.findText(usual) >= 0


def test_an_endpoint_without_a_transport_is_corrected_in_words(page):
    page.watch.endpoint.write("lab:7000")
    assert page.watch.endpoint.problem == "write tcp://lab:7000"
    assert not page.watch.go.isEnabled()


def test_a_rig_gets_a_service(page, heard, tmp_path):
    chosen = heard(page.chosen)
    page.serve.go.click()
    page.serve.endpoint.write("tcp://rig:5555")
    page.serve.folder.setText(str(tmp_path / "runs"))
    page.serve.go.click()
    assert chosen == [ServeRig("tcp://127.0.0.1:5555"), ServeRig("tcp://rig:5555", record=f"{tmp_path / 'runs'}/")]


def test_a_rig_may_be_a_stream_of_lsl(page, heard):
    chosen = heard(page.chosen)
    page.serve.endpoint.write("lsl://shake table?source_id=A%201")
    page.serve.go.click()
    assert chosen == [ServeRig("lsl://shake table?source_id=A%201")]
    page.serve.endpoint.write("lsl://table?uid=1")
    assert "is no address of an LSL stream" in page.serve.endpoint.fault.text()
    page.serve.endpoint.write("lsl://table")
    assert not page.serve.endpoint.problem
    # streams are received, not bound, and a service's results come over ZeroMQ
    page.serve.direction.setCurrentIndex(1)
    page.watch.endpoint.write("lsl://table")
    assert ["is not an endpoint" in form.endpoint.problem for form in (page.serve, page.watch)] == [True, True]


def test_a_file_is_no_folder_for_recordings(page, tmp_path):
    page.serve.folder.setText(str(tmp_path / "run.h5"))
    assert not page.serve.go.isEnabled()
    assert page.serve.fault.text().endswith("is a file: give a folder")
    page.serve.folder.setText("")
    assert page.serve.go.isEnabled()


def test_other_machines_connect_only_when_that_is_said(qtbot, settings, heard):
    dialog = ConnectDialog(settings, serve=True)
    qtbot.addWidget(dialog)
    dialog.show()
    qtbot.waitExposed(dialog)
    chosen = heard(dialog.chosen)
    serve = dialog.serve
    serve.endpoint.write("tcp://*:5555")
    assert "no single port" in serve.endpoint.fault.text()
    serve.direction.setCurrentIndex(1)
    assert "other machines" in serve.endpoint.fault.text()
    assert not serve.go.isEnabled()
    serve.insecure.click()
    assert serve.go.isEnabled()
    serve.go.click()
    assert chosen == [ServeRig(bind="tcp://*:5555", words=("--insecure",))]
    assert not dialog.isVisible()


def test_enter_in_a_field_of_the_dialog_belongs_to_that_field(qtbot, settings, heard):
    dialog = ConnectDialog(settings)
    qtbot.addWidget(dialog)
    dialog.show()
    qtbot.waitExposed(dialog)
    chosen = heard(dialog.chosen)
    qtbot.keyClick(dialog.serve.folder, Qt.Key.Key_Return)
    assert chosen == [ServeRig("tcp://127.0.0.1:5555")]


def test_everything_is_reached_by_tab(page, qtbot):
    page.demonstration.setFocus()
    reached = set()
    for _ in range(20):
        reached.add(page.focusWidget())
        qtbot.keyClick(page.focusWidget(), Qt.Key.Key_Tab)
    wanted = {
        page.demonstration, page.open, page.watch.endpoint.box, page.watch.go, page.serve.direction,
        page.serve.endpoint.box, page.serve.folder, page.serve.browse, page.serve.go, page.simulations, page.recent,
        page.runs.choose,
    }  # fmt: skip
    assert wanted <= reached


def test_other_colours_are_taken(page):
    page.setPalette(palette(DARK))
    page.apply_theme(DARK)
    fault = page.watch.endpoint.fault
    assert fault.palette().color(fault.foregroundRole()).name() == DARK.bad
    page.grab()


@pytest.fixture
def store(tmp_path) -> QSettings:
    return QSettings(str(tmp_path / "settings.ini"), QSettings.Format.IniFormat)


@pytest.fixture
def handed(tmp_path):
    folder = KeyFolder(tmp_path / "keys")
    folder.prepare()
    return folder.client("desk")


def test_keys_are_taken_and_remembered(qtbot, store, handed):
    dialog = ConnectDialog(store)
    qtbot.addWidget(dialog)
    chosen = []
    dialog.chosen.connect(chosen.append)
    form = dialog.watch
    assert not form.keys.isHidden()
    form.endpoint.write("tcp://lab:5556")
    form.keys.folder.setText(str(handed / "nowhere"))
    assert not form.go.isEnabled() and not form.keys.fault.isHidden()
    form.submit()
    assert not chosen
    form.keys.folder.setText(str(handed))
    assert form.go.isEnabled() and form.keys.fault.isHidden()
    (handed / "desk.secret").chmod(0o644)
    form.keys.folder.setText(f"{handed}/")
    assert "chmod 600" in form.keys.fault.text()
    (handed / "desk.secret").chmod(0o600)
    form.keys.folder.setText(str(handed))
    form.submit()
    assert chosen == [ConnectToService("tcp://lab:5556", str(handed))]
    first = WatchForm(store)
    qtbot.addWidget(first)
    assert first.keys.place == str(handed) and not first.keys.isHidden()


def test_who_never_had_keys_is_not_asked_on_the_first_page(qtbot, store):
    form = WatchForm(store)
    qtbot.addWidget(form)
    assert form.keys.isHidden()
    assert not form.problem
