"""Two free ports on this machine."""

from __future__ import annotations

import socket
from contextlib import ExitStack

from turnlog.broker.settings import HOST, Ports


def free_ports(wanted: Ports | None) -> Ports:
    """Give two ports that were free a moment ago: the wanted ones if they are, else any.

    Wanted are the last run's, so that a client's address outlives a restart. Someone may take a
    port before the broker does: whoever starts it must look, and ask again.
    """
    with ExitStack() as held:
        sockets = [held.enter_context(_bound(port)) for port in wanted or (0, 0)]
        numbers = [int(each.getsockname()[1]) for each in sockets]
    return Ports(*numbers)


def _bound(port: int) -> socket.socket:
    bound = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    # As Java does: else a port counts as taken for a minute after its last connection closed.
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((HOST, port))
    except OSError:
        bound.bind((HOST, 0))
    return bound


def listens(port: int) -> bool:
    """Tell whether something accepts connections on this port of this machine."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.settimeout(1.0)
        return probe.connect_ex((HOST, port)) == 0
