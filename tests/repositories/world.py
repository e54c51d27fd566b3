"""Repositories for tests: real ones made in a folder, a service over them, a fast embedder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from knowledge_mcp.chunking.code.chunker import CodeChunker
from knowledge_mcp.engine.core.base import Base
from knowledge_mcp.engine.ingest.plan import Pipeline
from knowledge_mcp.engine.repositories.service import RepositoryService
from knowledge_mcp.engine.repositories.values import (
    IndexRequest,
    IndexResult,
    RepositoryParts,
    SearchLimits,
    source_code,
)
from knowledge_mcp.lexical.analyser import EnglishAnalyser
from knowledge_mcp.model.call import Call
from knowledge_mcp.ports import Embedder, Store
from knowledge_mcp.ranking.fusion import code_similarity, fuse
from knowledge_mcp.readers.code.reader import CodeReader
from knowledge_mcp.sources.git.source import GitClones
from knowledge_mcp.sources.git.url import permalink
from knowledge_mcp.sources.scan.files import SOURCE_MEDIA_TYPES, RepositoryScan
from knowledge_mcp.stores.memory import MemoryStore
from knowledge_mcp.stores.sqlite.store import SqliteStore
from knowledge_mcp.support.sandbox import Sandbox
from knowledge_mcp.surfaces.arguments import parse
from knowledge_mcp.surfaces.repositories import SURFACE
from knowledge_mcp.testing.embedders import HashingEmbedder
from tests.servers.git_server import MadeRepository

SANDBOX = Sandbox()
"""One child process parses for all tests of a run; the session closes it."""

TOOLS = {tool.name: tool for tool in SURFACE.tools}

FILES: Mapping[str, str] = {
    "src/auth/tokens.py": '''"""Tokens of web requests."""

import hmac
import time


class TokenValidator:
    """Validate signed tokens."""

    def __init__(self, secret: bytes) -> None:
        self._secret = secret

    def validate_token(self, token: str) -> bool:
        """Check the signature and the expiry of a token."""
        body, _, signature = token.rpartition(".")
        expected = hmac.new(self._secret, body.encode(), "sha256").hexdigest()
        return hmac.compare_digest(expected, signature) and float(body) > time.time()


def refresh_token(token: str) -> str:
    """Issue a new token in place of one that expires soon."""
    raise RuntimeError("E4711: refresh window closed")
''',
    "src/db/pool.ts": """export class ConnectionPool {
  private idle: Connection[] = [];

  /** Take a connection from the pool, or open one. */
  async acquireConnection(timeoutMs: number): Promise<Connection> {
    const found = this.idle.pop();
    if (found !== undefined) {
      return found;
    }
    return openConnection(timeoutMs);
  }
}
""",
    "src/geometry/area.go": """package geometry

// CircleArea computes the surface of a circle.
func CircleArea(radius float64) float64 {
	return 3.14159 * radius * radius
}
""",
    "docs/deploy.md": "# Deployment\n\nRoll out with a blue-green switch of the load balancer.\n",
    "config.yaml": "retries: 3\nbackoff_seconds: 2\n",
}


def make_service(
    folder: Path,
    *,
    store: Store | None = None,
    embedder: Embedder | None = None,
    tokens: Mapping[str, str] | None = None,
    limits: SearchLimits | None = None,
    chunker: CodeChunker | None = None,
    degraded: str = "",
) -> RepositoryService:
    """Put a service together whose clones, locks and files lie below a folder."""
    base = Base(
        store=store or MemoryStore(EnglishAnalyser()),
        collection="repositories",
        embedder=embedder or HashingEmbedder(),
        analyser=EnglishAnalyser(),
        fuse=fuse,
        degraded=degraded,
    )
    reader = CodeReader(sandbox=SANDBOX)
    pipeline = Pipeline(dict.fromkeys(SOURCE_MEDIA_TYPES, reader), chunker or CodeChunker(), source_code)
    parts = RepositoryParts(
        copies=GitClones(folder / "repos", tokens=tokens, loopback_http=True),
        scan=RepositoryScan,
        permalink=permalink,
        similarity=code_similarity,
    )
    return RepositoryService(base, pipeline, parts, folder=folder / "data", limits=limits, version="9.9.9")


def sqlite(folder: Path) -> SqliteStore:
    """Return the store of a folder; several processes may share it."""
    (folder / "data").mkdir(parents=True, exist_ok=True)
    return SqliteStore(folder / "data" / "knowledge.sqlite", EnglishAnalyser())


@dataclass
class World:
    """Hold a service over a folder, and make repositories in it."""

    folder: Path
    store: Store = field(default_factory=lambda: MemoryStore(EnglishAnalyser()))
    embedder: HashingEmbedder = field(default_factory=HashingEmbedder)
    tokens: Mapping[str, str] | None = None
    limits: SearchLimits | None = None

    def __post_init__(self) -> None:
        """Put the parts together."""
        self.served = self.folder / "served"
        self.service = make_service(
            self.folder, store=self.store, embedder=self.embedder, tokens=self.tokens, limits=self.limits
        )

    def repository(self, name: str = "team/my-api", files: Mapping[str, str | bytes] | None = None) -> MadeRepository:
        """Make a repository with one commit."""
        made = MadeRepository(self.served / name)
        made.commit(FILES if files is None else files)
        return made

    def index(self, source: str | Path, **more: Any) -> IndexResult:
        """Index an address or a folder."""
        return self.service.index(IndexRequest(str(source), **more))

    def call(self, name: str, /, *, line: Call | None = None, **arguments: Any) -> dict[str, Any]:
        """Call a tool as a transport does, and return exactly what would be sent."""
        tool = TOOLS[name]
        request = parse(tool.request, arguments)
        return tool.answer(self.service, request, line or Call()).sent()

    def search(self, query: str, **more: Any) -> dict[str, Any]:
        """Call `semantic_search`, without a threshold unless one is given."""
        arguments: dict[str, Any] = {"query": query, "threshold": 0.0, **more}
        return self.call("semantic_search", **arguments)

    def listed(self) -> dict[str, dict[str, Any]]:
        """Return the repositories that `list_indexed_repositories` names, by name."""
        return {each["name"]: each for each in self.call("list_indexed_repositories")["repositories"]}


def stopping(after: int) -> Call:
    """Return a line that says to stop once so much progress was reported."""
    messages: list[str] = []

    def progress(done: float, total: float | None, message: str) -> None:
        del total, message
        messages.extend(["x"] if done else [])

    return Call(progress, lambda: len(messages) >= after)
