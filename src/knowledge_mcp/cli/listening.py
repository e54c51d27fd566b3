"""What an HTTP server needs beside stdio's: tokens, an address that is allowed, and a free port."""

from __future__ import annotations

import errno
import logging
import socket
from collections.abc import Callable
from typing import TYPE_CHECKING

from knowledge_mcp.model.errors import InternalError
from knowledge_mcp.settings import Settings

if TYPE_CHECKING:
    from knowledge_mcp.transports.keys import KeyRing
    from knowledge_mcp.transports.mcp import KnowledgeServer

__all__ = ["is_loopback", "listen", "listening_problems", "read_tokens"]

_logger = logging.getLogger(__name__)


def is_loopback(host: str) -> bool:
    """Tell whether an address is reached from this machine only."""
    return host.lower() in {"localhost", "::1"} or host.startswith("127.")


def read_tokens(settings: Settings, problems: list[str]) -> KeyRing:
    """Gather the bearer tokens by client name; `MCP_API_KEY` is the client `default`.

    Args:
        settings: name the token and the file of tokens, which is read again when it changes.
        problems: gets one sentence where something is wrong with the file.
    """
    from knowledge_mcp.transports.keys import KeyRing

    own = settings.mcp_api_key
    secret = own.get_secret_value() if own is not None else None
    ring = KeyRing(secret, settings.mcp_api_keys_file, setting="MCP_API_KEYS_FILE")
    if ring.problem:
        problems.append(ring.problem)
    return ring


def listening_problems(host: str | None, *, tokens: bool, allowed: bool) -> list[str]:
    """Refuse an address that others reach while nobody has to show a token, unless that is asked for."""
    if tokens or host is None or is_loopback(host) or allowed:
        return []
    reached = f"--host {host} can be reached from other machines, and no token is configured"
    return [f"{reached}: set MCP_API_KEY (or MCP_API_KEYS_FILE), or pass --allow-unauthenticated."]


def listen(
    server: KnowledgeServer,
    settings: Settings,
    address: tuple[str, int],
    tokens: KeyRing,
    *,
    log_level: str,
    started: Callable[[], None],
) -> None:
    """Serve `/mcp`, `/sse`, `/messages/` and `/health` until SIGINT or SIGTERM.

    Args:
        server: with its tools registered.
        settings: hosts, origins and limits.
        address: host and port.
        tokens: by client name; a ring that requires none for no authentication.
        log_level: of the HTTP server's own log.
        started: called once the address is known to be free.

    Raises:
        InternalError: the address cannot be listened on.
        KeyboardInterrupt: it was told to stop, and has stopped.
    """
    from knowledge_mcp.transports import http

    host, port = address
    _make_sure_it_is_free(host, port)
    _tell_who_may_come(host, settings, tokens=tokens.required)
    app = http.build_app(
        server,
        keys=tokens,
        allowed_hosts=_hosts(settings.allowed_hosts, host, port),
        allowed_origins=settings.allowed_origins,
        max_body_bytes=settings.max_body_bytes,
    )
    started()
    http.serve(app, host, port, log_level, running=lambda: server.running)


def _hosts(configured: tuple[str, ...], host: str, port: int) -> tuple[str, ...]:
    names = ["127.0.0.1", "localhost", "[::1]"]
    if host not in {"0.0.0.0", "::", *names, "::1"}:
        names.append(f"[{host}]" if ":" in host else host)
    own = [f"{name}:{port}" for name in names]
    return tuple(dict.fromkeys([*configured, *own]))


def _tell_who_may_come(host: str, settings: Settings, *, tokens: bool) -> None:
    if not tokens and is_loopback(host):
        _logger.info("no token is configured: only programs on this machine can connect, and need none")
    elif not tokens:
        _logger.warning("NO AUTHENTICATION: everybody who reaches %s can read the whole knowledge base", host)
    if not is_loopback(host) and not settings.allowed_hosts:
        _logger.warning("MCP_ALLOWED_HOSTS is not set: requests that name another host than this machine are refused")


def _make_sure_it_is_free(host: str, port: int) -> None:
    try:
        family, kind, protocol, _, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(place)
    except OSError as exc:
        where = f"{host}:{port}"
        if exc.errno == errno.EADDRINUSE:
            raise InternalError(
                f"{where} is already in use.",
                suggestion="Stop the program that listens there, or choose another port with --port.",
            ) from exc
        raise InternalError(
            f"Cannot listen on {where}: {exc.strerror or exc}.",
            suggestion="Choose another address with --host, or another port with --port.",
        ) from exc
