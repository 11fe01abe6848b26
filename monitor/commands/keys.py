"""`synchroscope keys`: who may come near a service, and with which key."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("folder", type=Path, metavar="DIR", help="of the keys; made if it is not there")
    parser.add_argument(
        "--client", action="append", default=[], metavar="NAME", help="make a client's keys and let it in; repeatable"
    )
    parser.add_argument(
        "--admit",
        action="append",
        default=[],
        metavar="NAME=FILE",
        help="let in whose public key is in this file, made elsewhere; repeatable",
    )
    parser.add_argument(
        "--remove", action="append", default=[], metavar="NAME", help="let this client in no more; repeatable"
    )
    parser.add_argument("--list", action="store_true", help="print who is let in, and with which key")


def run(arguments: argparse.Namespace) -> int:
    """Do what is asked for, in the order remove, client, admit, list."""
    from monitor.transport.zeromq.allow_list import KeyFolder

    changes = arguments.client or arguments.admit or arguments.remove
    folder = KeyFolder(arguments.folder)
    if not arguments.list or changes:
        if folder.prepare():
            print(f"{folder.public}: the service's public key, for its clients")
            print(f"{folder.secret}: its secret key, for nobody")
        elif not changes:
            print(f"{folder.public} and {folder.secret} are there already; nothing was changed")
    for name in arguments.remove:
        folder.remove(name)
        print(f"{name} is let in no more; a connection that it has lasts until the service is started again")
    for name in arguments.client:
        print(f"{folder.client(name)}: for {name}, to be handed over and then deleted here")
    for text in arguments.admit:
        name, sign, file = text.partition("=")
        if not sign or not file:
            raise ValueError(f"--admit {text}: write NAME=FILE")
        folder.admit(name, Path(file))
        print(f"{name} is let in")
    if arguments.list:
        for key, name in sorted(folder.listed().items(), key=lambda item: item[1]):
            print(f"{name}\t{key.decode()}")
    return 0
