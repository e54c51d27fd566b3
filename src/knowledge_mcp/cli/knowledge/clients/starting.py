"""How an assistant starts this server: a command that lasts, and the settings in force without any secret."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from knowledge_mcp.cli.knowledge.clients.forms import ServerEntry
from knowledge_mcp.support.distribution import distribution_name, is_in_cache

if TYPE_CHECKING:
    from knowledge_mcp.settings import Reading


def entry_for(reading: Reading, *, name: str, surface: str) -> ServerEntry:
    """Build the entry of this installation: absolute command, arguments, environment without secrets."""
    command, *arguments = launch(Path(sys.prefix))
    if surface != "standards":
        arguments += ["--surface", surface]
    environment = {"DATA_PATH": str(reading.settings.data_folder.absolute())}
    for each in reading.values:
        if each.origin != "default" and not each.variable.secret and not each.problem:
            environment.setdefault(each.variable.name, each.shown)
    return ServerEntry(name, {"command": command, "args": arguments, "env": environment})


def left_out(reading: Reading) -> list[str]:
    """Say what a person should know beside the entry: secrets that are not in it, settings that are wrong, no data."""
    notes = [f"Problem: {problem}" for problem in reading.problems]
    secrets = [each.variable.name for each in reading.values if each.variable.secret and each.origin != "default"]
    if secrets:
        notes.append(f"Secrets are left out; add them to its environment yourself: {', '.join(secrets)}.")
    settings = reading.settings
    if settings.vector_store in {None, "sqlite"} and not settings.store_file.exists():
        folder = settings.data_folder.absolute()
        notes.append(f"There is no knowledge base in {folder} yet: ingest into it, or set DATA_PATH to yours.")
    return notes


def launch(prefix: Path) -> list[str]:
    """Return the command that starts the server of an environment.

    An environment in a cache does not last: there it is the command that makes it again.
    """
    name = distribution_name()
    if name and is_in_cache(prefix):
        for runner, before in (("uvx", ["--from", name]), ("pipx", ["run", "--spec", name])):
            if found := shutil.which(runner):
                return [str(Path(found).absolute()), *before, "knowledge-mcp"]
    beside = prefix / ("Scripts/knowledge-mcp.exe" if sys.platform == "win32" else "bin/knowledge-mcp")
    if beside.is_file():
        return [str(beside.absolute())]
    found = shutil.which("knowledge-mcp")
    return [str(Path(found).absolute())] if found else [sys.executable, "-m", "knowledge_mcp.cli.serve.mcp"]
