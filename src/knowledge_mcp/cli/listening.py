"""What an HTTP server needs beside stdio's: tokens, an address that is allowed, and a free port."""

from __future__ import annotations

import errno
import json
import logging
import socket
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from knowledge_mcp.model.errors import InternalError
from knowledge_mcp.settings import Settings

if TYPE_CHECKING:
    from knowledge_mcp.transports.mcp import KnowledgeServer

__all__ = ["is_loopback", "listen", "listening_problems", "read_tokens"]

_logger = logging.getLogger(__name__)
_DEFAULT_CLIENT = "default"


def is_loopback(host: str) -> bool:
    """Tell whether an address is reached from this machine only."""
    return host.lower() in {"localhost", "::1"} or host.startswith("127.")


def read_tokens(settings: Settings, problems: list[str]) -> dict[str, str]:
    """Gather the bearer tokens by client name; `MCP_API_KEY` is the client `default`.

    Args:
        settings: name the token and the file of tokens.
        problems: gets one sentence for each thing wrong.
    """
    tokens: dict[str, str] = {}
    if settings.mcp_api_key is not None:
        tokens[_DEFAULT_CLIENT] = settings.mcp_api_key.get_secret_value()
    path = settings.mcp_api_keys_file
    if path is None:
        return tokens
    try:
        text = path.read_text(encoding="utf-8")
        found = _tokens_in(text)
    except OSError as exc:
        problems.append(f"MCP_API_KEYS_FILE {path} could not be read: {exc.strerror or type(exc).__name__}.")
        return tokens
    except ValueError as exc:
        problems.append(f"MCP_API_KEYS_FILE {path}: {exc}.")
        return tokens
    if not found:
        problems.append(f"MCP_API_KEYS_FILE {path} holds no token.")
    _warn_if_readable_by_all(path)
    return {**tokens, **found}


def _tokens_in(text: str) -> dict[str, str]:
    pairs: list[tuple[str, Any]] = []
    if text.lstrip().startswith("{"):
        try:
            content: object = json.loads(text)
        except ValueError:
            raise ValueError("it is not a valid JSON object") from None
        pairs = list(cast("dict[str, Any]", content).items())
    else:
        lines = [line.strip() for line in text.splitlines()]
        for number, line in enumerate(lines, 1):
            if line and not line.startswith("#"):
                name, colon, token = line.partition(":")
                if not colon:
                    raise ValueError(f"line {number} is not of the form 'name: token'")
                pairs.append((name.strip(), token.strip()))
    tokens: dict[str, str] = {}
    for name, token in pairs:
        if not name or name in tokens:
            raise ValueError(f"the client name '{name}' is empty or given twice")
        if not isinstance(token, str) or not token or not token.isascii() or not token.isprintable() or " " in token:
            raise ValueError(f"the token of '{name}' must be visible ASCII characters without blanks")
        tokens[name] = token
    return tokens


def _warn_if_readable_by_all(path: Path) -> None:
    if path.stat().st_mode & 0o004:
        _logger.warning("MCP_API_KEYS_FILE %s can be read by every user of this machine; `chmod 600` it", path)


def listening_problems(host: str | None, tokens: Mapping[str, str], *, allowed: bool) -> list[str]:
    """Refuse an address that others reach while nobody has to show a token, unless that is asked for."""
    if tokens or host is None or is_loopback(host) or allowed:
        return []
    reached = f"--host {host} can be reached from other machines, and no token is configured"
    return [f"{reached}: set MCP_API_KEY (or MCP_API_KEYS_FILE), or pass --allow-unauthenticated."]


def listen(
    server: KnowledgeServer,
    settings: Settings,
    address: tuple[str, int],
    tokens: Mapping[str, str],
    *,
    log_level: str,
    started: Callable[[], None],
) -> None:
    """Serve `/mcp`, `/sse`, `/messages/` and `/health` until SIGINT or SIGTERM.

    Args:
        server: with its tools registered.
        settings: hosts, origins and limits.
        address: host and port.
        tokens: by client name; empty for no authentication.
        log_level: of the HTTP server's own log.
        started: called once the address is known to be free.

    Raises:
        InternalError: the address cannot be listened on.
        KeyboardInterrupt: it was told to stop, and has stopped.
    """
    from knowledge_mcp.transports import http

    host, port = address
    _make_sure_it_is_free(host, port)
    _tell_who_may_come(host, tokens, settings)
    app = http.build_app(
        server,
        tokens=tokens,
        allowed_hosts=_hosts(settings.allowed_hosts, host, port),
        allowed_origins=settings.allowed_origins,
        max_body_bytes=settings.max_body_bytes,
    )
    started()
    http.serve(app, host, port, log_level)


def _hosts(configured: tuple[str, ...], host: str, port: int) -> tuple[str, ...]:
    names = ["127.0.0.1", "localhost", "[::1]"]
    if host not in {"0.0.0.0", "::", *names, "::1"}:
        names.append(f"[{host}]" if ":" in host else host)
    own = [f"{name}:{port}" for name in names]
    return tuple(dict.fromkeys([*configured, *own]))


def _tell_who_may_come(host: str, tokens: Mapping[str, str], settings: Settings) -> None:
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
