"""The socket that a web server listens on, opened before anything else so that a port in use is told at once."""

from __future__ import annotations

import errno
import socket

from knowledge_mcp.model.errors import InvalidInputError

__all__ = ["address_of", "listen"]


def listen(host: str, port: int) -> socket.socket:
    """Open the listening socket; port 0 takes any free one.

    Raises:
        InvalidInputError: the address cannot be had: in use, not ours, not allowed.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family, kind, protocol)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
            listener.listen(128)
        except OSError:
            listener.close()
            raise
    except OSError as exc:
        where = _written(host, port)
        if exc.errno == errno.EADDRINUSE:
            raise InvalidInputError(
                f"{where} is already in use.",
                suggestion="Stop the program that listens there, or choose another port with --port.",
            ) from exc
        raise InvalidInputError(
            f"Cannot listen on {where}: {exc.strerror or exc}.",
            suggestion="Choose another address with --host, or another port with --port.",
        ) from exc
    return listener


def address_of(listener: socket.socket) -> str:
    """Write a listening socket's address as it stands in a URL."""
    host, port = listener.getsockname()[:2]
    return _written(host, port)


def _written(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
