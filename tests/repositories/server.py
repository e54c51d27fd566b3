"""Processes over a folder: `python -m tests.repositories.server FOLDER serve|pk-mcp [ARGUMENT…]`, on a fast embedder.

Only the composition root is replaced: the real server and the real command run over a service whose store is SQLite and
whose clones may come from this machine. `KILL_AT` kills the process, as a power failure would, before the so manieth
call of what it names (`embed:2`); `TOKEN` is sent to the host that `TOKEN_HOST` names.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.killing import kill_at
from knowledge_mcp import registry, wiring
from knowledge_mcp.engine.repositories.service import RepositoryService
from knowledge_mcp.settings import Settings
from tests.repositories.world import make_service, sqlite


def main() -> None:
    """Run the server or the command over the folder."""
    folder, command, *arguments = Path(sys.argv[1]), *sys.argv[2:]
    kill_at(os.environ.get("KILL_AT", ""))
    tokens = {os.environ["TOKEN_HOST"]: os.environ["TOKEN"]} if "TOKEN" in os.environ else None

    def knowledge(
        settings: Settings,
        *,
        surface: str = "",
        start: wiring.Start | None = None,
        roots: Sequence[Path] | None = None,
    ) -> RepositoryService:
        del settings, surface, start, roots
        return make_service(folder, store=sqlite(folder), tokens=tokens)

    def try_start(settings: Settings, *, surfaces: Sequence[str] = ()) -> wiring.Start:
        del settings, surfaces
        return wiring.Start(backend="sqlite")

    for name, stand_in in (("build_local", knowledge), ("build_repositories", knowledge), ("try_start", try_start)):
        setattr(wiring, name, stand_in)
    registry.SURFACES.setdefault("repositories", "knowledge_mcp.surfaces.repositories:SURFACE")
    if command == "serve":
        from knowledge_mcp.cli.serve.mcp import main as serve

        sys.exit(serve(["--surface", "repositories", *arguments]))
    from knowledge_mcp.cli.repositories.repositories import main as run

    sys.argv = [command, *arguments]
    run()


if __name__ == "__main__":
    main()
