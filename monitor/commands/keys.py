"""`synchroscope keys`: create CURVE keys of a service and its clients, and edit the admitted clients."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("folder", type=Path, metavar="DIR", help="key folder; created if missing")
    parser.add_argument(
        "--client",
        action="append",
        default=[],
        metavar="NAME",
        help="create keys of a client and admit it; repeatable",
    )
    parser.add_argument(
        "--admit",
        action="append",
        default=[],
        metavar="NAME=FILE",
        help="admit a client by its public key file, created elsewhere; repeatable",
    )
    parser.add_argument(
        "--remove", action="append", default=[], metavar="NAME", help="stop admitting this client; repeatable"
    )
    parser.add_argument("--list", action="store_true", help="print the admitted clients and their keys")


def run(arguments: argparse.Namespace) -> int:
    """Carry out the options in the order remove, client, admit, list."""
    from monitor.transport.zeromq.allow_list import KeyFolder

    changes = arguments.client or arguments.admit or arguments.remove
    folder = KeyFolder(arguments.folder)
    if not arguments.list or changes:
        if folder.prepare():
            print(f"{folder.public}: public key of the service, for its clients")
            print(f"{folder.secret}: secret key of the service, not to be shared")
        elif not changes:
            print(f"{folder.public} and {folder.secret} exist; nothing was changed")
    for name in arguments.remove:
        folder.remove(name)
        print(f"{name} is no longer admitted; an open connection lasts until the service restarts")
    for name in arguments.client:
        print(f"{folder.client(name)}: for {name}: transfer them, then delete them here")
    for text in arguments.admit:
        name, sign, file = text.partition("=")
        if not sign or not file:
            raise ValueError(f"--admit {text}: write NAME=FILE")
        folder.admit(name, Path(file))
        print(f"{name} is admitted")
    if arguments.list:
        for key, name in sorted(folder.listed().items(), key=lambda item: item[1]):
            print(f"{name}\t{key.decode()}")
    return 0
