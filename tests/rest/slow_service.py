"""A service to spawn: `python -m tests.rest.slow_service DRAIN GRACE`; its ingests last until a line comes on stdin."""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Callable

from knowledge_mcp.model.errors import CancelledError
from knowledge_mcp.model.library import Deposit, Deposited
from knowledge_mcp.transports.rest.app import build_rest_app
from knowledge_mcp.transports.shared.keys import KeyRing
from knowledge_mcp.transports.shared.provider import KnowledgeProvider
from knowledge_mcp.transports.shared.serving import listen, serve_until_stopped
from tests.fakes.library import FakeLibrary
from tests.rest.world import KEY, Options

logger = logging.getLogger(__name__)


class Slow(FakeLibrary):
    """A library whose ingests last until it is told that they may end."""

    go = threading.Event()

    def deposit(
        self,
        deposit: Deposit,
        *,
        on_progress: Callable[[float, float | None, str], None] | None = None,
        cancelled: Callable[[], bool] | None = None,
    ) -> Deposited:
        """Wait, looking now and then whether it is cancelled."""
        logger.info("deposit begun")
        while not self.go.wait(0.01):
            if cancelled is not None and cancelled():
                logger.info("deposit cancelled")
                raise CancelledError("It was cancelled.")
        return super().deposit(deposit, on_progress=on_progress, cancelled=cancelled)


def _listen_to_stdin() -> None:
    if sys.stdin.readline():
        Slow.go.set()


def main(drain: str, grace: str) -> None:
    """Serve on a free port until told to stop."""
    logging.basicConfig(level=logging.INFO, stream=sys.stderr, format="%(message)s")
    threading.Thread(target=_listen_to_stdin, daemon=True).start()
    library = Slow()
    service = build_rest_app(KnowledgeProvider(lambda: library), KeyRing(KEY), options=Options(), version="9.9.9")
    listener = listen("127.0.0.1", 0)
    serve_until_stopped(
        service, listener, grace=float(grace), log_level="INFO", on_stop=service.stop, patience=float(drain)
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
