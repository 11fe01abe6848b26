"""Export of panels as PNG or SVG, and of the span in view as CSV."""

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
from gui.window.actions import Actions
from gui.window.export_csv import decimated_note, tables_in_view, write_tables
from gui.window.window import MainWindow
from monitor.system.files import WriteError, atomic_write

SCALE = 2.0
"""Pixels of a PNG for one pixel of the screen."""
_SUFFIXES = (".png", ".svg")
_FAMILY = re.compile(r'font-family="([^"]*)"')


def export_picture(widget: QWidget, path: Path, title: str = "") -> Path:
    """Write a picture of a widget; the suffix of the path chooses the format.

    Parameters
    ----------
    path : ``.png`` or ``.svg``.
    title : stored in the file.

    Returns
    -------
    The path.

    Raises
    ------
    WriteError : the suffix is another one, the widget has no size, or the file cannot be written.
    """
    suffix = path.suffix.lower()
    if suffix not in _SUFFIXES:
        raise WriteError(f"{path}: a picture is a .png or a .svg file")
    if widget.size().isEmpty():
        raise WriteError(f"{path}: the panel is hidden or has no size, show it first")
    data = png_bytes(widget, title) if suffix == ".png" else svg_bytes(widget, title)
    with atomic_write(path) as file:
        file.write(data)
    return path


def png_bytes(widget: QWidget, title: str = "", scale: float = SCALE) -> bytes:
    """Return a PNG with `scale` pixels for one pixel of the screen."""
    image = QImage(widget.size() * scale, QImage.Format.Format_RGB32)
    image.setDevicePixelRatio(scale)
    image.fill(widget.palette().window().color())
    widget.render(image)
    if title:
        image.setText("Title", title)
    # 96 dots an inch on a page
    image.setDotsPerMeterX(round(scale * 96 / 0.0254))
    image.setDotsPerMeterY(round(scale * 96 / 0.0254))
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    image.save(buffer, "PNG")  # type: ignore[call-overload]  # the stubs ask for bytes, Qt takes text
    return bytes(buffer.data().data())


def svg_bytes(widget: QWidget, title: str = "") -> bytes:
    """Return an SVG with lines as paths and text as text."""
    # by way of a QPicture: painted directly into an SVG, child widgets are clipped at the wrong places
    picture = QPicture()
    painter = QPainter(picture)
    painter.fillRect(widget.rect(), widget.palette().window())
    with _no_cache(widget):
        widget.render(painter, QPoint(0, 0))
    painter.end()
    data = QByteArray()
    buffer = QBuffer(data)
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    # SVG Tiny 1.2 cannot clip curves at the edge of their plot
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
def _no_cache(widget: QWidget) -> Iterator[None]:
    """Disable the cached pixmaps of graphics views, so that backgrounds are drawn as vectors."""
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
    """Return the font family that was requested, the one that was used, and a generic one."""
    requested = found[1]
    info = QFontInfo(QFont(requested))
    names = dict.fromkeys("'" + name.replace("'", "") + "'" for name in (requested, info.family()))
    kind = "monospace" if info.fixedPitch() else "sans-serif"
    return f'font-family="{", ".join((*names, kind))}"'


class ExportController:
    """Connects the actions of exports: asks for a file name, and writes the file.

    Parameters
    ----------
    window : has the panels.
    actions : "export panel as PNG" and the like.
    notify : shows a message; arguments are level and text.
    """

    def __init__(self, window: MainWindow, actions: Actions, notify: Callable[[str, str], None]) -> None:
        self._window, self._actions, self._notify = window, actions, notify
        self._focused: Panel | None = None
        self._thread = ThreadPoolExecutor(1, "export")
        self._writing: Future[tuple[Path, ...]] | None = None
        application = QApplication.instance()
        assert isinstance(application, QApplication)
        application.focusChanged.connect(self._remember_panel)
        window.ticked.connect(self._report_written)
        actions.connect(
            {
                "file.export_png": lambda: self._choose_panel(".png"),
                "file.export_svg": lambda: self._choose_panel(".svg"),
                "file.export_csv": self._ask_csv,
            },
        )

    def set_enabled(self, enabled: bool) -> None:
        """Enable or disable the actions."""
        for kind in ("png", "svg", "csv"):
            self._actions.enable(f"file.export_{kind}", enabled)

    def close(self) -> None:
        """Wait for a file that is being written."""
        application = QApplication.instance()
        if isinstance(application, QApplication):
            application.focusChanged.disconnect(self._remember_panel)
        self._thread.shutdown(wait=True)

    def write_picture(self, panel: Panel, path: Path) -> None:
        """Write a picture of a panel, and report the result."""
        try:
            export_picture(panel, path, panel.title)
        except WriteError as problem:
            self._notify("error", str(problem))
        else:
            self._notify("info", f"{panel.title}: saved as {path}")

    def write_csv(self, path: Path) -> None:
        """Write the samples and results in view, in a thread."""
        view, history = self._window.view, self._window.connection.history
        if self._writing is not None:
            self._notify("warning", "the previous export is still being written")
            return
        try:
            # copied here: the history changes while the thread writes
            tables = tables_in_view(history, view.left, view.right)
        except WriteError as problem:
            self._notify("error", str(problem))
            return
        missing = decimated_note(history, view.left)
        if missing:
            self._notify("warning", missing)
        self._writing = self._thread.submit(write_tables, tables, path)

    def _report_written(self) -> None:
        if self._writing is None or not self._writing.done():
            return
        done, self._writing = self._writing, None
        try:
            self._notify("info", f"saved: {', '.join(str(path) for path in done.result())}")
        except WriteError as problem:
            self._notify("error", str(problem))

    def _remember_panel(self, _old: QWidget | None, new: QWidget | None) -> None:
        """Remember the panel that had the focus last."""
        while new is not None and not isinstance(new, Panel):
            new = new.parentWidget()
        if new is not None:
            self._focused = new

    def _choose_panel(self, suffix: str) -> None:
        """Ask which panel to export, in a menu; the focused one is first."""
        shown = list(self._window.dock_area.visible_panels)
        if self._focused in shown:
            shown.sort(key=lambda panel: panel is not self._focused)
        menu = QMenu(self._window)
        menu.addSection(f"Export as {suffix[1:].upper()}")
        for panel in shown:
            menu.addAction(panel.title, self._file_dialog_for(panel, suffix))
        menu.aboutToHide.connect(menu.deleteLater)
        menu.setActiveAction(menu.actions()[-len(shown)] if shown else menu.actions()[0])
        menu.popup(self._window.mapToGlobal(self._window.rect().center()))

    def _file_dialog_for(self, panel: Panel, suffix: str) -> Callable[[], None]:
        return lambda: self._ask_path(
            f"{panel.key}{suffix}", f"Pictures (*{suffix})", lambda path: self.write_picture(panel, path)
        )

    def _ask_csv(self) -> None:
        self._ask_path("span.csv", "Tables (*.csv)", self.write_csv)

    def _ask_path(self, name: str, kinds: str, write: Callable[[Path], None]) -> None:
        stem, dot, suffix = name.partition(".")
        dialog = QFileDialog(self._window, "Export", f"{stem}-{datetime.now():%Y%m%d-%H%M%S}{dot}{suffix}", kinds)
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setDefaultSuffix(suffix)
        dialog.fileSelected.connect(lambda text: write(Path(text)))
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()
