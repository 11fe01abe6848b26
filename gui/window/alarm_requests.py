"""What is asked of the alarms, on its way to the service, and what became of it."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
from PySide6.QtCore import QObject, Qt

from gui.panels.alarm_list import AlarmList
from gui.panels.events import EventsPanel
from gui.window.actions import Actions
from gui.window.asking import Asking
from gui.window.window import MainWindow
from monitor.messages.requests import AcknowledgeRequest, AlarmRequest, ResetRequest, ShelveRequest
from monitor.transport.zeromq.request_client import user_name

_LINGER = 0.5  # s that a request has to leave at the end


class AlarmRequests(QObject):
    """Carry requests from the list to the service, and tell refusals; what is shown is what the service says.

    Parameters
    ----------
    window : has the list and the banner.
    actions : some of them ask too.
    say : tells level and text.
    show : lets the list be seen, where it is hidden.
    """

    def __init__(
        self, window: MainWindow, actions: Actions, say: Callable[[str, str], None], show: Callable[[], None]
    ) -> None:
        super().__init__(window)
        self._window, self._say, self._show = window, say, show
        self._asking = Asking[AlarmRequest](window.watch)
        self._list.asked.connect(self._send)
        window.alarms.clicked.connect(self.present)
        actions["alarm.list"].triggered.connect(self.present)
        actions["alarm.acknowledge_all"].triggered.connect(self._acknowledge_all)
        window.ticked.connect(self._hear)

    @property
    def _list(self) -> AlarmList:
        return self._window.desk.panel(EventsPanel).alarms

    def present(self) -> None:
        """Show the list, and give it the keys."""
        if not self._window.watch.history.alarms:
            self._say("info", "this service has no alarms")
            return
        self._show()
        dock = self._window.desk.docks[EventsPanel.key]
        dock.show()
        # a tab may lie in front of it
        dock.raise_()
        self._list.view.choose_first()
        self._list.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def close(self) -> None:
        """Leave; what cannot be sent within half a second is lost."""
        self._asking.close(_LINGER)

    def _acknowledge_all(self) -> None:
        self._list.ask_all()

    def _send(self, request: AlarmRequest) -> None:
        request = msgspec.structs.replace(request, by=self._list.operator or user_name())
        try:
            self._asking.send(request, request)
        except (ValueError, OSError) as problem:
            self._tell(request, str(problem))

    def _hear(self) -> None:
        for request, refusal in self._asking.answers():
            if refusal:
                self._tell(request, refusal)

    def _tell(self, request: AlarmRequest, why: str) -> None:
        self._say("error", f"{_undone(request)}: {why}")


def _undone(request: AlarmRequest) -> str:
    match request:
        case AcknowledgeRequest():
            return f"not acknowledged, {request.alarm or 'all alarms'}"
        case ResetRequest():
            return f"not reset, {request.alarm or 'all alarms'}"
        case ShelveRequest():
            return f"not {'shelved' if request.seconds else 'taken off the shelf'}, {request.alarm}"
