"""A real WebDAV server (WsgiDAV) over https on loopback: one user reads a folder, and every request is recorded."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from tests.servers.running import ThreadedServer

USER, PASSWORD = "reader", "se,cret%"
"""A comma and a percent sign, which the setting wants escaped."""


class _Quiet(WSGIRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Keep stderr clean."""


class WebDavServer(ThreadedServer[WSGIServer]):
    """Serve a folder; a context manager.

    Args:
        folder: whose files are served at `/docs/`.
        context: with a certificate for 127.0.0.1.

    Attributes:
        asked: method and path of each request that was answered.
        failing: paths that answer 503.
    """

    def __init__(self, folder: Path, context: ssl.SSLContext) -> None:
        self.asked: list[tuple[str, str]] = []
        self.failing: set[str] = set()
        self._server = make_server("127.0.0.1", 0, self._counted(_dav(folder)), WSGIServer, _Quiet)
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)

    @property
    def place(self) -> str:
        """Return `127.0.0.1:port`."""
        return f"127.0.0.1:{self._server.server_port}"

    @property
    def login(self) -> str:
        """Return the setting that signs in."""
        return f"{self.place}={USER}:se%2Ccret%25"

    def fetched(self) -> list[str]:
        """List the documents that were asked for."""
        return [path for method, path in self.asked if method == "GET"]

    def _counted(self, dav: Callable[..., Iterable[bytes]]) -> Any:
        def answer(environ: dict[str, Any], start: Callable[..., object]) -> Iterable[bytes]:
            self.asked.append((environ["REQUEST_METHOD"], environ["PATH_INFO"]))
            if environ["PATH_INFO"] in self.failing:
                start("503 Service Unavailable", [("Content-Length", "0")])
                return [b""]
            return dav(environ, start)

        return answer


def _dav(folder: Path) -> Any:
    from wsgidav.wsgidav_app import WsgiDAVApp

    config: dict[str, Any] = {
        "provider_mapping": {"/docs": str(folder)},
        "simple_dc": {"user_mapping": {"*": {USER: {"password": PASSWORD}}}},
        "http_authenticator": {"accept_basic": True, "accept_digest": False, "default_to_digest": False},
        "logging": {"enable": False, "enable_loggers": []},
        "verbose": 0,
    }
    return WsgiDAVApp(config)
