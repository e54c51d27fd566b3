"""Settings: where a value comes from, what is refused, what is selected, and that no secret is ever shown."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from knowledge_mcp.model.errors import ConfigError
from knowledge_mcp.settings import (
    Reading,
    Settings,
    choose_embedding,
    choose_store,
    find_env_file,
    load_settings,
    read_settings,
    variables,
)

Read = Callable[..., Reading]

SPEC_A = {
    "OPENAI_API_KEY": "", "VECTOR_STORE": "", "QDRANT_URL": "", "QDRANT_API_KEY": "",
    "QDRANT_COLLECTION": "se_knowledge_base", "QDRANT_HYBRID_SEARCH": "true",
    "CHROMADB_PATH": "./collections/chromadb", "EMBEDDING_MODEL": "", "EMBEDDING_DIMENSIONS": "",
    "CHUNK_SIZE_MIN": "200", "CHUNK_SIZE_MAX": "800", "CHUNK_OVERLAP": "100", "LOG_LEVEL": "INFO", "LOG_FORMAT": "text",
    "HEALTH_LATENCY_THRESHOLD_MS": "500",
}  # fmt: skip
OTHER_SPECS = {
    "DOCUMENT_STORE_PORT", "CHROMA_PERSIST_DIR", "ENABLE_OCR", "MCP_API_KEY", "IMAGE_RATIO_THRESHOLD", "GITHUB_PAT",
    "CHROMADB_HOST", "CHROMADB_PORT", "REPO_CLONE_PATH", "DATA_PATH", "CHUNK_MAX_TOKENS", "CHUNK_OVERLAP_TOKENS",
    "RAG_API_URL", "RAG_API_KEY", "AZURE_OPENAI_ENDPOINT", "AZURE_OPENAI_KEY", "AZURE_OPENAI_EMBEDDING_DEPLOYMENT",
}  # fmt: skip


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """Read settings of a folder without a `.env` above it, from an environment that is only what the test says."""

    def reading(config: Path | None = None, folder: Path | None = None, **environ: str) -> Reading:
        return read_settings(config, environ=environ, folder=folder or tmp_path)

    return reading


@pytest.mark.requirement("A-REQ-MAINT-002")
def test_every_variable_of_the_specifications_is_known_with_its_default() -> None:
    table = {variable.name: variable.default for variable in variables()}
    assert {name: table.get(name) for name in SPEC_A} == SPEC_A
    known = set(table) | {older for variable in variables() for older in variable.older}
    assert known >= OTHER_SPECS


def test_every_setting_has_one_variable_and_one_description() -> None:
    table = variables()
    assert {variable.field for variable in table} == set(Settings.model_fields)
    names = [name for variable in table for name in (variable.name, *variable.older)]
    assert len(names) == len(set(names))
    assert all(variable.text.endswith(".") for variable in table)


@pytest.mark.requirement("A-REQ-MAINT-002")
def test_an_empty_environment_gives_the_defaults_and_no_problem(read: Read) -> None:
    reading = read()
    assert reading.problems == ()
    assert {value.origin for value in reading.values} == {"default"}
    settings = reading.settings
    assert (settings.chunk_size_min, settings.chunk_size_max, settings.chunk_overlap) == (200, 800, 100)
    assert (choose_store(settings).backend, choose_embedding(settings).provider) == ("sqlite", "local")


def test_an_empty_variable_counts_as_unset(read: Read) -> None:
    reading = read(OPENAI_API_KEY="", CHUNK_SIZE_MIN=" ", QDRANT_URL="")
    assert reading.problems == ()
    assert reading.settings.openai_api_key is None


@pytest.mark.requirement("A-REQ-CONFIG-001")
def test_the_environment_wins_over_env_file_which_wins_over_config(tmp_path: Path, read: Read) -> None:
    (tmp_path / ".env").write_text("CHUNK_SIZE_MAX=500\nCHUNK_OVERLAP=50\n")
    config = tmp_path / "config.json"
    config.write_text(json.dumps({"CHUNK_SIZE_MAX": 400, "CHUNK_OVERLAP": 40, "CHUNK_SIZE_MIN": 100}))
    reading = read(config, CHUNK_SIZE_MAX="600")
    settings = reading.settings
    assert (settings.chunk_size_max, settings.chunk_overlap, settings.chunk_size_min) == (600, 50, 100)
    origin = {value.variable.name: value.origin for value in reading.values}
    assert origin["CHUNK_SIZE_MAX"] == "environment"
    assert origin["CHUNK_OVERLAP"] == str(tmp_path / ".env")
    assert origin["CHUNK_SIZE_MIN"] == str(config)
    assert origin["LOG_LEVEL"] == "default"


@pytest.mark.requirement("A-REQ-CONFIG-001")
def test_the_nearest_env_file_upwards_is_read(tmp_path: Path, read: Read) -> None:
    deep = tmp_path / "one" / "two"
    deep.mkdir(parents=True)
    (tmp_path / ".env").write_text("LOG_LEVEL=DEBUG\n")
    assert read(folder=deep).settings.log_level == "DEBUG"
    (tmp_path / "one" / ".env").write_text("LOG_LEVEL=ERROR\n")
    assert read(folder=deep).settings.log_level == "ERROR"
    assert find_env_file(deep) == tmp_path / "one" / ".env"


def test_a_relative_path_of_an_env_file_is_relative_to_that_file(tmp_path: Path, read: Read) -> None:
    deep = tmp_path / "deep"
    deep.mkdir()
    (tmp_path / ".env").write_text("DATA_PATH=./kept\n")
    assert read(folder=deep).settings.data_folder == tmp_path / "kept"
    assert read(folder=deep, DATA_PATH="here").settings.data_folder == deep / "here"


def test_an_env_file_may_refer_to_other_variables(tmp_path: Path, read: Read) -> None:
    (tmp_path / ".env").write_text("BASE=/srv/kb\nDATA_PATH=${BASE}/data\nQDRANT_COLLECTION=${NAME:-fallback}\n")
    settings = read(BASE="").settings
    assert settings.collection == "fallback"
    assert read(NAME="mine", BASE="/opt").settings.data_folder == Path("/opt/data")


def test_a_reference_to_nothing_is_a_problem(tmp_path: Path, read: Read) -> None:
    (tmp_path / ".env").write_text("DATA_PATH=${MISSING}/data\n")
    assert [problem for problem in read().problems if "${MISSING}" in problem]


@pytest.mark.requirement("A-REQ-REL-003")
def test_all_problems_are_reported_together(tmp_path: Path) -> None:
    environ = {
        "CHUNK_SIZE_MIN": "9000",
        "CHUNK_OVERLAP": "many",
        "LOG_LEVEL": "loud",
        "VECTOR_STORE": "oracle",
        "QDRANT_HYBRID_SEARCH": "perhaps",
        "QDRANT_URL": "cluster.example.com",
    }
    with pytest.raises(ConfigError) as caught:
        load_settings(environ=environ, folder=tmp_path)
    lines = caught.value.details.splitlines()
    for name in environ:
        assert any(line.startswith(name) for line in lines), f"{name} is not reported in {lines}"
    assert "from 50 to 500" in caught.value.details


@pytest.mark.requirement("A-REQ-INGEST-005")
@pytest.mark.parametrize(
    ("name", "low", "high"),
    [("CHUNK_SIZE_MIN", 50, 500), ("CHUNK_SIZE_MAX", 200, 2000), ("CHUNK_OVERLAP", 0, 500)],
)
def test_chunk_sizes_are_held_to_their_ranges(read: Read, name: str, low: int, high: int) -> None:
    def refused(value: int) -> bool:
        return any(problem.startswith(f"{name} is") for problem in read(**{name: str(value)}).problems)

    assert [refused(value) for value in (low - 1, low, high, high + 1)] == [True, False, False, True]


@pytest.mark.requirement("A-REQ-INGEST-005")
def test_the_overlap_must_be_smaller_than_the_smallest_chunk(read: Read) -> None:
    assert any("CHUNK_OVERLAP (200)" in problem for problem in read(CHUNK_OVERLAP="200").problems)
    assert read(CHUNK_OVERLAP="199").problems == ()


@pytest.mark.requirement("A-REQ-REL-003")
@pytest.mark.parametrize("key", ["abc", "sk-", "sk-with blank", "SK-abc"])
def test_a_malformed_openai_key_is_refused_when_openai_is_used(read: Read, key: str) -> None:
    problems = " ".join(read(EMBEDDING_PROVIDER="openai", OPENAI_API_KEY=key).problems)
    assert "does not look like an OpenAI key" in problems
    assert key not in problems.replace("'sk-'", "")
    assert "look like" not in " ".join(read(EMBEDDING_PROVIDER="local", OPENAI_API_KEY=key).problems)


def test_choosing_openai_needs_its_key(read: Read) -> None:
    assert any(
        problem.startswith("OPENAI_API_KEY is not set") for problem in read(EMBEDDING_PROVIDER="openai").problems
    )


@pytest.mark.parametrize(
    ("environ", "surface", "provider"),
    [
        ({}, "standards", "local"),
        ({"OPENAI_API_KEY": "sk-1"}, "standards", "openai"),
        ({"OPENAI_API_KEY": "sk-1"}, "repositories", "openai"),
        ({"OPENAI_API_KEY": "sk-1"}, "planning", "local"),
        ({"OPENAI_API_KEY": "sk-1", "AZURE_OPENAI_ENDPOINT": "https://a"}, "rag", "azure"),
        ({"OPENAI_API_KEY": "sk-1", "AZURE_OPENAI_ENDPOINT": "https://a"}, "standards", "openai"),
        ({"OPENAI_API_KEY": "sk-1"}, "rag", "openai"),
        ({"OPENAI_API_KEY": "sk-1", "EMBEDDING_PROVIDER": "LOCAL"}, "standards", "local"),
    ],
)
def test_the_embedding_provider_is_chosen_in_one_order(
    read: Read, environ: dict[str, str], surface: str, provider: str
) -> None:
    assert choose_embedding(read(**environ).settings, surface).provider == provider


@pytest.mark.requirement("A-REQ-IF-003")
@pytest.mark.parametrize(
    ("environ", "backend"),
    [
        ({}, "sqlite"),
        ({"QDRANT_URL": "https://q"}, "qdrant"),
        ({"CHROMADB_HOST": "h"}, "chromadb"),
        ({"QDRANT_URL": "https://q", "CHROMADB_HOST": "h"}, "qdrant"),
        ({"QDRANT_URL": "https://q", "VECTOR_STORE": "sqlite"}, "sqlite"),
        ({"VECTOR_STORE": "ChromaDB"}, "chromadb"),
        ({"DATABASE_URL": "postgresql://db/kb"}, "sqlite"),
        ({"DATABASE_URL": "postgresql://db/kb", "VECTOR_STORE": "postgres"}, "postgres"),
    ],
)
def test_the_store_is_chosen_in_one_order(read: Read, environ: dict[str, str], backend: str) -> None:
    assert choose_store(read(**environ).settings).backend == backend


def test_postgresql_without_its_address_is_a_problem(read: Read) -> None:
    assert any("needs DATABASE_URL" in problem for problem in read(VECTOR_STORE="postgres").problems)


def test_qdrant_without_its_address_is_a_problem(read: Read) -> None:
    assert any("needs QDRANT_URL" in problem for problem in read(VECTOR_STORE="qdrant").problems)


def test_a_model_of_openai_is_refused_by_the_local_provider(read: Read) -> None:
    assert any(
        "text-embedding-3-small" in problem for problem in read(EMBEDDING_MODEL="text-embedding-3-small").problems
    )
    assert any("EMBEDDING_DIMENSIONS=1536" in problem for problem in read(EMBEDDING_DIMENSIONS="1536").problems)
    assert read(EMBEDDING_DIMENSIONS="384").problems == ()


def test_the_configuration_file_of_the_repositories_specification_is_understood(tmp_path: Path, read: Read) -> None:
    config = tmp_path / "default.json"
    content = {
        "server": {"name": "personal-knowledge-mcp", "version": "1.0.0"},
        "embedding": {"provider": "local", "model": "${EMBEDDING_MODEL:all-MiniLM-L6-v2}", "batchSize": 64},
        "ingestion": {"chunkMaxTokens": "${CHUNK_MAX_TOKENS:300}", "defaultExtensions": [".py"]},
        "logging": {"level": "${LOG_LEVEL:debug}", "format": "json"},
    }
    config.write_text(json.dumps(content))
    settings = read(config).settings
    assert read(config).problems == ()
    assert (settings.embedding_batch_size, settings.chunk_max_tokens) == (64, 300)
    assert (settings.log_level, settings.log_format) == ("DEBUG", "json")
    assert read(config, LOG_LEVEL="error").settings.log_level == "ERROR"


def test_a_yaml_configuration_file_is_understood(tmp_path: Path, read: Read) -> None:
    config = tmp_path / "config.yaml"
    config.write_text("chromadb:\n  port: 9000\nMCP_ALLOWED_HOSTS: [a.example, b.example]\nENABLE_OCR: false\n")
    settings = read(config).settings
    assert (settings.chromadb_port, settings.allowed_hosts) == (9000, ("a.example", "b.example"))
    assert settings.enable_ocr is False


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("config.json", "{", "not valid JSON"),
        ("config.json", "[" * 100_000, "nested too deeply"),
        ("config.yaml", "[" * 5_000, "nested too deeply"),
        ("config.yaml", "a: [", "not valid YAML"),
        ("config.json", "[]", "must contain an object"),
        ("config.json", '{"embeding": {"model": "x"}}', "Did you mean 'embedding.model'?"),
        ("config.json", '{"chromadb": {"port": true}}', "CHROMADB_PORT is 'true'"),
    ],
)
def test_a_wrong_configuration_file_is_a_problem(
    tmp_path: Path, read: Read, name: str, content: str, message: str
) -> None:
    config = tmp_path / name
    config.write_text(content)
    assert any(message in problem for problem in read(config).problems)


def test_a_missing_configuration_file_is_a_problem(tmp_path: Path, read: Read) -> None:
    assert any("could not be read" in problem for problem in read(tmp_path / "nothing.json").problems)


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such files on Windows")
def test_a_device_as_configuration_file_is_a_problem_and_not_opened(read: Read) -> None:
    assert any(
        "/dev/null could not be read: This is not a regular file." in each for each in read(Path(os.devnull)).problems
    )


@pytest.mark.skipif(not Path("/dev/fd").exists(), reason="no shell passes files like this here")
def test_a_configuration_file_that_a_shell_passes_as_a_pipe_is_read_whenever_it_is_asked_for(read: Read) -> None:
    taken, given = os.pipe()
    os.write(given, b'{"QDRANT_COLLECTION": "plant"}')
    os.close(given)
    passed = Path(f"/dev/fd/{taken}")
    assert [read(passed).settings.collection for _ in range(2)] == ["plant", "plant"]
    os.close(taken)


def test_an_env_file_that_is_not_text_is_a_problem(tmp_path: Path, read: Read) -> None:
    (tmp_path / ".env").write_bytes(b"LOG_LEVEL=\xff\xfe")
    assert any("not UTF-8" in problem for problem in read().problems)


def test_no_secret_is_shown_anywhere(tmp_path: Path, read: Read) -> None:
    secrets = [variable.name for variable in variables() if variable.secret]
    assert {"OPENAI_API_KEY", "QDRANT_API_KEY", "MCP_API_KEY", "GITHUB_PAT", "RAG_API_KEY"} <= set(secrets)
    reading = read(**{name: f"hush hush-{name}" for name in secrets})
    assert "hush" not in repr(reading)
    assert "hush" not in str(reading.settings)
    assert "hush" not in reading.settings.model_dump_json()
    assert "hush" not in " ".join(reading.problems)
    assert {value.text for value in reading.values if value.variable.secret} == {"********"}


def test_a_wrong_secret_is_reported_without_its_value(read: Read) -> None:
    problems = read(MCP_API_KEY="hüsh").problems
    assert any(problem.startswith("MCP_API_KEY") for problem in problems)
    assert not any("hüsh" in problem for problem in problems)


def test_the_surface_s_own_name_wins_over_the_shared_one(read: Read) -> None:
    reading = read(QDRANT_COLLECTION="a", COLLECTION="b")
    assert reading.settings.collection == "a"
    assert read(COLLECTION="b").settings.collection == "b"
    assert "environment (COLLECTION)" in {value.origin for value in read(COLLECTION="b").values}


def test_settings_cannot_be_changed(read: Read) -> None:
    with pytest.raises(ValueError, match="frozen"):
        read().settings.log_level = "DEBUG"


@pytest.mark.parametrize(
    ("name", "value", "refused"),
    [
        ("MCP_ALLOWED_HOSTS", "https://kb.example.com", True),
        ("MCP_ALLOWED_HOSTS", "kb.example.com, other:8443", False),
        ("MCP_ALLOWED_ORIGINS", "app.example.com", True),
        ("MCP_ALLOWED_ORIGINS", "https://app.example.com/path", True),
        ("MCP_ALLOWED_ORIGINS", "https://app.example.com", False),
        ("MCP_TRUSTED_PROXIES", "*", True),
        ("MCP_TRUSTED_PROXIES", "proxy.example.com", True),
        ("MCP_TRUSTED_PROXIES", "10.0.0.5, 10.128.0.0/14, fd00::/8", False),
        ("DOCUMENT_STORE_PORT", "0", True),
        ("HEALTH_LATENCY_THRESHOLD_MS", "0", True),
    ],
)
def test_addresses_and_numbers_are_checked(read: Read, name: str, value: str, *, refused: bool) -> None:
    assert bool(read(**{name: value}).problems) is refused
