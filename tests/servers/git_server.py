"""Real Git repositories and a real Git server on loopback, with and without a token, that can fail on purpose."""

from __future__ import annotations

import base64
import contextlib
import gzip
import os
import shutil
import socket
import ssl
import subprocess
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import cast
from urllib.parse import urlsplit

from tests.servers.running import ThreadedServer

_CHUNK = 64 * 1024
_IDENTITY = {
    "GIT_AUTHOR_NAME": "A Tester",
    "GIT_AUTHOR_EMAIL": "tester@example.invalid",
    "GIT_COMMITTER_NAME": "A Tester",
    "GIT_COMMITTER_EMAIL": "tester@example.invalid",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "LC_ALL": "C",
}


class MadeRepository:
    """Make a repository with commits.

    Args:
        folder: where its working tree is to be.
        branch: the first branch's name.
    """

    def __init__(self, folder: Path, *, branch: str = "main") -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.git("init", "--quiet", f"--initial-branch={branch}")

    def git(self, *arguments: str) -> str:
        """Run Git inside and return what it wrote."""
        done = subprocess.run(
            ["git", "-c", "protocol.file.allow=always", *arguments],
            cwd=self.folder,
            env={"PATH": os.defpath, **_IDENTITY},
            check=True,
            capture_output=True,
            stdin=subprocess.DEVNULL,
        )
        return os.fsdecode(done.stdout).strip()

    def write(self, files: Mapping[str, str | bytes]) -> None:
        """Write files below the working tree."""
        for name, content in files.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)

    def commit(self, files: Mapping[str, str | bytes] | None = None, *, message: str = "a change") -> str:
        """Write files, commit everything, and return the commit's hash."""
        self.write(files or {})
        self.git("add", "--all", "--force")
        self.git("commit", "--quiet", "--allow-empty", "--no-verify", f"--message={message}")
        return self.git("rev-parse", "HEAD")


@dataclass(slots=True)
class _Behaviour:
    """What the server does: which token it wants, and how it fails."""

    token: str = ""
    status: int = 0
    location: str = ""
    cut_after: int | None = None
    stalled: bool = False
    release: threading.Event = field(default_factory=threading.Event)
    reached: threading.Event = field(default_factory=threading.Event)
    seen: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])


class GitServer(ThreadedServer["_Server"]):
    """Serve the repositories below a folder by smart HTTP; a context manager.

    Args:
        root: the folder; a repository `root/owner/name` is served at `/owner/name` and `/owner/name.git`.
        token: what must be sent as the password of basic authentication; empty for none.
        tls: the server's certificate, to serve https in place of http.

    Attributes:
        behaviour: how it fails: `status` answers every request with that code (and `location`), `cut_after` ends the
            pack after so many bytes, `stalled` never answers the pack until `release` is set; `reached` is set once a
            pack is asked for; `seen` lists method and path of each request with what it sent as authorisation.
    """

    def __init__(self, root: Path, *, token: str = "", tls: ssl.SSLContext | None = None) -> None:
        self.root = root
        self.behaviour = _Behaviour(token=token)
        self._server = _Server(("127.0.0.1", 0), _Handler)
        if tls is not None:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        self._server.owner = self

    @property
    def port(self) -> int:
        """Return the port."""
        return self._server.server_address[1]

    @property
    def host(self) -> str:
        """Return `127.0.0.1:port`."""
        return f"127.0.0.1:{self.port}"

    def url(self, path: str) -> str:
        """Return the address of a repository."""
        return f"http://{self.host}/{path}"

    def __exit__(self, *_: object) -> None:
        self.behaviour.release.set()
        super().__exit__()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    owner: GitServer

    def shutdown_request(self, request: socket.socket | tuple[bytes, socket.socket]) -> None:
        """Close a connection over TLS as TLS demands; Git takes any other end for an attack."""
        if isinstance(request, ssl.SSLSocket):
            with contextlib.suppress(OSError):
                request.unwrap()
        super().shutdown_request(request)

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing of clients that go away: some are killed on purpose."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.0"
    server: _Server  # pyright: ignore[reportIncompatibleVariableOverride] - the standard library types it as its base

    def do_GET(self) -> None:
        self._serve()

    def do_POST(self) -> None:
        self._serve()

    def log_message(self, format: str, *args: object) -> None:
        """Keep stderr clean."""

    def _serve(self) -> None:
        behaviour = self.server.owner.behaviour
        behaviour.seen.append((f"{self.command} {self.path}", self.headers.get("Authorization", "")))
        body = self._body()
        if behaviour.status:
            self.send_response(behaviour.status)
            if behaviour.location:
                self.send_header("Location", behaviour.location)
            self.end_headers()
            return
        if behaviour.token and not self._may_enter(behaviour.token):
            self.send_response(401)
            self.send_header("WWW-Authenticate", 'Basic realm="test"')
            self.end_headers()
            self.wfile.write(b"Bad credentials\n")
            return
        is_pack = self.command == "POST"
        if is_pack:
            behaviour.reached.set()
        if is_pack and behaviour.stalled:
            behaviour.release.wait(60)
            return
        self._backend(body, behaviour.cut_after if is_pack else None)

    def _may_enter(self, token: str) -> bool:
        kind, _, value = self.headers.get("Authorization", "").partition(" ")
        if kind != "Basic":
            return False
        return base64.b64decode(value).decode().partition(":")[2] == token

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding", "").lower() == "chunked":
            parts: list[bytes] = []
            while size := int(self.rfile.readline().split(b";")[0], 16):
                parts.append(self.rfile.read(size))
                self.rfile.readline()
            self.rfile.readline()
            data = b"".join(parts)
        else:
            data = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        return gzip.decompress(data) if self.headers.get("Content-Encoding") == "gzip" else data

    def _backend(self, body: bytes, cut_after: int | None) -> None:
        """Hand the request to `git http-backend`, as a web server does."""
        parts = urlsplit(self.path)
        variables = {
            "PATH": os.defpath,
            "GIT_PROJECT_ROOT": str(self.server.owner.root),
            "GIT_HTTP_EXPORT_ALL": "1",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_COUNT": "2",
            "GIT_CONFIG_KEY_0": "safe.directory",
            "GIT_CONFIG_VALUE_0": "*",
            "GIT_CONFIG_KEY_1": "uploadpack.allowAnySHA1InWant",
            "GIT_CONFIG_VALUE_1": "true",
            "PATH_INFO": self._path_info(parts.path),
            "QUERY_STRING": parts.query,
            "REQUEST_METHOD": self.command,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "CONTENT_LENGTH": str(len(body)),
            "REMOTE_ADDR": "127.0.0.1",
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
        }
        done = subprocess.run(
            [cast("str", shutil.which("git", path=os.defpath)), "http-backend"],
            env=variables,
            input=body,
            capture_output=True,
            check=False,
        )
        head, _, answer = done.stdout.partition(b"\r\n\r\n")
        headers = [line.partition(": ")[::2] for line in head.decode("latin-1").split("\r\n") if line]
        status = next((int(value.split()[0]) for name, value in headers if name == "Status"), 200 if head else 500)
        self.send_response(status)
        for name, value in headers:
            if name != "Status":
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        for start in range(0, len(answer), _CHUNK):
            piece = answer[start : start + _CHUNK]
            if cut_after is not None and start + len(piece) > cut_after:
                self.wfile.write(piece[: cut_after - start])
                return
            self.wfile.write(piece)

    def _path_info(self, path: str) -> str:
        """Let `/owner/name.git/…` and `/owner/name/…` lead to the working tree's repository."""
        parts = path.split("/")
        for place, part in enumerate(parts):
            plain = part.removesuffix(".git")
            candidate = "/".join([*parts[1:place], plain])
            if plain and (self.server.owner.root / candidate / ".git").is_dir():
                return "/".join(["", candidate, ".git", *parts[place + 1 :]])
        return path
