"""A server to spawn: `python -m tests.transports.server stdio|http [TOKEN …]`, over a fake Knowledge that can fail."""

from __future__ import annotations

import logging
import sys

from knowledge_mcp.transports.mcp.server import build_server, run_stdio
from knowledge_mcp.transports.shared.keys import KeyRing
from tests.transports.trouble import TroubledKnowledge, long_document


def _knowledge(_: str) -> TroubledKnowledge:
    knowledge = TroubledKnowledge()
    knowledge.add(long_document(40, 12_000))
    return knowledge


def main(arguments: list[str]) -> None:
    """Serve until the client leaves or a signal comes; HTTP takes a free port and logs it."""
    logging.basicConfig(level=logging.INFO, stream=sys.stderr, format="%(levelname)s %(name)s %(message)s")
    server = build_server(_knowledge, ["standards"], version="9.9.9")
    if arguments[0] == "stdio":
        run_stdio(server)
        return
    from knowledge_mcp.transports.mcp.http import build_app, serve
    from knowledge_mcp.transports.shared.serving import listen

    tokens = dict(token.split("=", 1) for token in arguments[1:])
    app = build_app(
        server, keys=KeyRing.of(tokens), allowed_origins=["https://app.example"], max_body_bytes=4 * 1024 * 1024
    )
    serve(app, listen("127.0.0.1", 0), "INFO", running=lambda: server.running)


if __name__ == "__main__":
    main(sys.argv[1:])
