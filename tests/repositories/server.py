"""Processes over a folder: `python -m tests.repositories.server FOLDER serve|pk-mcp [ARGUMENT…]`, on a fast embedder.

Only the composition root is replaced: the real server and the real command run over a desk whose store is SQLite and
whose clones may come from this machine. `KILL_AT` kills the process, as a power failure would, before the so manieth
call of what it names (`embed:2`); `TOKEN` is sent to the host that `TOKEN_HOST` names.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from knowledge_mcp import registry, wiring
from knowledge_mcp.ports import Knowledge
from knowledge_mcp.settings import Settings
from knowledge_mcp.sources.scan import RepositoryScan
from knowledge_mcp.stores import sqlite_writing
from knowledge_mcp.stores.sqlite import SqliteStore
from knowledge_mcp.testing.hashing_embedder import HashingEmbedder
from tests.repositories.world import make_desk, sqlite

KILLABLE: Mapping[str, tuple[object, str]] = {
    "scan": (RepositoryScan, "_file"),
    "embed": (HashingEmbedder, "embed_documents"),
    "store": (SqliteStore, "publish_whole"),
    "write": (sqlite_writing, "write_document"),
    "publish": (SqliteStore, "publish"),
    "swap": (SqliteStore, "rename_collections"),
}
"""What it can be killed at: one file looked at, one batch embedded, a batch stored, one file of it, a manifest …"""


def dying(method: Callable[..., object], count: int) -> Callable[..., object]:
    """Return a method that ends the process without a word in place of its so manieth call."""
    left = [count]

    def call(*arguments: object, **named: object) -> object:
        left[0] -= 1
        if not left[0]:
            os.kill(os.getpid(), signal.SIGKILL)
        return method(*arguments, **named)

    return call


def main() -> None:
    """Run the server or the command over the folder."""
    folder, command, *arguments = Path(sys.argv[1]), *sys.argv[2:]
    place, _, count = os.environ.get("KILL_AT", "").partition(":")
    if place:
        owner, name = KILLABLE[place]
        setattr(owner, name, dying(getattr(owner, name), int(count)))
    tokens = {os.environ["TOKEN_HOST"]: os.environ["TOKEN"]} if "TOKEN" in os.environ else None

    def knowledge(
        settings: Settings,
        *,
        surface: str = "",
        start: wiring.Start | None = None,
        roots: Sequence[Path] | None = None,
    ) -> Knowledge:
        del settings, surface, start, roots
        return make_desk(folder, store=sqlite(folder), tokens=tokens)

    def try_start(settings: Settings, *, surfaces: Sequence[str] = ()) -> wiring.Start:
        del settings, surfaces
        return wiring.Start(backend="sqlite")

    for name, stand_in in (("build_knowledge", knowledge), ("try_start", try_start)):
        setattr(wiring, name, stand_in)
    registry.SURFACES.setdefault("repositories", "knowledge_mcp.surfaces.repositories:SURFACE")
    if command == "serve":
        from knowledge_mcp.cli.serve import main as serve

        sys.exit(serve(["--surface", "repositories", *arguments]))
    from knowledge_mcp.cli.repositories import main as run

    sys.argv = [command, *arguments]
    run()


if __name__ == "__main__":
    main()
