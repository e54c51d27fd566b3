"""Reports errors and their remedies for all commands, and defines the exit codes they share."""

from __future__ import annotations

import getpass
import json
import re
import sys
import threading
from enum import IntEnum

from knowledge_mcp.model.errors import AuthError, ConfigError, ConnectionFailedError, KnowledgeError, SpaceMismatchError

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]")
_prompt_lock = threading.Lock()
_LINE_ENDS = re.compile(r"[\n\u2028\u2029]")


class ExitCode(IntEnum):
    """The exit codes of the commands (A-REQ-CLI-001, A-REQ-CLI-002)."""

    SUCCESS = 0
    FAILURE = 1
    NOTHING_DONE = 2
    CONFIGURATION = 3
    INTERRUPTED = 130


_COMMANDS = {
    "knowledge_keyword_search": "`knowledge search --mode keyword`",
    "knowledge_search": "`knowledge search`",
    "knowledge_lookup": "`knowledge lookup`",
    "knowledge_requirements": "`knowledge requirements find`",
    "knowledge_stats": "`knowledge documents list`",
    "knowledge_read": "`knowledge read`",
    "knowledge_outline": "`knowledge outline`",
    "knowledge_references": "`knowledge references`",
    "knowledge_verify_quote": "`knowledge verify-quote`",
    "knowledge_health": "`knowledge doctor`",
    "list_ingested_documents": "`knowledge planning list`",
    "`standard`": "--standard",
    "`collections`": "--in",
    "`from`": "--from",
    "`to`": "--to",
    "`next_cursor`": "--cursor",
}


def in_commands(text: str) -> str:
    """Replace the tools in a hint by commands, for a person at a terminal."""
    for tool, command in _COMMANDS.items():
        text = text.replace(tool, command)
    return text


def exit_code_of(error: KnowledgeError, otherwise: ExitCode = ExitCode.FAILURE) -> ExitCode:
    """Choose the exit code of an error: 3 for settings, credentials and unreachable services."""
    if isinstance(error, ConfigError | AuthError | ConnectionFailedError):
        return ExitCode.CONFIGURATION
    return otherwise


def print_failure(error: KnowledgeError, *, verbose: bool = False, how: str = "--verbose") -> None:
    """Write an error to stderr: what happened, what to do next, and with `verbose` the technical details.

    The details of settings and connections are always written: each of their lines is one thing to correct. `how` is
    the option of the command that shows the other details.
    """
    lines = [f"Error: {one_line(error.message)}"]
    details = [line for line in error.details.splitlines() if line.strip() and line != error.message]
    listed = isinstance(error, ConfigError | ConnectionFailedError) and not isinstance(error, SpaceMismatchError)
    if details and (verbose or listed):
        lines.extend(f"  - {line}" for line in details)
    elif details:
        lines.append(f"  ({how} shows the details)")
    if error.suggestion:
        lines.append(f"Next: {in_commands(error.suggestion)}")
    cause = error.__cause__
    if verbose and cause is not None:
        lines.append(f"Cause: {type(cause).__name__}: {cause}")
    notify("\n".join(lines))


def notify(text: str) -> None:
    """Write a message to stderr."""
    sys.stderr.write(sanitize(text) + "\n")
    sys.stderr.flush()


def sanitize(text: str) -> str:
    """Replace control characters: file names and documents must not control the terminal that shows them."""
    return _CONTROL.sub("\ufffd", text)


def escape_in_json(text: str) -> str:
    """Escape the control characters that JSON allows in a string, so that its value stays the same."""
    return _CONTROL.sub(lambda found: json.dumps(found[0])[1:-1], text)


def one_line(text: str) -> str:
    """Escape control characters and line ends: a file name may contain them, but must not end a line."""
    return _LINE_ENDS.sub(_escape, _CONTROL.sub(_escape, text))


def _escape(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode("ascii")


def confirm(question: str, otherwise: str = "Nothing was removed") -> bool:
    """Ask for confirmation on the terminal; without one, report that --yes is needed."""
    if not sys.stdin.isatty():
        notify(f"{otherwise}: there is no terminal to ask for confirmation. Pass --yes to confirm. ({question})")
        return False
    sys.stderr.write(f"{question} [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() in {"y", "yes"}:
        return True
    notify(f"{otherwise}.")
    return False


def can_ask() -> bool:
    """Return whether a person can be asked on the terminal."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def ask_password(name: str, why: str) -> str | None:
    """Ask for a password without showing it; None if it was left empty."""
    with _prompt_lock:
        notify(why)
        try:
            return getpass.getpass(f"Password of {name} (press Enter to skip the file): ", stream=sys.stderr) or None
        except EOFError:
            return None
