"""A button that opens a menu; the mark for it is in its text, where Qt's own would lie over the letters."""

from __future__ import annotations

from PySide6.QtWidgets import QStyleOptionToolButton, QToolButton


class MenuButton(QToolButton):
    """A tool button whose text says that there is a menu, ``Rows ▾``."""

    def initStyleOption(self, option: QStyleOptionToolButton) -> None:  # noqa: N802 - Qt's name
        """Take Qt's mark away."""
        super().initStyleOption(option)
        # the stubs of PySide 6.9 do not know the attribute
        option.features &= ~QStyleOptionToolButton.ToolButtonFeature.HasMenu  # type: ignore[attr-defined,unused-ignore]
