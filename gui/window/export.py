"""Export: panels as pictures, PNG for the eye or SVG for a paper, and what is in view as CSV."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from PySide6.QtCore import QBuffer, QByteArray, QIODevice, QPoint, QRect
from PySide6.QtGui import QFont, QFontInfo, QImage, QPainter, QPicture
from PySide6.QtSvg import QSvgGenerator
from PySide6.QtWidgets import QApplication, QFileDialog, QGraphicsView, QMenu, QWidget

from gui.panels.base import Panel
from gui.settings.files import ExportError, whole_file
from gui.window.actions import Actions
from gui.window.export_csv import left_out, tables_in_view, write_tables
from gui.window.window import MainWindow

SCALE = 2.0
"""Pixels of a PNG for one of the screen's."""
_SUFFIXES = (".png", ".svg")
_FAMILY = re.compile(r'font-family="([^"]*)"')


def export_picture(widget: QWidget, path: Path, title: str = "") -> Path:
    """Write what a widget shows; the end of the name says how.

    Parameters
    ----------
    path : ``.png`` or ``.svg``.
    title : kept in the file.

    Returns
    -------
    The file as it was written.

    Raises
    ------
    ExportError : the name ends in something else, the widget has no size, or the disk refuses.
    """
    suffix = path.suffix.lower()
    if suffix not in _SUFFIXES:
        raise ExportError(f"{path}: a picture is a .png or a .svg file")
    if widget.size().isEmpty():
        raise ExportError(f"{path}: the panel is hidden or has no size, show it first")
    data = png_bytes(widget, title) if suffix == ".png" else svg_bytes(widget, title)
    with whole_file(path) as file:
        file.write(data)
    return path


def png_bytes(widget: QWidget, title: str = "", scale: float = SCALE) -> bytes:
    """Return a PNG with `scale` pixels for one of the screen's."""
    image = QImage(widget.size() * scale, QImage.Format.Format_RGB32)
    image.setDevicePixelRatio(scale)
    image.fill(widget.palette().window().color())
    widget.render(image)
    if title:
        image.setText("Title", title)
    # 96 dots an inch, as far as a page is concerned
    image.setDotsPerMeterX(round(scale * 96 / 0.0254))
    image.setDotsPerMeterY(round(scale * 96 / 0.0254))
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    image.save(buffer, "PNG")  # type: ignore[call-overload]  # the stubs want bytes here, Qt takes text
    return bytes(buffer.data().data())


def svg_bytes(widget: QWidget, title: str = "") -> bytes:
    """Return an SVG in which lines are lines and text is text."""
    # by way of a picture: painted straight into an SVG, the parts of a widget are cut off at the wrong places
    picture = QPicture()
    painter = QPainter(picture)
    painter.fillRect(widget.rect(), widget.palette().window())
    with _no_pixels(widget):
        widget.render(painter, QPoint(0, 0))
    painter.end()
    data = QByteArray()
    buffer = QBuffer(data)
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    # 1.1: the smaller SVG cannot cut off curves at the edge of their plot
    generator = QSvgGenerator(QSvgGenerator.SvgVersion.Svg11)
    generator.setOutputDevice(buffer)
    generator.setSize(widget.size())
    generator.setViewBox(QRect(QPoint(0, 0), widget.size()))
    generator.setResolution(widget.logicalDpiX())
    generator.setTitle(title or widget.windowTitle() or widget.accessibleName())
    painter = QPainter(generator)
    painter.drawPicture(0, 0, picture)
    painter.end()
    return _FAMILY.sub(_with_fallback, bytes(data.data()).decode()).encode()


@contextmanager
def _no_pixels(widget: QWidget) -> Iterator[None]:
    """Let scenes draw their background, and not a copy of it in pixels."""
    views = [view for view in (widget, *widget.findChildren(QGraphicsView)) if isinstance(view, QGraphicsView)]
    modes = [view.cacheMode() for view in views]
    for view in views:
        view.setCacheMode(QGraphicsView.CacheModeFlag.CacheNone)
    try:
        yield
    finally:
        for view, mode in zip(views, modes, strict=True):
            view.setCacheMode(mode)


def _with_fallback(found: re.Match[str]) -> str:
    """Name the font that was meant, the one that was used, and one that every program has."""
    meant = found[1]
    info = QFontInfo(QFont(meant))
    names = dict.fromkeys("'" + name.replace("'", "") + "'" for name in (meant, info.family()))
    kind = "monospace" if info.fixedPitch() else "sans-serif"
    return f'font-family="{", ".join((*names, kind))}"'


class Exports:
    """Ask for a name, and write.

    Parameters
    ----------
    window : whose panels are exported.
    actions : that ask for it.
    say : tells level and text.
    """

    def __init__(self, window: MainWindow, actions: Actions, say: Callable[[str, str], None]) -> None:
        self._window, self._actions, self._say = window, actions, say
        self._focused: Panel | None = None
        self._thread = ThreadPoolExecutor(1, "export")
        self._writing: Future[tuple[Path, ...]] | None = None
        application = QApplication.instance()
        assert isinstance(application, QApplication)
        application.focusChanged.connect(self._remember)
        window.ticked.connect(self._report)
        actions.connect(
            {
                "file.export_png": lambda: self._choose_panel(".png"),
                "file.export_svg": lambda: self._choose_panel(".svg"),
                "file.export_csv": self._ask_csv,
            },
        )

    def allow(self, there_is_data: bool) -> None:
        """Say whether there is anything to export."""
        for kind in ("png", "svg", "csv"):
            self._actions.enable(f"file.export_{kind}", there_is_data)

    def close(self) -> None:
        """Finish what is being written."""
        application = QApplication.instance()
        if isinstance(application, QApplication):
            application.focusChanged.disconnect(self._remember)
        self._thread.shutdown(wait=True)

    def write_picture(self, panel: Panel, path: Path) -> None:
        """Write what a panel shows, and say where."""
        try:
            export_picture(panel, path, panel.title)
        except ExportError as problem:
            self._say("error", str(problem))
        else:
            self._say("info", f"{panel.title}: written to {path}")

    def write_csv(self, path: Path) -> None:
        """Write what is in view; the disk is not waited for."""
        view, history = self._window.view, self._window.watch.history
        if self._writing is not None:
            self._say("warning", "the export before is still being written: wait for it")
            return
        try:
            # copied here: the history goes on
            tables = tables_in_view(history, view.left, view.right)
        except ExportError as problem:
            self._say("error", str(problem))
            return
        missing = left_out(history, view.left)
        if missing:
            self._say("warning", missing)
        self._writing = self._thread.submit(write_tables, tables, path)

    def _report(self) -> None:
        if self._writing is None or not self._writing.done():
            return
        done, self._writing = self._writing, None
        try:
            self._say("info", f"written: {', '.join(str(path) for path in done.result())}")
        except ExportError as problem:
            self._say("error", str(problem))

    def _remember(self, _old: QWidget | None, new: QWidget | None) -> None:
        """Note which panel had the keys last."""
        while new is not None and not isinstance(new, Panel):
            new = new.parentWidget()
        if new is not None:
            self._focused = new

    def _choose_panel(self, suffix: str) -> None:
        """Ask which panel: the one with the keys stands first."""
        shown = list(self._window.desk.seen)
        if self._focused in shown:
            shown.sort(key=lambda panel: panel is not self._focused)
        menu = QMenu(self._window)
        menu.addSection(f"Export as {suffix[1:].upper()}")
        for panel in shown:
            menu.addAction(panel.title, self._asker(panel, suffix))
        menu.aboutToHide.connect(menu.deleteLater)
        menu.setActiveAction(menu.actions()[-len(shown)] if shown else menu.actions()[0])
        menu.popup(self._window.mapToGlobal(self._window.rect().center()))

    def _asker(self, panel: Panel, suffix: str) -> Callable[[], None]:
        return lambda: self._ask(
            f"{panel.key}{suffix}", f"Pictures (*{suffix})", lambda path: self.write_picture(panel, path)
        )

    def _ask_csv(self) -> None:
        self._ask("span.csv", "Tables (*.csv)", self.write_csv)

    def _ask(self, name: str, kinds: str, write: Callable[[Path], None]) -> None:
        stem, dot, suffix = name.partition(".")
        dialog = QFileDialog(self._window, "Export", f"{stem}-{datetime.now():%Y%m%d-%H%M%S}{dot}{suffix}", kinds)
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setDefaultSuffix(suffix)
        dialog.fileSelected.connect(lambda text: write(Path(text)))
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()
