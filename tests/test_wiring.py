"""The composition root: it builds what the settings select, and reports contradictions."""

from __future__ import annotations

from pathlib import Path

import pytest

from knowledge_mcp.model.errors import ConfigError, ErrorCode
from knowledge_mcp.settings import Settings, load_settings
from knowledge_mcp.support.retry import without_retries
from knowledge_mcp.wiring import build_base, build_knowledge, try_start


def settings(tmp_path: Path, **more: str) -> Settings:
    """Read settings of a store of its own."""
    environ = {"DATA_PATH": str(tmp_path), "EMBEDDING_PROVIDER": "local", **more}
    return load_settings(environ=environ, folder=tmp_path)


def test_the_default_is_the_embedded_store_with_the_local_model(tmp_path: Path) -> None:
    base = build_base(settings(tmp_path))
    assert base.store.identity.backend == "sqlite"
    assert Path(base.store.identity.location).parent == tmp_path
    assert (base.embedder.space.provider, base.embedder.space.dimensions) == ("local", 384)
    base.store.close()


@pytest.mark.requirement("A-REQ-REL-003")
def test_a_new_knowledge_base_has_no_problems_at_start(tmp_path: Path) -> None:
    assert try_start(settings(tmp_path)).problems == ()


@pytest.mark.requirement("A-REQ-REL-003")
def test_dimensions_that_the_model_has_not_are_a_problem_at_start(tmp_path: Path) -> None:
    wrong = settings(tmp_path).model_copy(update={"embedding_dimensions": 1536})
    (problem,) = try_start(wrong).problems
    assert problem.code is ErrorCode.CONFIG_ERROR
    assert "1536" in problem.message
    with pytest.raises(ConfigError, match="384"):
        build_knowledge(wrong)


@pytest.mark.requirement("A-REQ-REL-003")
def test_a_store_that_cannot_be_opened_is_a_problem_at_start(tmp_path: Path) -> None:
    (tmp_path / "knowledge.sqlite").write_bytes(b"no database" * 1000)
    assert try_start(settings(tmp_path)).problems


@pytest.mark.requirement("D-REQ-8.5")
def test_a_service_whose_qdrant_does_not_answer_does_not_start_on_another_store(tmp_path: Path) -> None:
    environ = {"QDRANT_URL": "http://127.0.0.1:1", "QDRANT_GRPC": "off", "CHROMADB_PATH": str(tmp_path / "chroma")}
    expected = load_settings(
        environ={"DATA_PATH": str(tmp_path), "EMBEDDING_PROVIDER": "local", **environ},
        folder=tmp_path,
    )
    with without_retries():
        found = try_start(expected, surfaces=["rag"])
    assert [problem.code for problem in found.problems] == [ErrorCode.CONNECTION_ERROR]
    assert not (tmp_path / "chroma").exists()
