"""The configuration, the deployment and the speed that the specification asks for."""

from __future__ import annotations

import json
import statistics
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from knowledge_mcp import wiring
from knowledge_mcp.chunking.code.chunker import MAX_CHUNKS_PER_FILE
from knowledge_mcp.cli.serve.mcp import build_parser
from knowledge_mcp.cli.serve.starting import listening_problems
from knowledge_mcp.engine.repositories.metrics import COUNTERS, HISTOGRAMS
from knowledge_mcp.engine.repositories.service import RepositoryService
from knowledge_mcp.settings import choose_embedding, choose_store, read_settings
from knowledge_mcp.sources.scan.files import MAX_FILE_BYTES
from tests.cli.running import ROOT
from tests.repositories.world import World

SPECIFIED: dict[str, Any] = {
    "server": {"name": "personal-knowledge-mcp", "version": "1.0.0"},
    "chromadb": {"host": "${CHROMADB_HOST:localhost}", "port": "${CHROMADB_PORT:8000}"},
    "embedding": {
        "provider": "openai",
        "model": "${EMBEDDING_MODEL:text-embedding-3-small}",
        "batchSize": 100,
        "maxRetries": 3,
        "timeoutMs": 30000,
    },
    "ingestion": {
        "repoClonePath": "${REPO_CLONE_PATH:./data/repos}",
        "chunkMaxTokens": "${CHUNK_MAX_TOKENS:500}",
        "chunkOverlapTokens": "${CHUNK_OVERLAP_TOKENS:50}",
        "defaultExtensions": [".js", ".py", ".md", ".json"],
        "defaultExcludes": ["node_modules/**", "*.min.js"],
    },
    "search": {"defaultLimit": 7, "maxLimit": 40, "defaultThreshold": 0.65, "snippetMaxLength": 300},
    "logging": {"level": "${LOG_LEVEL:info}", "format": "json"},
}


@pytest.mark.requirement(
    "C-8.2-file", "C-8.2-search_defaults", "C-8.1-CHUNK_MAX_TOKENS", "C-8.1-CHUNK_OVERLAP_TOKENS",
    "C-8.1-REPO_CLONE_PATH", "C-15.4-chunking",
)  # fmt: skip
def test_the_specified_configuration_file_is_read_as_it_stands(tmp_path: Path) -> None:
    path = tmp_path / "default.json"
    path.write_text(json.dumps(SPECIFIED))
    environ = {"OPENAI_API_KEY": "sk-test", "CHUNK_MAX_TOKENS": "400"}
    reading = read_settings(
        path,
        surface="repositories",
        environ=environ,
        folder=tmp_path,
    )
    assert reading.problems == ()
    settings = reading.settings
    assert (settings.chunk_max_tokens, settings.chunk_overlap_tokens) == (400, 50)
    assert settings.repo_clone_path == tmp_path / "data" / "repos"
    assert settings.default_extensions == (".js", ".py", ".md", ".json")
    assert settings.default_excludes == ("node_modules/**", "*.min.js")
    assert (settings.search_default_limit, settings.search_max_limit) == (7, 40)
    assert (settings.search_default_threshold, settings.search_snippet_max_length) == (0.65, 300)
    assert choose_store(settings).backend == "chromadb"


@pytest.mark.requirement(
    "C-8.1-OPENAI_API_KEY", "C-8.1-GITHUB_PAT", "C-8.1-CHROMADB_HOST", "C-8.1-CHROMADB_PORT", "C-8.1-LOG_LEVEL",
    "C-8.1-EMBEDDING_MODEL", "C-10.2-environment",
)  # fmt: skip
def test_each_specified_variable_works_under_its_name_and_secrets_are_masked(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text(
        "OPENAI_API_KEY=sk-hidden-one\nGITHUB_PAT=ghp_hidden-two\nCHROMADB_HOST=chroma.local\nCHROMADB_PORT=9000\n"
        "LOG_LEVEL=debug\nEMBEDDING_MODEL=text-embedding-3-large\n"
    )
    reading = read_settings(environ={}, folder=tmp_path, surface="repositories")
    settings = reading.settings
    assert reading.problems == ()
    assert (settings.chromadb_host, settings.chromadb_port) == ("chroma.local", 9000)
    assert settings.log_level == "DEBUG"
    chosen = choose_embedding(settings, "repositories")
    assert (chosen.provider, chosen.model) == ("openai", "text-embedding-3-large")
    assert settings.github_pat is not None
    assert settings.github_pat.get_secret_value() == "ghp_hidden-two"
    assert "hidden" not in f"{settings!r}{[each.text for each in reading.values]}"
    assert ".env" in (ROOT / ".gitignore").read_text().split()


@pytest.mark.requirement("C-8.3-template")
def test_the_template_shows_every_specified_variable() -> None:
    template = (ROOT / ".env.example").read_text()
    for name in (
        "OPENAI_API_KEY", "GITHUB_PAT", "CHROMADB_HOST", "CHROMADB_PORT", "REPO_CLONE_PATH", "DATA_PATH", "LOG_LEVEL",
        "EMBEDDING_MODEL", "CHUNK_MAX_TOKENS", "CHUNK_OVERLAP_TOKENS",
    ):  # fmt: skip
        assert f"{name}=" in template, name


@pytest.mark.requirement("C-10.1-localhost")
def test_nothing_listens_on_the_network_unless_that_is_asked_for() -> None:
    parsed = build_parser().parse_args(["--surface", "repositories"])
    assert (parsed.transport, parsed.host) == ("stdio", None)
    assert listening_problems("0.0.0.0", tokens=False, allowed=False)
    assert listening_problems(None, tokens=False, allowed=False) == []


@pytest.mark.requirement("C-8.1-DATA_PATH", "C-13.3-folders", "C-14.2-dependencies")
def test_the_composition_root_makes_the_service_that_the_settings_describe(tmp_path: Path) -> None:
    environ = {
        "DATA_PATH": str(tmp_path / "data"),
        "EMBEDDING_PROVIDER": "local",
        "SEARCH_DEFAULT_LIMIT": "3",
        "DEFAULT_EXTENSIONS": ".py",
    }
    settings = read_settings(environ=environ, folder=tmp_path).settings
    service = wiring.build_local(settings, surface="repositories")
    assert isinstance(service, RepositoryService)
    assert service.limits.default_limit == 3
    assert service.limits.extensions == (".py",)
    assert ".py" in service.parts.extensions
    assert "node_modules/**" in service.parts.excludes
    assert service.repositories() == []
    service.close()


@pytest.mark.requirement(
    "C-11.4-maxFileSize", "C-11.4-maxChunksPerFile", "C-11.4-maxQueryResults", "C-11.4-maxEmbeddingBatchSize"
)  # fmt: skip
def test_the_limits_are_those_specified(world: World) -> None:
    assert MAX_FILE_BYTES == 1024 * 1024
    assert MAX_CHUNKS_PER_FILE == 100
    assert world.service.limits.max_limit == 50
    assert read_settings(environ={}).settings.embedding_batch_size == 100


@pytest.mark.requirement("C-9.4-command")
def test_every_specified_metric_is_counted() -> None:
    assert {"queries_total", "embeddings_generated", "indexing_files_processed"} <= set(COUNTERS)
    assert {"query_duration_ms", "embedding_duration_ms", "indexing_duration_ms"} == set(HISTOGRAMS)


@pytest.mark.requirement("C-13.1-compose")
def test_the_compose_file_runs_chroma_with_a_volume_and_a_health_check() -> None:
    content: Any = yaml.safe_load((ROOT / "deploy" / "repositories.compose.yaml").read_text())
    service = content["services"]["chromadb"]
    assert service["image"].startswith("chromadb/chroma:")
    assert service["container_name"] == "pk-mcp-chromadb"
    assert service["ports"] == ["127.0.0.1:8000:8000"]
    assert "heartbeat" in str(service["healthcheck"]["test"])
    assert (service["healthcheck"]["interval"], service["healthcheck"]["retries"]) == ("30s", 3)
    assert service["environment"] == {"IS_PERSISTENT": "TRUE", "ANONYMIZED_TELEMETRY": "FALSE"}
    assert service["volumes"][0].split(":")[0] in content["volumes"]


@pytest.mark.requirement("C-13.2-client", "C-15.4-setup")
def test_the_page_on_repositories_tells_how_a_client_is_configured() -> None:
    page = (ROOT / "docs" / "repositories.md").read_text()
    for named in ("--surface", "mcpServers", "GITHUB_PAT", "pk-mcp index", "CHROMADB_HOST", "repositories.json"):
        assert named in page, named


@pytest.mark.requirement("C-11.1-p95", "C-11.1-p50", "C-12.5-latency")
@pytest.mark.slow
def test_the_95th_percentile_of_100_searches_is_below_500_ms(world: World) -> None:
    files = {f"src/m{number}.py": f"def work_{number}(a, b):\n    return a * {number} + b\n" for number in range(300)}
    world.index(world.repository(files=files).folder)
    taken: list[float] = []
    for number in range(100):
        started = time.perf_counter()
        world.search(f"work with number {number}", threshold=0.7)
        taken.append((time.perf_counter() - started) * 1000)
    assert statistics.quantiles(taken, n=20)[18] < 500
    assert statistics.median(taken) < 200
