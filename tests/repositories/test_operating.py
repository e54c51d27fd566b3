"""What running it asks for: an embedder's health and settings, limits on work, places of files, signals."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import time
import tomllib
import tracemalloc
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from knowledge_mcp import wiring
from knowledge_mcp.chunking.code.chunker import CodeChunker
from knowledge_mcp.cli.repositories.repositories import health_status
from knowledge_mcp.engine.repositories.index import FILES_AT_ONCE
from knowledge_mcp.engine.repositories.values import IndexRequest
from knowledge_mcp.model.chunk import Chunk, Vector
from knowledge_mcp.model.document import Document
from knowledge_mcp.model.errors import ConnectionFailedError, NotFoundError
from knowledge_mcp.model.ingest import SkippedFile
from knowledge_mcp.model.query import SearchQuery
from knowledge_mcp.ports import TokenMeasure
from knowledge_mcp.remote.knowledge import RemoteKnowledge
from knowledge_mcp.settings import read_settings
from knowledge_mcp.sources.scan.files import RepositoryScan
from knowledge_mcp.testing.embedders import HashingEmbedder
from tests.cli.running import ROOT, environment
from tests.remote.serving import AT_ONCE, KEY, rest_service
from tests.repositories.world import World, make_service
from tests.servers.git_server import MadeRepository

PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


class Unreachable(HashingEmbedder):
    """Be a service that cannot be reached."""

    def embed_query(self, text: str) -> Vector:
        raise ConnectionFailedError("The embedding service cannot be reached.")


class Counting(HashingEmbedder):
    """Count the texts of each call."""

    def __init__(self) -> None:
        super().__init__()
        self.sizes: list[int] = []

    def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        self.sizes.append(len(texts))
        return super().embed_documents(texts)


def test_the_repository_service_answers_no_question_about_documents_as_if_there_were_none(tmp_path: Path) -> None:
    service: Any = World(tmp_path).service
    with (
        rest_service(engines={"repositories": service}) as url,
        closing(RemoteKnowledge(url, KEY, "repositories", policy=AT_ONCE)) as remote,
        pytest.raises(NotFoundError, match="no method 'search'"),
    ):
        remote.search(SearchQuery("circle"))


@pytest.mark.requirement("C-4.1-health")
def test_an_embedding_service_that_cannot_be_reached_shows_in_the_health(tmp_path: Path) -> None:
    world = World(tmp_path, embedder=Unreachable())
    result = health_status(world.service)
    component = result["components"][world.service.provider]
    assert component["status"] == "down"
    assert "cannot be reached" in component["message"]
    assert result["status"] != "healthy"
    world.service.close()


@pytest.mark.requirement("C-4.1-configuration")
def test_provider_model_key_address_batch_retries_and_time_are_settings(tmp_path: Path) -> None:
    chosen = {"provider": "openai", "model": "text-embedding-3-large"}
    content = {"embedding": {**chosen, "batchSize": 20, "maxRetries": 5, "timeoutMs": 30000}}
    (tmp_path / "pk.json").write_text(json.dumps(content), encoding="utf-8")
    environ = {"OPENAI_API_KEY": "sk-mine", "OPENAI_BASE_URL": "https://embed.example/v1"}
    settings = read_settings(environ=environ, config=tmp_path / "pk.json", folder=tmp_path).settings
    assert (settings.embedding_provider, settings.embedding_model) == ("openai", "text-embedding-3-large")
    assert settings.openai_api_key is not None
    assert settings.openai_api_key.get_secret_value() == "sk-mine"
    assert settings.openai_base_url == "https://embed.example/v1"
    assert (settings.embedding_batch_size, settings.embedding_max_retries) == (20, 5)
    assert settings.embedding_timeout_ms == 30000


@pytest.mark.requirement("C-11.4-maxFilesPerBatch")
def test_no_call_of_the_embedder_holds_passages_of_more_than_50_files(tmp_path: Path) -> None:
    assert FILES_AT_ONCE == 50
    embedder = Counting()
    world = World(tmp_path, embedder=embedder)
    files = {f"src/m{number}.py": f"def work_{number}():\n    return {number}\n" for number in range(120)}
    done = world.index(world.repository(files=files).folder)
    assert (done.files_processed, sum(embedder.sizes)) == (120, done.chunks_embedded)
    assert max(embedder.sizes) == 50, "each of these files is one passage"
    world.service.close()


class Progress:
    """Count files and wait for them."""

    def __init__(self) -> None:
        self._moved = threading.Condition()
        self.files = 0

    def one_more(self) -> None:
        """Count a file."""
        with self._moved:
            self.files += 1
            self._moved.notify_all()

    def reaches(self, files: int, seconds: float) -> bool:
        """Wait until so many files are counted; False where they are not in time."""
        with self._moved:
            return self._moved.wait_for(lambda: self.files >= files, seconds)


class Counted(CodeChunker):
    """Tell of each file that was read and is cut."""

    def __init__(self, progress: Progress) -> None:
        super().__init__()
        self._progress = progress

    def chunk(self, document: Document, document_type: str, measure: TokenMeasure) -> list[Chunk]:
        self._progress.one_more()
        return super().chunk(document, document_type, measure)


class Waiting(HashingEmbedder):
    """Embed nothing before many more files are read than one call holds."""

    def __init__(self, progress: Progress) -> None:
        super().__init__()
        self._progress = progress
        self.met = False

    def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        self.met = self._progress.reaches(FILES_AT_ONCE * 2, 20)
        return super().embed_documents(texts)


@pytest.mark.requirement("C-11.2-parallel")
def test_files_are_read_while_others_are_embedded_within_a_limit(tmp_path: Path) -> None:
    progress = Progress()
    embedder = Waiting(progress)
    service = make_service(tmp_path, embedder=embedder, chunker=Counted(progress))
    made = MadeRepository(tmp_path / "code")
    made.commit({f"src/m{number}.py": f"def work_{number}():\n    return {number}\n" for number in range(400)})
    assert service.index(IndexRequest(str(made.folder))).files_processed == 400
    assert embedder.met, "no file was read while the first ones were being embedded"
    service.close()


@pytest.mark.requirement("C-11.2-streams")
def test_a_file_of_a_gigabyte_is_left_out_without_being_read(tmp_path: Path) -> None:
    with (tmp_path / "huge.py").open("wb") as huge:
        huge.truncate(1 << 30)
    (tmp_path / "small.py").write_text("x = 1\n", encoding="utf-8")
    tracemalloc.start()
    found = list(RepositoryScan(tmp_path).items())
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert [type(each) is SkippedFile for each in found] == [True, False]
    assert peak < 4 << 20


@pytest.mark.requirement("C-7-stack")
def test_it_stands_on_types_the_official_sdk_validated_schemas_and_structured_logs() -> None:
    needed = " ".join(PROJECT["project"]["dependencies"])
    assert "mcp>=" in needed
    assert "pydantic>=" in needed
    assert PROJECT["tool"]["pyright"]["typeCheckingMode"] == "strict"
    assert (ROOT / "src" / "knowledge_mcp" / "py.typed").is_file()
    assert (ROOT / "src" / "knowledge_mcp" / "support" / "events.py").is_file()


@pytest.mark.requirement("C-14.1-layout", "C-12.4-stand_ins")
def test_source_tests_configuration_documents_and_stand_ins_have_their_places() -> None:
    for place in ("src/knowledge_mcp", "tests", "docs", "docs/decisions", "README.md", ".env.example", "deploy"):
        assert (ROOT / place).exists(), place
    for name in ("openai_server.py", "qdrant_server.py", "git_server.py"):
        assert (ROOT / "tests" / "servers" / name).is_file(), name
    assert (ROOT / "src" / "knowledge_mcp" / "testing" / "embedders.py").is_file()


@pytest.mark.slow
@pytest.mark.requirement("C-11.1-embedding", "C-11.1-small", "C-11.1-medium")
def test_files_are_indexed_with_the_local_model_far_faster_than_the_targets_ask(tmp_path: Path) -> None:
    settings = read_settings(environ={"EMBEDDING_PROVIDER": "local"}, folder=tmp_path).settings
    embedder = wiring.build_base(settings, surface="repositories").embedder
    service = make_service(tmp_path, embedder=embedder)
    body = "\n".join(f"    total += values[{line}] * weights[{line}]" for line in range(12))
    files = {
        f"src/part{number}.py": f"def weigh_{number}(values, weights):\n    total = 0\n{body}\n    return total\n"
        for number in range(100)
    }
    made = MadeRepository(tmp_path / "code")
    made.commit(files)
    embedder.warm_up()
    started = time.perf_counter()
    done = service.index(IndexRequest(str(made.folder)))
    minutes = (time.perf_counter() - started) / 60
    assert done.files_processed == 100
    rate = 100 / minutes
    assert rate > 2000 / 15, f"{rate:.0f} files a minute: 2,000 files would take more than 15 minutes"
    assert rate > 500 / 5, f"{rate:.0f} files a minute: 500 files would take more than 5 minutes"
    service.close()


@pytest.mark.slow
@pytest.mark.requirement("C-13.5-shutdown")
def test_an_indexing_told_to_end_leaves_the_data_whole(tmp_path: Path) -> None:
    made = MadeRepository(tmp_path / "code")
    made.commit({f"src/m{number}.py": f"def f{number}():\n    return {number}\n" for number in range(3000)})
    line = [sys.executable, "-m", "tests.repositories.server", str(tmp_path), "pk-mcp", "index", str(made.folder)]
    process = subprocess.Popen(
        line, cwd=ROOT, env=environment(tmp_path, {}), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    for result in process.stderr:
        if "indexed " in result:
            break
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    assert process.returncode != 0
    again = subprocess.run(
        [*line, "--json"],
        cwd=ROOT,
        env=environment(tmp_path, {}),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert again.returncode == 0, again.stderr
    done: dict[str, Any] = json.loads(again.stdout)
    assert (done["status"], done["files_processed"] + done["files_unchanged"]) == ("success", 3000)
    assert done["files_unchanged"] > 0, "what was finished before the end was kept"
