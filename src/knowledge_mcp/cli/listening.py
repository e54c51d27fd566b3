"""What an HTTP server needs beside stdio's: keys, an address that is allowed, and host names that are its own."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from knowledge_mcp.settings import Settings
    from knowledge_mcp.transports.keys import KeyRing
    from knowledge_mcp.transports.mcp import KnowledgeServer

__all__ = ["is_loopback", "listen", "listening_problems", "own_hosts", "read_tokens", "tell_who_may_come"]

_logger = logging.getLogger(__name__)

_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_EVERYWHERE = frozenset({"0.0.0.0", "::"})


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


def listening_problems(host: str | None, *, tokens: bool, allowed: bool, setting: str = "MCP_API_KEY") -> list[str]:
    """Refuse an address that others reach while nobody has to show a key, unless that is asked for.

    Args:
        host: where to listen; None where that follows from the keys.
        tokens: whether keys are configured.
        allowed: whether `--allow-unauthenticated` was given.
        setting: the variable that holds the key; with an S and _FILE it names the file of keys.
    """
    if tokens or host is None or is_loopback(host) or allowed:
        return []
    reached = f"{host} can be reached from other machines, and no key is configured"
    return [f"{reached}: set {setting} (or {setting}S_FILE), or pass --allow-unauthenticated."]


def own_hosts(host: str, port: int) -> tuple[str, ...]:
    """List the Host names by which a server is reached without anybody configuring them."""
    shown = f"[{host}]" if ":" in host else host
    names = _LOOPBACK if host in _EVERYWHERE else dict.fromkeys((*_LOOPBACK, shown))
    return tuple(f"{name}:{port}" for name in names)


def tell_who_may_come(host: str, settings: Settings, *, tokens: bool) -> None:
    """Log who can use a server that listens there, where that may surprise."""
    if not tokens and is_loopback(host):
        _logger.info("no key is configured: only programs on this machine can connect, and need none")
    elif not tokens:
        _logger.warning("NO AUTHENTICATION: everybody who reaches %s can read and change all that is served", host)
    if not is_loopback(host) and not settings.allowed_hosts:
        _logger.warning("MCP_ALLOWED_HOSTS is not set: requests that name another host than this machine are refused")


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
        InvalidInputError: the address cannot be listened on.
        InternalError: the server could not start.
    """
    from knowledge_mcp.transports import http, listening

    host, port = address
    with contextlib.closing(listening.listen(host, port)) as listener:
        tell_who_may_come(host, settings, tokens=tokens.required)
        app = http.build_app(
            server,
            keys=tokens,
            allowed_hosts=(*settings.allowed_hosts, *own_hosts(host, port)),
            allowed_origins=settings.allowed_origins,
            max_body_bytes=settings.max_body_bytes,
        )
        started()
        http.serve(app, listener, log_level, proxies=settings.trusted_proxies, running=lambda: server.running)
