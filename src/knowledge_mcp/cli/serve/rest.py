"""`rag-api`: start the REST service of the library, optionally with MCP over HTTP in the same process."""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from knowledge_mcp import __version__
from knowledge_mcp.cli.serve.starting import (
    ServerParser,
    add_config,
    add_log_level,
    allowed_folders,
    audit_of,
    list_own_hosts,
    listening_problems,
    log_access,
    port_from,
    resource_of,
    run_to_exit_code,
    start_or_raise,
    what_it_runs_on,
)
from knowledge_mcp.cli.shared.failures import ExitCode
from knowledge_mcp.cli.shared.logs import set_up_logging
from knowledge_mcp.model.errors import ConfigError
from knowledge_mcp.support.distribution import install_command
from knowledge_mcp.support.events import log_event
from knowledge_mcp.support.hosts import is_loopback

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from knowledge_mcp.ports import Knowledge, SharedLibrary
    from knowledge_mcp.settings import Settings
    from knowledge_mcp.transports.rest.app import RestService
    from knowledge_mcp.transports.shared.keys import KeyRing
    from knowledge_mcp.transports.shared.provider import KnowledgeProvider, KnowledgeProviders
    from knowledge_mcp.wiring import Start

HELP = """\
examples:
  rag-api
  RAG_API_KEY=a-long-random-text rag-api --port 8000
  RAG_API_KEYS_FILE=keys.json rag-api --with-mcp --log-level debug

exit codes: 0 clean stop, 1 failure to start, 3 configuration or connection.
"""
_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RestArguments:
    """Hold the command line; None means that the setting decides."""

    host: str | None
    port: int | None
    allow_unauthenticated: bool
    with_mcp: bool
    engine: str
    grace: float
    drain: float | None
    log_level: str | None
    config: Path | None


def build_parser() -> argparse.ArgumentParser:
    """Describe the command line; the documentation is made from this."""
    parser = ServerParser(
        prog="rag-api",
        description="Serve the knowledge base over HTTP: ingest, search, list and remove documents.",
        epilog=HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--host",
        metavar="ADDRESS",
        help="address to listen on (default: RAG_API_HOST, else 0.0.0.0 with a key configured, else 127.0.0.1)",
    )
    parser.add_argument("--port", type=port_from(0), metavar="PORT", help="port (default: RAG_API_PORT, else 8000)")
    parser.add_argument(
        "--allow-unauthenticated",
        action="store_true",
        help="allow a non-loopback address without a key: everybody who can connect can do everything",
    )
    parser.add_argument(
        "--with-mcp",
        action="store_true",
        help="also serve the tools of the rag surface at /mcp, /sse and /messages/",
    )
    parser.add_argument(
        "--engine",
        metavar="NAME[,NAME]",
        default="standards",
        help="surfaces that `knowledge-mcp --remote` may use through this server (default: standards; `none` for none)",
    )
    parser.add_argument(
        "--grace",
        type=_seconds,
        default=25.0,
        metavar="SECONDS",
        help="seconds that running requests get to finish at shutdown (default: 25)",
    )
    parser.add_argument(
        "--drain",
        type=_seconds,
        metavar="SECONDS",
        help="seconds to keep accepting requests after SIGTERM, while /ready already returns 503 (default: 2, or 0 "
        "on a loopback address)",
    )
    add_log_level(parser)
    add_config(parser)
    parser.add_argument("--version", action="version", version=f"rag-api {__version__}")
    return parser


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds <= 3600:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number of seconds (0 to 3600)")
    return seconds


def main(argv: Sequence[str] | None = None) -> int:
    """Serve until asked to stop; returns the exit code."""
    arguments = RestArguments(**vars(build_parser().parse_args(argv)))
    return run_to_exit_code(lambda: _serve(arguments), verbose=arguments.log_level == "DEBUG")


def _serve(arguments: RestArguments) -> int:
    from knowledge_mcp import registry
    from knowledge_mcp.settings import read_settings

    reading = read_settings(arguments.config, surface="rag")
    settings = reading.settings
    level = arguments.log_level or settings.log_level
    set_up_logging(level, settings.log_format)
    _need_the_extra()
    from knowledge_mcp.transports.shared.keys import KeyRing

    key = settings.rag_api_key
    keys = KeyRing(None if key is None else key.get_secret_value(), settings.rag_api_keys_file)
    closed = keys.required or settings.oauth_issuer is not None
    host = arguments.host or settings.rag_api_host or ("0.0.0.0" if closed else "127.0.0.1")
    engines = _names(arguments.engine)
    problems = [*reading.problems, *([keys.problem] if keys.problem else [])]
    problems += listening_problems(host, tokens=closed, allowed=arguments.allow_unauthenticated, setting="RAG_API_KEY")
    problems += [
        f"--engine: this build has no engine for a surface '{name}'."
        for name in engines
        if name not in registry.SURFACES
    ]
    start = start_or_raise(settings, ["rag"], problems)
    port = settings.rag_api_port if arguments.port is None else arguments.port
    from knowledge_mcp.transports.shared.serving import address_of, listen, serve_until_stopped

    listener = listen(host, port)
    log_access(host, settings, tokens=closed)
    service, providers = _build(arguments, settings, start, keys, (host, listener.getsockname()[1]), engines)
    drain = arguments.drain if arguments.drain is not None else 0.0 if is_loopback(host) else 2.0
    try:
        _log_start(arguments, settings, start, keys, address_of(listener))
        serve_until_stopped(
            service,
            listener,
            grace=arguments.grace,
            log_level=level,
            proxies=settings.trusted_proxies,
            on_stop=service.stop,
            patience=drain,
        )
    finally:
        providers.close(patience=30.0)  # as the app closes the library
    log_event(_logger, logging.INFO, "server_stop", service="rag-api")
    return ExitCode.SUCCESS


def _need_the_extra() -> None:
    try:
        import fastapi
        import prometheus_client
        import python_multipart
    except ImportError as exc:
        raise ConfigError(
            f"The REST service needs '{exc.name}', which is not installed.",
            suggestion=f"Run: {install_command('api')}",
        ) from exc
    del fastapi, prometheus_client, python_multipart


def _names(text: str) -> tuple[str, ...]:
    found = tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    return () if found == ("none",) else found


def _build(
    arguments: RestArguments,
    settings: Settings,
    start: Start,
    keys: KeyRing,
    address: tuple[str, int],
    engines: tuple[str, ...],
) -> tuple[RestService, KnowledgeProviders]:
    from knowledge_mcp import wiring
    from knowledge_mcp.transports.rest.app import build_rest_app
    from knowledge_mcp.transports.rest.engine import engine_router
    from knowledge_mcp.transports.shared.provider import KnowledgeProvider, KnowledgeProviders

    hosts = (*settings.allowed_hosts, *list_own_hosts(*address))
    roots = allowed_folders(settings, unset=())
    # A file is drawn only while its bytes are those whose text is served anyway: alone on this machine, wherever it is.
    is_alone = is_loopback(address[0]) and not keys.required and settings.oauth_issuer is None
    drawn = allowed_folders(settings, unset=None if is_alone else ())
    library = KnowledgeProvider(lambda: wiring.build_library(settings, start=start, roots=drawn))
    providers = KnowledgeProviders(
        lambda name: wiring.build_local(settings, surface=name, start=start, roots=roots), engines
    )
    router = engine_router(lambda name: cast("Knowledge", providers.get(name)), engines) if engines else None
    service = build_rest_app(
        library,
        keys,
        options=settings.model_copy(update={"allowed_hosts": hosts}),
        version=__version__,
        resource=resource_of(settings),
        audit=audit_of(settings),
        mcp_app=_mcp_app(library, settings, hosts) if arguments.with_mcp else None,
        engine_router=router,
    )
    return service, providers


def _mcp_app(library: KnowledgeProvider[SharedLibrary], settings: Settings, hosts: tuple[str, ...]) -> ASGIApp:
    from knowledge_mcp.transports.mcp.http import build_app
    from knowledge_mcp.transports.mcp.server import build_server
    from knowledge_mcp.transports.shared.keys import KeyRing

    return build_app(
        build_server(lambda _: _BorrowedLibrary(library), ["rag"], version=__version__, audit=audit_of(settings)),
        keys=KeyRing(),
        allowed_hosts=hosts,
        allowed_origins=settings.allowed_origins,
        max_body_bytes=settings.max_body_bytes,
    )


class _BorrowedLibrary:
    """Lend the service's library to the tools: they use it, and do not close it."""

    def __init__(self, library: KnowledgeProvider[SharedLibrary]) -> None:
        self._library = library

    def __getattr__(self, name: str) -> Any:
        return getattr(self._library.get(), name)

    def warm_up(self) -> None:
        """Do nothing: its owner does."""

    def close(self) -> None:
        """Do nothing: its owner does."""


def _log_start(arguments: RestArguments, settings: Settings, start: Start, keys: KeyRing, address: str) -> None:
    log_event(
        _logger,
        logging.INFO,
        "server_start",
        service="rag-api",
        version=__version__,
        address=address,
        keys=",".join(keys.names),
        mcp=arguments.with_mcp,
        engines=",".join(_names(arguments.engine)),
        **what_it_runs_on(settings, start, "rag"),
    )


if __name__ == "__main__":
    sys.exit(main())
