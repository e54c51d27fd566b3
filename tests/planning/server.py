"""A planning server to spawn: `python -m tests.planning.server stdio|http FOLDER [TOKEN …]`, over a `World` on SQLite.

While a file `hold` stands in the folder, every paper waits at its second page; `held` says that one does.
"""

from __future__ import annotations

import logging
import sys
import threading
from pathlib import Path

from knowledge_mcp.lexical.analyser import EnglishAnalyser
from knowledge_mcp.ports import Knowledge
from knowledge_mcp.stores.sqlite.store import SqliteStore
from knowledge_mcp.surfaces import following
from knowledge_mcp.surfaces.planning import SURFACE
from knowledge_mcp.transports.mcp.listing import build_listing
from knowledge_mcp.transports.mcp.server import KnowledgeServer, run_stdio
from knowledge_mcp.transports.shared.keys import KeyRing
from knowledge_mcp.transports.shared.provider import KnowledgeProviders
from tests.planning.world import World


def make_world(folder: Path) -> World:
    """Make the store of a folder; several processes may."""
    world = World(folder, store=SqliteStore(folder / "knowledge.sqlite", EnglishAnalyser()), patience=0.0)

    def hold(page: int) -> None:
        pause = threading.Event()
        while page == 2 and (folder / "hold").exists():
            (folder / "held").touch()
            pause.wait(0.02)

    world.reader.hooks.append(hold)
    return world


def main(arguments: list[str]) -> None:
    """Serve until the client leaves or a signal comes; HTTP takes a free port and logs it."""
    logging.basicConfig(level=logging.INFO, stream=sys.stderr, format="%(levelname)s %(name)s %(message)s")
    folder = Path(arguments[1])
    following.HEARTBEAT = 0.2  # what tests wait for

    def knowledge(_: str) -> Knowledge:
        return make_world(folder).service

    server = KnowledgeServer(
        KnowledgeProviders(knowledge, [SURFACE.name]), [build_listing(SURFACE)], lambda: [SURFACE], version="9.9.9"
    )
    if arguments[0] == "stdio":
        run_stdio(server)
        return
    from knowledge_mcp.transports.mcp.http import build_app, serve
    from knowledge_mcp.transports.shared.serving import listen

    tokens = dict(token.split("=", 1) for token in arguments[2:])
    app = build_app(server, keys=KeyRing.of(tokens))
    serve(app, listen("127.0.0.1", 0), "INFO", running=lambda: server.running)


if __name__ == "__main__":
    main(sys.argv[1:])
