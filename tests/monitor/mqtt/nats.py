"""NATS servers as real processes: a cluster with MQTT and JetStream, each node on a port of its own."""

from __future__ import annotations

import socket
import subprocess
from pathlib import Path
from time import monotonic, sleep

from tests.needs import program

PROGRAM = program("nats-server")

PAGE = Path(__file__).parents[3] / "docs" / "scaling.md"
_MONITOR = '{user: monitor, password: valve, permissions: {publish: ["synchroscope.>", "homeassistant.>"], '
_MONITOR += 'subscribe: ["synchroscope.v1.lab.*.command", "$MQTT.sub.>"]}}'
_DESK = "{user: desk, password: lamp}"


class Nats:
    """A cluster of nodes, which replicate retained messages; two users, the monitor's limited to its topics.

    `accounts` and `tls` are lines of its settings.
    """

    def __init__(self, folder: Path, nodes: int = 1, *, accounts: str = "", tls: str = "") -> None:
        taken = [socket.create_server(("127.0.0.1", 0)) for _ in range(3 * nodes)]
        numbers = [int(each.getsockname()[1]) for each in taken]
        for each in taken:
            each.close()
        self.ports, clients, routes = numbers[:nodes], numbers[nodes : 2 * nodes], numbers[2 * nodes :]
        self._folder = folder
        self._processes: list[subprocess.Popen[bytes] | None] = [None] * nodes
        others = ", ".join(f'"nats-route://127.0.0.1:{port}"' for port in routes)
        for number in range(nodes):
            lines = [f"server_name: n{number}", f"listen: 127.0.0.1:{clients[number]}"]
            lines += [f'jetstream {{ store_dir: "{folder}/js{number}" }}']
            lines += [f"mqtt {{\nlisten: 127.0.0.1:{self.ports[number]}\n{tls}\n}}"]
            users = f"accounts {{ hall: {{ jetstream: enabled, users: [{_MONITOR}, {_DESK}] }} }}"
            lines += [accounts or users]
            if nodes > 1:
                lines += [f"cluster {{ name: hall, listen: 127.0.0.1:{routes[number]}, routes: [{others}] }}"]
            (folder / f"n{number}.conf").write_text("\n".join(lines) + "\n")
        for number in range(nodes):
            self.start(number)
        for port in self.ports:
            self._wait(port)

    def start(self, number: int) -> None:
        assert PROGRAM is not None
        with (self._folder / f"n{number}.log").open("ab") as log:
            settings = self._folder / f"n{number}.conf"
            self._processes[number] = subprocess.Popen([PROGRAM, "-c", settings], stdout=log, stderr=log)

    def kill(self, number: int) -> None:
        process, self._processes[number] = self._processes[number], None
        if process is not None:
            process.kill()
            process.wait(30.0)

    def stop(self) -> None:
        for number in range(len(self._processes)):
            self.kill(number)

    @staticmethod
    def _wait(port: int) -> None:
        deadline = monotonic() + 30.0
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), 1.0).close()
                return
            except OSError:
                assert monotonic() < deadline
                sleep(0.02)
