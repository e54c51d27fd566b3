"""What the two servers' commands share: options of one wording, problems told together, and how they end."""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from knowledge_mcp.cli.failures import ExitCode, exit_code_of, print_failure
from knowledge_mcp.model.errors import ConfigError, InternalError, KnowledgeError, reason_of

if TYPE_CHECKING:
    from knowledge_mcp.settings import Settings
    from knowledge_mcp.wiring import Start

__all__ = [
    "ServerParser",
    "add_config",
    "add_log_level",
    "port_from",
    "raise_problems",
    "run_to_exit_code",
    "what_it_runs_on",
]

_logger = logging.getLogger(__name__)


class ServerParser(argparse.ArgumentParser):
    """Parse a server's command line; a wrong one is a wrong configuration (exit 3)."""

    def error(self, message: str) -> NoReturn:
        """Tell what is wrong and what to do next."""
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
        "--config", type=Path, metavar="FILE", help="JSON or YAML settings; the environment and .env win over it"
    )


def port_from(least: int) -> Callable[[str], int]:
    """Make the reader of a port that is at least this: 1, or 0 for any that is free."""

    def port(text: str) -> int:
        number = int(text) if text.isdecimal() else -1
        if not least <= number <= 65535:
            free = "" if least else ", or 0 for any that is free"
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
    """Run a server until it ends; whatever kept it from starting is printed and becomes the exit code."""
    try:
        return serve()
    except KeyboardInterrupt:
        return ExitCode.SUCCESS
    except KnowledgeError as exc:
        print_failure(exc, verbose=verbose)
        return exit_code_of(exc)
    except Exception as exc:
        _logger.debug("start-up failed", exc_info=True)
        print_failure(InternalError(f"The server failed. {reason_of(exc)}"), verbose=True)
        return ExitCode.FAILURE


def raise_problems(problems: list[str], found: Sequence[KnowledgeError]) -> None:
    """Raise one error for everything that keeps a server from starting; nothing where nothing does (A-REQ-REL-003).

    Args:
        problems: sentences about the settings.
        found: what trying to start came to.
    """
    if problems:
        lines = [line for each in found for line in (each.message, *each.details.splitlines()) if line]
        problems.extend(line for line in lines if line not in problems)
        raise ConfigError(
            f"{len(problems)} things are wrong." if len(problems) > 1 else problems[0],
            details="\n".join(problems),
            suggestion="Correct what is named above; `knowledge config show` tells where each value comes from.",
        )
    if len(found) == 1:
        raise found[0]
    if found:
        lines = [line for each in found for line in (each.message, each.details) if line]
        kind = ConfigError if any(isinstance(each, ConfigError) for each in found) else type(found[0])
        raise kind(f"{len(found)} things keep the server from starting.", details="\n".join(lines))
