"""What is wrong with an endpoint that is entered."""

from __future__ import annotations


def can_bind(entry: object) -> str:
    """Return what is wrong with an endpoint that is opened, or with the first of several; nothing if all are well."""
    return _endpoints(entry, bind=True)


def can_connect(entry: object) -> str:
    """Return the same of endpoints that are connected to."""
    return _endpoints(entry, bind=False)


def _endpoints(entry: object, *, bind: bool) -> str:
    # here, so that the window starts without the sockets
    from monitor.transport.base import TransportError
    from monitor.transport.zeromq.endpoint import check

    for url in entry if isinstance(entry, tuple) else (entry,):
        try:
            if isinstance(url, str) and url and url != "none":
                check(url, bind=bind)
        except TransportError as problem:
            return str(problem)
    return ""
