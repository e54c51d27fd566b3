"""A hostile `.env` above or in the working directory: it sends no key elsewhere, lets nobody in, borrows no secret."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path

from benchmarks.attacks import Attack, Outcome
from knowledge_mcp.settings import variables

_SECRET = "sk-the-secret-that-the-user-exported-0123456789"
_ADAPTERS = {
    "OPENAI": {"EMBEDDING_PROVIDER": "openai"}, "AZURE": {"EMBEDDING_PROVIDER": "azure"},
    "QDRANT": {"VECTOR_STORE": "qdrant", "EMBEDDING_PROVIDER": "local"},
    "CHROMADB": {"VECTOR_STORE": "chromadb", "EMBEDDING_PROVIDER": "local"},
}  # fmt: skip
"""What makes a command use the address, by the first word of its setting."""
_BORROWING = ("QDRANT_URL", "OPENAI_BASE_URL", "RAG_API_URL", "RERANKER_URL", "AZURE_OPENAI_ENDPOINT", "CHROMADB_HOST")


class _Listener:
    """Take every connection on a port of the loopback, and keep what comes."""

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._socket.getsockname()[1])
        self.heard: list[bytes] = []
        threading.Thread(target=self._run, name="listener", daemon=True).start()

    def close(self) -> None:
        """Stop listening."""
        self._socket.close()

    def _run(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            with connection:
                connection.settimeout(2)
                try:
                    self.heard.append(connection.recv(65536))
                    connection.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
                except OSError:
                    self.heard.append(b"")


@contextmanager
def _listening() -> Generator[_Listener]:
    listener = _Listener()
    try:
        yield listener
    finally:
        listener.close()


def _value(name: str, port: int) -> str:
    """Give an address of a setting that leads to the listener."""
    if name.endswith("_FILE"):
        return "keys.txt"
    values = {"CHROMADB_HOST": "127.0.0.1", "CHROMADB_PORT": str(port), "CHROMADB_SSL": "true"}
    return values.get(name, f"http://127.0.0.1:{port}/v1")


def _run(folder: Path, content: str, environment: Mapping[str, str], *, above: bool) -> tuple[int, str]:
    """Run the installed command in a working directory, beside or below a `.env`; returns its exit code and words."""
    below = folder / "archive" / "docs"
    below.mkdir(parents=True, exist_ok=True)
    for place in (below, below.parent):
        (place / ".env").unlink(missing_ok=True)
        (place / "keys.txt").write_text("mallory: a-key-of-mallory-of-thirty-two-characters\n")
    (below / "notes.md").write_text("# Notes\n\nThe valve is turned once a year.\n")
    if content:
        ((below.parent if above else below) / ".env").write_text(content)
    known = {each.name for each in variables()}
    kept = {name: value for name, value in os.environ.items() if name not in known}
    own = {"DATA_PATH": str(folder / "data"), "OPENAI_RETRIES": "0"}
    place = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        [shutil.which("knowledge-ingest", path=place) or "knowledge-ingest", "notes.md"],
        cwd=below, env={**kept, **own, **environment}, capture_output=True, text=True, check=False, timeout=60,
        stdin=subprocess.DEVNULL,
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr


def _redirected(folder: Path) -> Outcome:
    """Give each address in a `.env`, its key in the environment: refused, naming both, and nobody is connected to."""
    tried, through = 0, list[str]()
    pairs = [(each.name, each.key) for each in variables() if each.key]
    with _listening() as listener:
        for name, key in pairs:
            adapter = _ADAPTERS.get(name.partition("_")[0], {"EMBEDDING_PROVIDER": "local"})
            for above in (True, False):
                tried += 1
                content = f"{name}={_value(name, listener.port)}\n{key}=a-key-of-the-file\n"
                code, said = _run(folder, content, {key: _SECRET, **adapter}, above=above)
                if code == 0 or listener.heard or name not in said or key not in said or _SECRET in said:
                    where = "above" if above else "in the folder"
                    through.append(f"{name} {where}: exit {code}, {len(listener.heard)} connections: {said[:120]}")
                listener.heard.clear()
        base, key = "OPENAI_BASE_URL", "OPENAI_API_KEY"
        own = {base: _value(base, listener.port), key: _SECRET, "EMBEDDING_PROVIDER": "openai"}
        _run(folder, "", own, above=True)
        if not any(_SECRET.encode() in each for each in listener.heard):
            through.append("the listener hears nothing where it should: the attack shows nothing")
    return Outcome(tried, tuple(through))


def _widened(folder: Path) -> Outcome:
    """Let somebody in by a `.env` above the working directory: refused, naming the setting."""
    through: list[str] = []
    names = [each.name for each in variables() if each.widens]
    for name in names:
        value = "https://evil.example" if name == "MCP_ALLOWED_ORIGINS" else "0.0.0.0"
        code, said = _run(folder, f"{name}={value}\n", {"EMBEDDING_PROVIDER": "local"}, above=True)
        if code == 0 or name not in said:
            through.append(f"{name}: exit {code}: {said[:120]}")
    return Outcome(len(names), tuple(through))


def _borrowed(folder: Path) -> Outcome:
    """Put a secret of the environment into an address by `${…}`: refused, and nothing is sent."""
    tried, through = 0, list[str]()
    with _listening() as listener:
        for name in _BORROWING:
            for above in (True, False):
                tried += 1
                content = f"{name}=http://127.0.0.1:{listener.port}/${{AWS_SECRET_ACCESS_KEY}}\n"
                adapter = _ADAPTERS.get(name.partition("_")[0], {"EMBEDDING_PROVIDER": "local"})
                code, said = _run(folder, content, {"AWS_SECRET_ACCESS_KEY": _SECRET, **adapter}, above=above)
                if code == 0 or listener.heard or _SECRET in said or "AWS_SECRET_ACCESS_KEY" not in said:
                    through.append(f"{name}: exit {code}, {len(listener.heard)} connections: {said[:120]}")
                listener.heard.clear()
    return Outcome(tried, tuple(through))


ATTACKS: tuple[Attack, ...] = (
    Attack("env", "a .env above or in the working directory names where the user's key is sent", _redirected),
    Attack("env", "a .env above the working directory lets somebody in", _widened),
    Attack("env", "a .env writes a secret of the environment into an address", _borrowed),
)
