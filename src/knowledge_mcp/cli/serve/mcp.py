"""`knowledge-mcp`: start the MCP server over stdio, or over HTTP with Streamable HTTP and SSE side by side.

Start-up is what an assistant waits for: nothing is imported here before it is needed, and nothing is printed to stdout.
"""

from __future__ import annotations

import argparse
import gc
import logging
import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, NoReturn

from knowledge_mcp import __version__
from knowledge_mcp.cli.serve.starting import (
    ServerParser,
    add_config,
    add_log_level,
    allowed_folders,
    audit_of,
    listen,
    listening_problems,
    port_from,
    read_tokens,
    run_to_exit_code,
    start_or_raise,
    what_it_runs_on,
)
from knowledge_mcp.cli.shared.failures import ExitCode
from knowledge_mcp.cli.shared.logs import set_up_logging
from knowledge_mcp.registry import SURFACES
from knowledge_mcp.support.events import log_event

if TYPE_CHECKING:
    from knowledge_mcp.settings import Settings
    from knowledge_mcp.transports.shared.keys import KeyRing
    from knowledge_mcp.transports.shared.provider import SurfaceService
    from knowledge_mcp.wiring import Start

TRANSPORTS = ("stdio", "http", "sse")
HELP = """\
examples:
  knowledge-mcp
  knowledge-mcp --transport http --port 3002
  knowledge-mcp --log-level debug --config settings.json
  RAG_API_URL=https://rag.example.com knowledge-mcp --surface rag

exit codes: 0 clean stop, 1 failure to start, 3 configuration or connection.
`knowledge config client` prints the entry for an assistant's configuration.
"""
_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class McpArguments:
    """Hold the command line; None means that the setting decides."""

    transport: str
    log_level: str | None
    surface: str
    host: str | None
    port: int | None
    allow_unauthenticated: bool
    remote: bool
    config: Path | None


def build_parser() -> argparse.ArgumentParser:
    """Describe the command line; the documentation is made from this."""
    parser = ServerParser(
        prog="knowledge-mcp",
        description="Serve the knowledge base to AI assistants over the Model Context Protocol.",
        epilog=HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--transport",
        choices=TRANSPORTS,
        default="stdio",
        help="stdio for a local assistant; http or sse start one HTTP server with /mcp, /sse and /health "
        "(default: stdio)",
    )
    add_log_level(parser)
    parser.add_argument(
        "--surface",
        default="standards",
        metavar="NAME[,NAME]",
        help=f"tool surfaces to offer: one or more of {', '.join(sorted(SURFACES))} (default: standards)",
    )
    parser.add_argument(
        "--host",
        metavar="ADDRESS",
        help="address to listen on (default: 0.0.0.0 with a token configured, else 127.0.0.1)",
    )
    parser.add_argument(
        "--port", type=port_from(1), metavar="PORT", help="port (default: DOCUMENT_STORE_PORT, else 3002)"
    )
    parser.add_argument(
        "--allow-unauthenticated",
        action="store_true",
        help="allow a non-loopback address without a token: everybody who can connect can use all tools",
    )
    parser.add_argument(
        "--remote",
        action="store_true",
        help="use the service at RAG_API_URL instead of a store on this machine (the surface `rag` does so "
        "whenever it is set)",
    )
    add_config(parser)
    parser.add_argument("--version", action="version", version=f"knowledge-mcp {__version__}")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the server until its client leaves or it is asked to stop; returns the exit code."""
    parsed = build_parser().parse_args(argv)
    arguments = McpArguments(**vars(parsed))
    signal.signal(signal.SIGTERM, _stop)
    gc.disable()  # imports make many objects and hardly any garbage: looking for it costs a tenth of the start
    try:
        return run_to_exit_code(lambda: _serve(arguments), verbose=arguments.log_level == "DEBUG")
    finally:
        gc.enable()


def _stop(_signal: int, _frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt


def _serve(arguments: McpArguments) -> int:
    from knowledge_mcp import registry
    from knowledge_mcp.settings import read_settings

    surfaces = tuple(dict.fromkeys(name.strip() for name in arguments.surface.split(",") if name.strip()))
    reading = read_settings(
        arguments.config,
        surface=surfaces[0] if surfaces else "standards",
    )
    settings = reading.settings
    set_up_logging(arguments.log_level or settings.log_level, settings.log_format)
    problems = [*reading.problems, *_surface_problems(surfaces, registry.SURFACES)]
    if arguments.remote and settings.rag_api_url is None:
        problems.append("--remote needs RAG_API_URL, which is not set.")
    tokens: KeyRing | None = None
    if arguments.transport != "stdio":
        tokens = read_tokens(settings, problems)
        problems.extend(
            listening_problems(
                arguments.host,
                tokens=bool(tokens.names) or settings.oauth_issuer is not None,
                allowed=arguments.allow_unauthenticated,
            )
        )

    local = [
        name for name in surfaces if name in registry.SURFACES and not _is_elsewhere(name, settings, arguments.remote)
    ]
    start = start_or_raise(settings, local, problems)
    return _run(arguments, settings, surfaces, tokens, start)


def _surface_problems(surfaces: Sequence[str], available: Sequence[str] | dict[str, str]) -> list[str]:
    problems = [
        f"--surface: this build has no surface '{name}'; it has: {', '.join(sorted(available))}."
        for name in surfaces
        if name not in available
    ]
    return problems if surfaces else ["--surface is empty."]


def _is_elsewhere(surface: str, settings: Settings, remote: bool) -> bool:
    """Return whether a surface needs no store of this process."""
    return surface == "convert" or remote or (surface == "rag" and settings.rag_api_url is not None)


def _run(
    arguments: McpArguments, settings: Settings, surfaces: tuple[str, ...], tokens: KeyRing | None, start: Start
) -> int:
    from knowledge_mcp import wiring
    from knowledge_mcp.transports.mcp.server import build_server, run_stdio

    roots = allowed_folders(settings, unset=(Path.cwd(), Path.home()) if arguments.transport == "stdio" else ())

    def open_service(surface: str) -> SurfaceService:
        if surface in {"rag", "convert"} or arguments.remote:
            return wiring.build_service(settings, surface=surface, start=start, roots=roots)
        return wiring.build_local(settings, surface=surface, start=start, roots=roots)

    server = build_server(
        open_service,
        surfaces,
        version=__version__,
        audit=audit_of(settings),
    )
    gc.freeze()  # what a start made stays: the first full collection would go through all of it during the first call
    gc.enable()
    if tokens is None:
        _log_start(arguments, settings, surfaces, start, where="stdio")
        run_stdio(server)
    else:
        closed = tokens.required or settings.oauth_issuer is not None
        host = arguments.host or ("0.0.0.0" if closed else "127.0.0.1")
        port = arguments.port or settings.port
        listen(
            server,
            settings,
            (host, port),
            tokens,
            log_level=arguments.log_level or settings.log_level,
            started=lambda: _log_start(arguments, settings, surfaces, start, where=f"{host}:{port}"),
        )
    log_event(_logger, logging.INFO, "server_stop", transport=arguments.transport)
    return ExitCode.SUCCESS


def _log_start(
    arguments: McpArguments, settings: Settings, surfaces: Sequence[str], start: Start, *, where: str
) -> None:
    from knowledge_mcp.wiring import COLLECTIONS

    log_event(
        _logger,
        logging.INFO,
        "server_start",
        version=__version__,
        transport=arguments.transport,
        address=where,
        surfaces=",".join(surfaces),
        collection=",".join(COLLECTIONS.get(each, settings.collection) for each in surfaces),
        **what_it_runs_on(settings, start, surfaces[0]),
    )


if __name__ == "__main__":
    sys.exit(main())
