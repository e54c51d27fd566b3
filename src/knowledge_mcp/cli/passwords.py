"""Ask a person at a terminal for the password of a protected file."""

from __future__ import annotations

import getpass
import sys

from knowledge_mcp.cli.failures import say

__all__ = ["ask_password", "can_ask"]


def can_ask() -> bool:
    """Tell whether a person sits there who can be asked."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def ask_password(name: str, why: str) -> str | None:
    """Ask for a password without showing it; None where none was given."""
    say(why)
    try:
        return getpass.getpass(f"Password of {name} (Enter to leave the file out): ", stream=sys.stderr) or None
    except EOFError:
        return None
