"""Fault bar: faults that are injected by hand into a replay."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

from PySide6.QtCore import QSignalBlocker, Signal
from PySide6.QtWidgets import QCheckBox, QDoubleSpinBox, QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from gui.sources.processes.player import ReplayControl
from gui.widgets.layout import WidgetRow, fill
from gui.widgets.painting import PlainLabel
from gui.widgets.theme import Theme


@dataclass(frozen=True, slots=True)
class FaultKind:
    """A fault that can be switched on and off.

    Parameters
    ----------
    key : name in the syntax of ``--fault``.
    label, tip : shown.
    unit : of the displayed number; `factor` times the number is the value of the fault.
    usual, most : initial and largest number.
    """

    key: str
    label: str
    tip: str
    unit: str
    factor: float
    usual: float
    most: float
    decimals: int = 1


FAULT_KINDS = (
    FaultKind("drop", "drop", "messages that are lost", "%", 0.01, 1.0, 100.0),
    FaultKind("duplicate", "duplicate", "messages that come twice", "%", 0.01, 1.0, 100.0),
    FaultKind("reorder", "reorder", "messages that change places with the next", "%", 0.01, 1.0, 100.0),
    FaultKind("nan", "NaN", "measured samples that are no number", "%", 0.01, 0.1, 100.0, 2),
    FaultKind("jitter", "jitter", "how far the times of messages are off, at most", "ms", 0.001, 2.0, 1000.0),
)
GAP = 0.5
"""s of samples that are dropped at once."""
DELAY_STEP = 0.005
"""s that are added to the delay of the measured signals."""


@dataclass(frozen=True)
class ManualFaults:
    """Active faults: their values by name, and the `delay` in s, which remains until it is removed."""

    active: dict[str, float] = field(default_factory=dict)
    delay: float = 0.0

    def text(self, *once: str) -> str:
        """Return the faults in the syntax of ``--fault``: the active ones, and those that happen `once`, now."""
        parts = [f"{key}={value:.12g}" for key, value in self.active.items() if value > 0.0]
        parts += [f"delay_step=0:{self.delay:.12g}"] if self.delay > 0.0 else []
        return ",".join([*parts, *once])

    def having(self, key: str, value: float | None) -> ManualFaults:
        """Return a copy with one fault on or off."""
        rest = {name: number for name, number in self.active.items() if name != key}
        return ManualFaults(rest if value is None else rest | {key: value}, self.delay)

    def later(self, delay: float = DELAY_STEP) -> ManualFaults:
        """Return a copy with a larger delay."""
        return ManualFaults(self.active, self.delay + delay)

    @property
    def words(self) -> str:
        """The active faults as text; empty: none."""
        return ", ".join(_words(self))


def _words(faults: ManualFaults) -> Iterable[str]:
    for kind in FAULT_KINDS:
        value = faults.active.get(kind.key)
        if value:
            yield f"{kind.label} {value / kind.factor:.4g} {kind.unit}"
    if faults.delay > 0.0:
        yield f"measured {1e3 * faults.delay:.4g} ms later"


def _once_words(fault: str) -> str:
    return f"gap {GAP:g} s" if fault.startswith("gap") else "restart"


def faults_from_text(text: str) -> ManualFaults:
    """Parse the player's faults; those that happened once and unknown ones are omitted."""
    active: dict[str, float] = {}
    delay = 0.0
    known = {kind.key for kind in FAULT_KINDS}
    for part in text.split(","):
        key, _, value = part.strip().partition("=")
        try:
            number = float(value.rpartition(":")[2])
        except ValueError:
            continue
        if not 0.0 <= number < math.inf:
            continue
        if key in known:
            active[key] = number
        elif key == "delay_step":
            delay = number
    return ManualFaults(active, delay)


class FaultBar(QWidget):
    """Bar of fault controls, one row; hidden at first.

    Parameters
    ----------
    theme : initial colours.

    Signals
    -------
    injected : the faults were changed here; carries them as text, to be recorded.
    """

    injected = Signal(str)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.theme = theme
        self.faults = ManualFaults()
        self._player: ReplayControl | None = None
        self.switches = {kind.key: _Switch(kind, self) for kind in FAULT_KINDS}
        for switch in self.switches.values():
            switch.changed.connect(self._switch)
        self.gap = self._button(f"Gap {GAP:g} s", "leave samples out, once")
        self.restart = self._button("Restart", "let the publisher restart, once: its numbers begin again at 0")
        self.delay = self._button(f"Delay +{1e3 * DELAY_STEP:g} ms", "let the measured signals lag more from now on")
        self.off = self._button("All off", "let nothing go wrong any more")
        self.on = PlainLabel()
        self.on.setAccessibleName("faults that are on")
        buttons = self.gap, self.restart, self.delay, self.off
        fill(
            QVBoxLayout(self),
            WidgetRow(PlainLabel("Faults"), *self.switches.values(), *buttons, self.on),
            margins=(0, 0, 0, 0),
        )
        self.gap.clicked.connect(self._make_gap)
        self.restart.clicked.connect(self._make_restart)
        self.delay.clicked.connect(self._delay_more)
        self.off.clicked.connect(self._clear)
        self.setAccessibleName("faults by hand")
        self.set_player(None)
        self.hide()

    def set_player(self, player: ReplayControl | None) -> None:
        """Inject into another player; without the faults of the previous one."""
        if self._player is not None:
            self._player.changed.disconnect(self._show_state)
            self._player.refused.disconnect(self._give_back)
        self._player = player
        if player is not None:
            player.changed.connect(self._show_state)
            player.refused.connect(self._give_back)
        self.setEnabled(player is not None)
        self._show(ManualFaults() if player is None else faults_from_text(player.faults))

    def apply_theme(self, theme: Theme) -> None:
        """Apply a theme."""
        self.theme = theme
        self._show(self.faults)

    def _button(self, text: str, tip: str) -> QPushButton:
        button = QPushButton(text, self)
        button.setToolTip(tip)
        return button

    def _switch(self, switch: _Switch) -> None:
        value = switch.value
        if value != self.faults.active.get(switch.kind.key):
            self._inject(self.faults.having(switch.kind.key, value))

    def _make_gap(self) -> None:
        self._inject(self.faults, f"gap=0:{GAP:g}")

    def _make_restart(self) -> None:
        self._inject(self.faults, "restart=0")

    def _delay_more(self) -> None:
        self._inject(self.faults.later())

    def _clear(self) -> None:
        self._inject(ManualFaults())

    def _inject(self, faults: ManualFaults, *once: str) -> None:
        self._show(faults)
        if self._player is not None:
            self._player.set_faults(faults.text(*once))
            self.injected.emit(f"faults injected: {', '.join([*_words(faults), *map(_once_words, once)]) or 'none'}")

    def _show_state(self) -> None:
        if self._player is not None and (reported := faults_from_text(self._player.faults)) != self.faults:
            self._show(reported)

    def _give_back(self, _why: str) -> None:
        self._show_state()

    def _show(self, faults: ManualFaults) -> None:
        self.faults = faults
        for key, switch in self.switches.items():
            switch.show_value(faults.active.get(key))
        self.on.setText(f"▲ on: {faults.words}" if faults.words else "○ nothing is on")
        self.on.setStyleSheet(f"color: {self.theme.warn if faults.words else self.theme.muted}")


class _Switch(QWidget):
    """Controls of one fault: check box and number; `changed` is emitted with itself."""

    changed = Signal(object)

    def __init__(self, kind: FaultKind, parent: QWidget) -> None:
        super().__init__(parent)
        self.kind = kind
        self.box = QCheckBox(kind.label)
        self.number = QDoubleSpinBox(decimals=kind.decimals, suffix=f" {kind.unit}")
        self.number.setRange(10.0**-kind.decimals, kind.most)
        self.number.setValue(kind.usual)
        self.number.setKeyboardTracking(False)
        self.number.setAccessibleName(f"{kind.label}, {kind.unit}")
        for widget in (self.box, self.number):
            widget.setToolTip(kind.tip)
        fill(QHBoxLayout(self), self.box, self.number, margins=(0, 0, 0, 0), spacing=3)
        self.box.toggled.connect(self._inject_now)
        self.number.valueChanged.connect(self._inject_now)

    @property
    def value(self) -> float | None:
        """Value of the fault; None while it is off."""
        return round(self.number.value() * self.kind.factor, 9) if self.box.isChecked() else None

    def show_value(self, value: float | None) -> None:
        """Show whether the fault is on; emits nothing."""
        with QSignalBlocker(self.box), QSignalBlocker(self.number):
            self.box.setChecked(value is not None)
            if value is not None:
                self.number.setValue(value / self.kind.factor)

    def _inject_now(self) -> None:
        self.changed.emit(self)
