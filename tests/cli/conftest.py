"""Run a command inside the test's own process, which is faster than a process of its own."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from knowledge_mcp import registry, wiring
from knowledge_mcp.cli import ingest as ingest_command
from knowledge_mcp.cli.knowledge import main
from knowledge_mcp.lexical.analyser import EnglishAnalyser
from knowledge_mcp.ranking.linking import Linker
from knowledge_mcp.settings import Settings, variables
from knowledge_mcp.testing.embedders import HashingEmbedder
from tests.cli import stand_in
from tests.cli.running import Finished
from tests.engine.test_tracing import embed
from tests.fakes.knowledge import FakeKnowledge
from tests.sources.web_site import Authority, Site

Command = Callable[..., Finished]


def held(knowledge: Command) -> dict[str, str]:
    """Map the ids of all documents to the names of their files."""
    documents = json.loads(knowledge("documents", "list", "--json").out)["documents"]
    return {each["document_id"]: Path(each["source_path"]).name for each in documents}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Be in an empty folder that is also home, without any setting of ours in the environment."""
    for each in variables():
        for name in (each.name, *each.older):
            monkeypatch.delenv(name, raising=False)
    for name in ("XDG_DATA_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeKnowledge:
    """Put a knowledge base in memory in place of the real one."""
    knowledge = FakeKnowledge()

    def build(_settings: Settings, *, surface: str = "standards") -> FakeKnowledge:
        del surface
        return knowledge

    monkeypatch.setattr(wiring, "build_knowledge", build)
    return knowledge


@pytest.fixture
def call(
    home: Path,
    logging_restored: None,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> Command:
    """Call a command's entry point with some arguments; returns what it left."""

    def run(entry: Callable[[], None], *arguments: str) -> Finished:
        monkeypatch.setattr(sys, "argv", ["command", *arguments])
        with pytest.raises(SystemExit) as ended:
            entry()
        captured = capsys.readouterr()
        return Finished(int(ended.value.code or 0), captured.out, captured.err)

    return run


@pytest.fixture
def knowledge(call: Command) -> Command:
    """Run `knowledge` with some arguments."""
    return partial(call, main.main)


@pytest.fixture
def ingest(call: Command, monkeypatch: pytest.MonkeyPatch) -> Command:
    """Run `knowledge-ingest` over the stand-in knowledge base, with no terminal to ask on."""
    stand_in.take_over(monkeypatch.setattr)
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    return partial(call, ingest_command.main)


def hashing(_settings: Settings) -> HashingEmbedder:
    """Embed by hashing words, which needs no model."""
    return HashingEmbedder()


@pytest.fixture
def no_model(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the commands embed by hashing: an empty home has no model, and building one takes seconds."""
    loader: Callable[[str], Any] = registry.load
    monkeypatch.setitem(registry.EMBEDDERS, "local", f"{__name__}:hashing")

    def load(target: str) -> Any:
        return hashing if target.endswith(":hashing") else loader(target)

    monkeypatch.setattr(registry, "load", load)


@pytest.fixture
def real_ingest(call: Command, no_model: None, monkeypatch: pytest.MonkeyPatch) -> Command:
    """Run `knowledge-ingest`, and let `knowledge` run, over the real parts, all but the model."""
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    return partial(call, ingest_command.main)


@pytest.fixture
def linker(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rate links without the model."""

    def build(_: Settings) -> Linker:
        return Linker(EnglishAnalyser().document_terms, embed)

    monkeypatch.setattr(wiring, "build_linker", build)


@pytest.fixture
def site(home: Path, real_ingest: Command, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """Serve an empty site whose authority the commands trust."""
    authority = Authority(home)
    (home / "authority.pem").write_text(authority.pem())
    monkeypatch.setenv("SSL_CERT_FILE", str(home / "authority.pem"))
    monkeypatch.setenv("RAG_FETCH_ALLOWED_HOSTS", "127.0.0.1")
    with Site(authority.server("127.0.0.1"), {}) as made:
        yield made
