"""The thread that keeps a connection to the broker: made, used, lost, and made again."""

from __future__ import annotations

import asyncio
import logging
import secrets
import threading
from collections.abc import Callable
from time import monotonic

import aiomqtt

from monitor.config import MqttSettings
from monitor.transport.mqtt import payloads
from monitor.transport.mqtt.backoff import Backoff
from monitor.transport.mqtt.connection import Connection, NoConnectionError, url_of
from monitor.transport.mqtt.conversation import GOODBYE, LOOK, Conversation, Rows
from monitor.transport.mqtt.credentials import CredentialError, password, tls_context
from monitor.transport.mqtt.outbox import Outbox
from monitor.transport.mqtt.topics import STATUS, Place

# beside its own errors aiomqtt lets through those of sockets, of what cannot be sent, and of numbers used twice
_TROUBLE = (aiomqtt.MqttError, OSError, ValueError, RuntimeError)

_logger = logging.getLogger("synchroscope.mqtt")


class Session:
    """Publish what the outbox holds for as long as there is a broker, and try again for as long as there is none.

    The thread is started by `start`. MQTT can change the will of a connection only by another connection: when
    the rig becomes known the session leaves properly, takes away what it had the broker keep under the former name,
    and comes again.

    Parameters
    ----------
    settings, outbox, place, rows, command, say : as of a `Conversation`.
    backoff : how long to wait between attempts.
    """

    def __init__(
        self,
        settings: MqttSettings,
        outbox: Outbox,
        place: Callable[[], Place],
        rows: Rows,
        command: Callable[[bytes, bool], None],
        say: Callable[[str], None],
        backoff: Backoff | None = None,
    ) -> None:
        self._settings, self._outbox, self._place, self._note = settings, outbox, place, say
        self._backoff = backoff or Backoff()
        self._identifier = settings.client_id or f"synchroscope-{secrets.token_hex(4)}"
        self._name = url_of(settings)
        self._conversation = Conversation(settings, outbox, place, rows, command, self._say)
        self._told: str | None = ""  # the trouble that was told last; None while there is none
        self._thread = threading.Thread(target=self._run, name="mqtt", daemon=True)
        self.connected = False

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def close(self, linger: float) -> None:
        """End; what waits may still go for `linger` s where there is a connection. A second call does nothing."""
        self._outbox.closing = True
        self._conversation.end(linger)
        if self._thread.is_alive():
            # a name that is being looked up cannot be interrupted: the thread is left to itself then
            self._thread.join(linger + 2.0 * GOODBYE)

    def _run(self) -> None:
        # aiomqtt watches sockets, which the default loop of Windows cannot
        with asyncio.Runner(loop_factory=asyncio.SelectorEventLoop) as runner:
            runner.run(self._serve())

    async def _serve(self) -> None:
        while not self._conversation.over:
            try:
                wait = await self._once()
            except Exception as problem:
                # whatever it is, the alarms that come after it are to be told
                _logger.exception("unforeseen")
                wait = self._away(f"unforeseen: {_line(problem)}", self._backoff.wait())
            again = monotonic() + wait
            while not self._conversation.over and (left := again - monotonic()) > 0.0:
                await asyncio.sleep(min(left, LOOK))

    async def _once(self) -> float:
        """Connect and stay as long as it lasts; return the s after which to try again."""
        place = self._place()
        try:
            # read every time: they may have been renewed
            secret, context = password(self._settings), tls_context(self._settings)
            will = aiomqtt.Will(place.topic(STATUS), payloads.will(), qos=1, retain=True)
            connection = Connection(self._settings, self._identifier, secret, context, will)
            await connection.open()
        except CredentialError as problem:
            return self._away(str(problem), self._backoff.slowly())
        except NoConnectionError as problem:
            return self._away(str(problem), self._backoff.slowly() if problem.refused else self._backoff.wait())
        self.connected = True
        if self._told is not None:
            self._told = None
            self._say("connected")
        began, trouble = monotonic(), ""
        try:
            await self._conversation.hold(connection, place)
            await connection.leave()
        except _TROUBLE as problem:
            trouble = str(problem.__cause__ or problem) or type(problem).__name__
        finally:
            self.connected = False
            connection.abandon()
            self._backoff.succeeded(monotonic() - began)
        if trouble and (topic := connection.choked_by):
            # or it would come again at every connection
            self._conversation.leave_out(topic)
            trouble = f"a retained message is too long: {topic} is not read until the service restarts"
        return self._away(trouble, self._backoff.wait()) if trouble else 0.0

    def _away(self, reason: str, wait: float) -> float:
        # once, and again when the reason is another one
        if reason != self._told and not self._conversation.over:
            self._told = reason
            self._say(reason)
        return wait

    def _say(self, text: str) -> None:
        self._note(f"broker {self._name}: {text}")


def _line(problem: Exception) -> str:
    return " ".join(f"{type(problem).__name__}: {problem}".split())
