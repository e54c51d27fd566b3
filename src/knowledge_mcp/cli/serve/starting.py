"""What the two servers' commands share: options of one wording, problems reported together, and how they end."""

from __future__ import annotations

import argparse
import contextlib
import logging
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, TypeVar

from knowledge_mcp.cli.shared.failures import ExitCode, exit_code_of, print_failure
from knowledge_mcp.model.errors import ConfigError, InternalError, KnowledgeError, reason_of
from knowledge_mcp.support.hosts import LOOPBACK_HOSTS, is_loopback
from knowledge_mcp.support.retry import without_retries

if TYPE_CHECKING:
    from knowledge_mcp.settings import Settings
    from knowledge_mcp.transports.mcp.server import KnowledgeServer
    from knowledge_mcp.transports.shared.admission import ProtectedResource
    from knowledge_mcp.transports.shared.audit import AuditLog
    from knowledge_mcp.transports.shared.keys import KeyRing
    from knowledge_mcp.wiring import Start

_logger = logging.getLogger(__name__)
_T = TypeVar("_T")


class ServerParser(argparse.ArgumentParser):
    """Parse a server's command line; a wrong one is a wrong configuration (exit 3)."""

    def error(self, message: str) -> NoReturn:
        """Report the error and the next step."""
        self.print_usage(sys.stderr)
        self.exit(ExitCode.CONFIGURATION, f"Error: {message}\nNext: `{self.prog} --help` lists the options.\n")


def add_log_level(parser: argparse.ArgumentParser) -> None:
    """Add `--log-level`."""
    parser.add_argument(
        "--log-level",
        type=str.upper,
        choices=("DEBUG", "INFO", "WARNING", "ERROR"),
        metavar="LEVEL",
        help="DEBUG, INFO, WARNING or ERROR (default: LOG_LEVEL, else INFO); logs go to stderr",
    )


def add_config(parser: argparse.ArgumentParser) -> None:
    """Add `--config`."""
    parser.add_argument(
        "--config",
        type=Path,
        metavar="FILE",
        help="JSON or YAML file with settings; the environment and .env take precedence",
    )


def port_from(least: int) -> Callable[[str], int]:
    """Make the reader of a port that is at least this: 1, or 0 for any free port."""

    def port(text: str) -> int:
        number = int(text) if text.isdecimal() else -1
        if not least <= number <= 65535:
            free = "" if least else ", or 0 for any free port"
            raise argparse.ArgumentTypeError(f"'{text}' is not a port (1 to 65535{free})")
        return number

    return port


def what_it_runs_on(settings: Settings, start: Start, surface: str) -> dict[str, str | None]:
    """List store and embedding in force with their reasons, for the log of a start."""
    from knowledge_mcp.settings import choose_embedding, choose_store

    store, embedding = choose_store(settings), choose_embedding(settings, surface)
    return {
        "vector_store": start.backend or "none here",
        "vector_store_reason": start.degraded or store.reason,
        "vector_store_status": "degraded" if start.degraded else "healthy",
        "embedding_provider": embedding.provider,
        "embedding_model": embedding.model,
        "embedding_reason": embedding.reason,
    }


def run_to_exit_code(serve: Callable[[], int], *, verbose: bool) -> int:
    """Run a server until it ends; an error at startup is printed and becomes the exit code."""
    try:
        return serve()
    except KeyboardInterrupt:
        return ExitCode.SUCCESS
    except KnowledgeError as exc:
        print_failure(exc, verbose=verbose, how="--log-level DEBUG")
        return exit_code_of(exc)
    except Exception as exc:
        _logger.debug("start-up failed", exc_info=True)
        print_failure(InternalError(f"The server failed. {reason_of(exc)}"), verbose=True)
        return ExitCode.FAILURE


def start_or_raise(settings: Settings, surfaces: Sequence[str], problems: list[str]) -> Start:
    """Try what a server needs, and raise one error for everything that prevents it from starting (A-REQ-REL-003).

    The connections are tried even where settings are wrong, so that everything is reported at once, but without
    retries: no answer would let the server start.

    Args:
        settings: the settings.
        surfaces: those that the server has.
        problems: sentences about the settings.

    Raises:
        ConfigError: a setting is wrong.
        KnowledgeError: as `try_start` found.
    """
    from knowledge_mcp import wiring

    with without_retries() if problems else contextlib.nullcontext():
        start = wiring.try_start(settings, surfaces=surfaces)
    found = start.problems
    if problems:
        lines = [line for each in found for line in (each.message, *each.details.splitlines()) if line]
        problems.extend(line for line in lines if line not in problems)
        raise ConfigError(
            "The server cannot start." if len(problems) > 1 else problems[0],
            details="\n".join(problems),
            suggestion="Correct the problems listed above; `knowledge config show` shows where each value comes from.",
        )
    if len(found) == 1:
        raise found[0]
    if found:
        lines = [line for each in found for line in (each.message, each.details) if line]
        kind = ConfigError if any(isinstance(each, ConfigError) for each in found) else type(found[0])
        raise kind("The server cannot start.", details="\n".join(lines))
    return start


_EVERYWHERE = frozenset({"0.0.0.0", "::"})


def allowed_folders(settings: Settings, *, unset: _T) -> tuple[Path, ...] | _T:
    """List the folders of ALLOWED_ROOTS; `unset` if it has no value."""
    if settings.allowed_roots is None:
        return unset
    return tuple(Path(each).expanduser() for each in settings.allowed_roots)


def read_tokens(settings: Settings, problems: list[str]) -> KeyRing:
    """Gather the bearer tokens by client name; `MCP_API_KEY` is the client `default`.

    Args:
        settings: name the token and the file of tokens, which is read again when it changes.
        problems: gets one sentence where something is wrong with the file.
    """
    from knowledge_mcp.transports.shared.keys import KeyRing

    key = settings.mcp_api_key
    secret = key.get_secret_value() if key is not None else None
    ring = KeyRing(secret, settings.mcp_api_keys_file, setting="MCP_API_KEYS_FILE")
    if ring.problem:
        problems.append(ring.problem)
    return ring


def resource_of(settings: Settings) -> ProtectedResource | None:
    """Describe this server as a resource of the configured OAuth issuer; None without one."""
    if settings.oauth_issuer is None or settings.oauth_resource is None:
        return None
    from knowledge_mcp.transports.shared.admission import ProtectedResource
    from knowledge_mcp.transports.shared.tokens import Issuer, TokenVerifier

    name, secret = settings.oauth_introspection_client_id, settings.oauth_introspection_client_secret
    client = (name, secret.get_secret_value()) if name is not None and secret is not None else None
    verifier = TokenVerifier(
        Issuer(settings.oauth_issuer, client=client),
        audiences=settings.oauth_audience or (settings.oauth_resource,),
        scopes=settings.oauth_scopes,
        groups_claim=settings.oauth_groups_claim,
    )
    return ProtectedResource(settings.oauth_resource, verifier)


def audit_of(settings: Settings) -> AuditLog | None:
    """Open the access log; None if it is not configured.

    Raises:
        ConfigError: it cannot be written.
    """
    if settings.audit_log is None:
        return None
    from knowledge_mcp.transports.shared.audit import AuditLog

    log = AuditLog(settings.audit_log)
    try:
        log.check()
    except InternalError as exc:
        raise ConfigError(
            f"AUDIT_LOG {settings.audit_log} cannot be written: {exc.details}",
            suggestion="Set AUDIT_LOG to a file that the server may write.",
        ) from exc
    return log


def listening_problems(host: str | None, *, tokens: bool, allowed: bool, setting: str = "MCP_API_KEY") -> list[str]:
    """Refuse a non-loopback address if no key is required, unless this was requested.

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


def list_own_hosts(host: str, port: int) -> tuple[str, ...]:
    """List the Host names by which a server is reached without anybody configuring them."""
    literal = f"[{host}]" if ":" in host else host
    names = LOOPBACK_HOSTS if host in _EVERYWHERE else dict.fromkeys((*LOOPBACK_HOSTS, literal))
    return tuple(f"{name}:{port}" for name in names)


def log_access(host: str, settings: Settings, *, tokens: bool) -> None:
    """Log who can use a server at this address, if that may be unexpected."""
    if not tokens and is_loopback(host):
        _logger.info("no key is configured: only programs on this machine can connect, and they need no key")
    elif not tokens:
        _logger.warning("NO AUTHENTICATION: everybody who can connect to %s can read and change everything", host)
    if not is_loopback(host) and not settings.allowed_hosts:
        _logger.warning("MCP_ALLOWED_HOSTS is not set: requests whose Host header names another machine are refused")


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
    from knowledge_mcp.transports.mcp import http
    from knowledge_mcp.transports.shared import serving

    host, port = address
    with contextlib.closing(serving.listen(host, port)) as listener:
        resource = resource_of(settings)
        log_access(host, settings, tokens=tokens.required or resource is not None)
        app = http.build_app(
            server,
            keys=tokens,
            resource=resource,
            allowed_hosts=(*settings.allowed_hosts, *list_own_hosts(host, port)),
            allowed_origins=settings.allowed_origins,
            max_body_bytes=settings.max_body_bytes,
        )
        started()
        http.serve(app, listener, log_level, proxies=settings.trusted_proxies, running=lambda: server.running)
