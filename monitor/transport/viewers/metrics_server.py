"""HTTP for the page of metrics: few readers, none of whom can hold anything up."""

from __future__ import annotations

import errno
import math
import socket
import time
from contextlib import suppress
from http.server import BaseHTTPRequestHandler
from socketserver import TCPServer, ThreadingMixIn
from threading import BoundedSemaphore, Lock, Thread
from typing import Any

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder

from monitor.transport.base import TransportError

_MOST_READERS = 8
_PATIENCE = 5.0  # s for a reader to say what it wants and to take it
_BREATH = 0.05  # s


class PageServer(ThreadingMixIn, TCPServer):
    """Serve a few readers at a time; one that is slow or says nothing is given up.

    Raises
    ------
    TransportError : the port is taken, or the host is not this machine's.
    """

    allow_reuse_address = True
    request_queue_size = 64

    def __init__(self, host: str, port: int, registry: CollectorRegistry) -> None:
        self.registry = registry
        self._room = BoundedSemaphore(_MOST_READERS)
        self._until: dict[socket.socket, float] = {}
        self._readers: list[Thread] = []
        self._lock = Lock()
        shown = f"[{host}]" if ":" in host else host or "*"
        try:
            found = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
            self.address_family, _, _, _, where = found[0]
            super().__init__((str(where[0]), port), _Reader)
        except OSError as problem:
            taken = problem.errno in (errno.EADDRINUSE, errno.EACCES)
            why = "is in use, or not for this user: choose another port" if taken else problem.strerror
            raise TransportError(f"{shown}:{port} {why}") from problem
        self.url = f"http://{shown}:{self.server_address[1]}/metrics"

    def process_request(self, request: Any, client_address: Any) -> None:
        """Serve a reader in a thread of its own, or send it away where there is no room."""
        if not self._room.acquire(blocking=False):
            self.shutdown_request(request)
            return
        with self._lock:
            self._until[request] = time.monotonic() + _PATIENCE
        # not as the base does: one that cannot be started must leave nothing behind
        reader = Thread(target=self.process_request_thread, args=(request, client_address), name="prometheus reader")
        self._readers = [each for each in self._readers if each.is_alive()]
        try:
            reader.start()
        except RuntimeError:
            self._leave(request)
            raise
        self._readers.append(reader)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Serve a reader, and make room again."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._leave(request)

    def _leave(self, request: Any) -> None:
        with self._lock:
            del self._until[request]
        self._room.release()

    def get_request(self) -> tuple[Any, Any]:
        """Take the next reader."""
        try:
            return super().get_request()
        except OSError:
            # without a free descriptor it goes on waiting there, and would be asked for again at once
            time.sleep(_BREATH)
            raise

    def service_actions(self) -> None:
        """Cut those off who have had their time; called again and again."""
        self._cut(time.monotonic())

    def server_close(self) -> None:
        """Leave no thread behind, however slow a reader is."""
        self._cut(math.inf)
        super().server_close()
        for reader in self._readers:
            reader.join()

    def _cut(self, now: float) -> None:
        with self._lock:
            for reader, until in self._until.items():
                if now >= until:
                    with suppress(OSError):
                        reader.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: a reader that goes away or talks nonsense is its own affair."""


class _Reader(BaseHTTPRequestHandler):
    server: PageServer
    server_version = "synchroscope"
    sys_version = ""

    def do_GET(self) -> None:
        """Answer."""
        if self.path.split("?")[0] != "/metrics":
            self.send_error(404, "the metrics are at /metrics")
            return
        try:
            encode, kind = choose_encoder(self.headers.get("Accept", ""))
        except (TypeError, ValueError):
            # a version that is none
            encode, kind = choose_encoder("")
        page = encode(self.server.registry)
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(page)))
        self.end_headers()
        self.wfile.write(page)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  as its base calls it
        """Say nothing."""
