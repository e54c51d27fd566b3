"""Serve an app over HTTP on a thread of the test's own process."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

import uvicorn
from starlette.types import ASGIApp


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.is_up = threading.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.is_up.set()


@contextmanager
def serving(
    app: ASGIApp,
    *,
    grace: int = 5,
    http: str | Callable[..., Any] = "h11",
    listening: socket.socket | None = None,
) -> Generator[str]:
    """Serve an app on a free port of the loopback until the block ends; gives its address.

    Args:
        app: what to serve.
        grace: seconds that open answers get to end.
        http: makes the protocol of a connection.
        listening: a socket that listens already; it is closed at the end.
    """
    with listening or socket.create_server(("127.0.0.1", 0)) as listener:
        config = uvicorn.Config(
            app,
            log_config=None,
            access_log=False,
            server_header=False,
            ws="none",
            http=http,  # pyright: ignore[reportArgumentType] - a class is asked for, and only called
            timeout_graceful_shutdown=grace,
        )
        server = _Server(config)
        thread = threading.Thread(target=server.run, args=([listener],), name="test server", daemon=True)
        thread.start()
        try:
            assert server.is_up.wait(20), "the server did not start"
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(20)
            assert not thread.is_alive(), "the server did not stop"
