"""`knowledge doctor`: each thing that can be broken is found, reported with what to do, and decides the exit code."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from knowledge_mcp import wiring
from knowledge_mcp.embedders.local import model_files, session
from knowledge_mcp.embedders.local.model_files import FileCheck
from knowledge_mcp.engine.core.base import Base
from knowledge_mcp.lexical.analyser import EnglishAnalyser
from knowledge_mcp.model.collection import CollectionInfo, EmbeddingSpace
from knowledge_mcp.model.errors import ConnectionFailedError
from knowledge_mcp.model.ingest import Finding
from knowledge_mcp.ports import Store
from knowledge_mcp.ranking.fusion import fuse
from knowledge_mcp.ranking.rerankers import CrossEncoder
from knowledge_mcp.settings import Settings
from knowledge_mcp.stores.sqlite.store import SqliteStore
from knowledge_mcp.support.sandbox import Sandbox
from knowledge_mcp.testing.embedders import HashingEmbedder
from knowledge_mcp.testing.store_search import put
from knowledge_mcp.testing.store_values import SPACE, without_check_sums
from tests.cli.conftest import Command
from tests.engine.overridden import OverriddenStore
from tests.engine.world import World
from tests.ranking.cross_encoder import make_cross_encoder

COLLECTION = "se_knowledge_base"


class AilingStore(OverriddenStore):
    """A store with something wrong: with the connection, or with a document, which may be repaired."""

    def __init__(self, *, unreachable: bool = False, damaged: bool = False) -> None:
        super().__init__(EnglishAnalyser())
        self._unreachable = unreachable
        self._damaged = damaged

    def info(self, collection: str, *, counted: bool = False) -> CollectionInfo | None:
        """Answer, or not."""
        if self._unreachable:
            raise ConnectionFailedError("The store does not answer.")
        return super().info(collection, counted=counted)

    def verify(self, collection: str, *, repair: bool = False) -> list[Finding]:
        """Tell of the damage; with `repair` it is repaired."""
        return (
            [Finding("A vector is missing.", "iso-1", repaired=repair, suggestion="Repair it.")]
            if self._damaged
            else []
        )


class Clinic:
    """Put a store and an embedder in place of the real ones, and pretend that the model is there."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.monkeypatch = monkeypatch

    def use(
        self,
        store: Store,
        embedder: HashingEmbedder,
        *,
        filled: bool = True,
        reranker: CrossEncoder | None = None,
    ) -> None:
        """Use these from now on."""
        if filled:
            store.create_collection(COLLECTION, HashingEmbedder().space)

        def build(_settings: Settings, *, surface: str = "standards") -> Base:
            del surface
            return Base(store, COLLECTION, embedder, EnglishAnalyser(), fuse, reranker=reranker)

        self.monkeypatch.setattr(wiring, "build_base", build)

    def model(self, *, sound: bool) -> None:
        """Let the model's files be as they should be, or not."""

        def verify(*_: object, **__: object) -> list[FileCheck]:
            return [FileCheck(Path("model.onnx"), 1, "a", "a" if sound else "b")]

        self.monkeypatch.setattr(model_files, "verify", verify)


@pytest.fixture
def clinic(home: Path, monkeypatch: pytest.MonkeyPatch) -> Clinic:
    """Prepare a healthy patient."""
    found = Clinic(monkeypatch)
    found.use(AilingStore(), HashingEmbedder())
    found.model(sound=True)
    return found


def checks(text: str) -> dict[str, dict[str, str]]:
    """Return the checks by name."""
    return {each["check"]: each for each in json.loads(text)["checks"]}


def test_a_healthy_knowledge_base_passes_every_check(clinic: Clinic, knowledge: Command) -> None:
    done = knowledge("doctor", "--json")
    found = checks(done.out)
    assert done.code == 0, done.out
    assert {
        "settings",
        "data folder",
        "disk",
        "embedding model",
        "store",
        "embedding",
        "collection",
        "contents",
    } <= set(found)
    assert {each["status"] for name, each in found.items() if name != "sandbox"} == {"ok"}
    clinic.use(AilingStore(), HashingEmbedder())
    table = knowledge("doctor").out
    assert "hashing" in table


@pytest.mark.parametrize(
    ("held", "status", "said"),
    [
        ({"privileges": "", "files": "", "system calls": ""}, "ok", "works"),
        ({"privileges": "", "files": "this kernel has no Landlock"}, "warn", "files: this kernel has no Landlock"),
        ({}, "warn", "only on Linux"),
    ],
)
def test_what_the_sandbox_holds_is_said(
    clinic: Clinic,
    knowledge: Command,
    monkeypatch: pytest.MonkeyPatch,
    held: dict[str, str],
    status: str,
    said: str,
) -> None:
    del clinic

    def run(*_: object) -> Iterator[dict[str, str]]:
        yield held

    monkeypatch.setattr(Sandbox, "run", run)
    check = checks(knowledge("doctor", "--json").out)["sandbox"]
    assert check["status"] == status
    assert said in check["message"]


@pytest.mark.parametrize(
    ("platform", "said"), [("win32", "A job object limits its memory"), ("darwin", "four times a second")]
)
def test_what_bounds_a_reader_elsewhere_is_said(
    clinic: Clinic, knowledge: Command, monkeypatch: pytest.MonkeyPatch, platform: str, said: str
) -> None:
    del clinic

    def run(*_: object) -> Iterator[dict[str, str]]:
        yield {}

    monkeypatch.setattr(Sandbox, "run", run)
    monkeypatch.setattr("knowledge_mcp.cli.knowledge.doctor.sys.platform", platform)
    check = checks(knowledge("doctor", "--json").out)["sandbox"]
    assert check["status"] == "warn"
    assert said in check["message"]


def test_an_empty_knowledge_base_is_a_warning_with_the_way_to_fill_it(clinic: Clinic, knowledge: Command) -> None:
    clinic.use(AilingStore(), HashingEmbedder(), filled=False)
    done = knowledge("doctor", "--json")
    assert done.code == 0
    assert checks(done.out)["contents"]["status"] == "warn"
    assert "knowledge-ingest" in checks(done.out)["contents"]["what_to_do"]


def test_an_empty_collection_beside_others_is_no_warning(clinic: Clinic, knowledge: Command) -> None:
    store = AilingStore()
    store.create_collection("planning", SPACE)
    clinic.use(store, HashingEmbedder(), filled=False)
    found = checks(knowledge("doctor", "--json").out)["contents"]
    assert found["status"] == "ok"
    assert "other collections (planning) were not verified" in found["message"]


def test_a_misspelt_setting_is_named_with_the_right_one(
    clinic: Clinic, knowledge: Command, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "http://collector:4318")
    (home / ".env").write_text("EMBEDING_PROVIDER=openai\nSOMEBODY_ELSES=1\n", encoding="utf-8")
    done = knowledge("doctor", "--json")
    output = [each for each in json.loads(done.out)["checks"] if each["check"] == "settings"]
    assert [each["status"] for each in output] == ["ok", "warn"]
    assert output[1]["message"] == "EMBEDING_PROVIDER is set, but is not a setting"
    assert "did you mean EMBEDDING_PROVIDER?" in output[1]["what_to_do"]
    assert done.code == 0


def test_wrong_settings_fail_and_the_rest_is_still_examined(
    clinic: Clinic, knowledge: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CHUNK_SIZE_MIN", "7")
    found = checks(knowledge("doctor", "--json").out)
    assert found["settings"]["status"] == "fail"
    assert found["contents"]["status"] == "ok"


@pytest.mark.parametrize(
    "name",
    ["MCP_API_KEYS_FILE", "RAG_API_KEYS_FILE", "DOCUMENT_PASSWORDS_FILE", "GIT_TOKENS", "SOURCE_LOGINS"],
)
def test_settings_that_are_read_later_are_checked_too(
    clinic: Clinic, knowledge: Command, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(name, "not-there")
    done = knowledge("doctor", "--json")
    wrong = [each for each in json.loads(done.out)["checks"] if each["status"] == "fail"]
    assert done.code == 1
    assert [name in f"{each['message']} {each['what_to_do']}" for each in wrong] == [True]


@pytest.mark.skipif(shutil.which("tesseract") is None, reason="Tesseract is not installed")
def test_languages_of_scans_without_data_are_named(
    clinic: Clinic, knowledge: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert checks(knowledge("doctor", "--json").out)["text recognition"]["status"] == "ok"
    monkeypatch.setenv("OCR_LANGUAGE", "eng+qaa")
    found = checks(knowledge("doctor", "--json").out)["text recognition"]
    assert found["status"] == "fail"
    assert "no data for the language qaa" in found["message"]


def test_a_damaged_store_fails_until_it_is_repaired(clinic: Clinic, knowledge: Command) -> None:
    clinic.use(AilingStore(damaged=True), HashingEmbedder())
    done = knowledge("doctor", "--json")
    assert done.code == 1
    assert checks(done.out)["contents"]["message"] == "iso-1: A vector is missing."
    clinic.use(AilingStore(damaged=True), HashingEmbedder())
    assert knowledge("doctor", "--repair").code == 0


def test_documents_without_check_sums_are_counted(clinic: Clinic, knowledge: Command, tmp_path: Path) -> None:
    path = tmp_path / "kept.sqlite"
    with contextlib.closing(SqliteStore(path, EnglishAnalyser())) as store:
        store.create_collection(COLLECTION, SPACE)
        for name in ("old", "new"):
            put(store, name, ["The guard stops the press."], collection=COLLECTION)
        clinic.use(store, HashingEmbedder(), filled=False)
        assert "check sums" not in checks(knowledge("doctor", "--json").out)
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        (record,) = connection.execute("SELECT record FROM documents WHERE document_id = 'old'").fetchone()
        connection.execute("UPDATE documents SET record = ? WHERE document_id = 'old'", (without_check_sums(record),))
    with contextlib.closing(SqliteStore(path, EnglishAnalyser())) as store:
        clinic.use(store, HashingEmbedder(), filled=False)
        found = checks(knowledge("doctor", "--json").out)["check sums"]
    assert found["status"] == "warn"
    assert found["message"].startswith("1 document was stored before")


def test_an_unreachable_store_fails(clinic: Clinic, knowledge: Command) -> None:
    clinic.use(AilingStore(unreachable=True), HashingEmbedder())
    done = knowledge("doctor", "--json")
    assert done.code == 1
    assert checks(done.out)["store"]["message"] == "The store does not answer."


def test_a_store_that_stands_in_for_the_configured_one_is_a_warning(
    knowledge: Command, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("chromadb")
    monkeypatch.setenv("QDRANT_URL", "http://127.0.0.1:1")
    found = checks(knowledge("doctor", "--json").out)["store"]
    assert found["status"] == "warn"
    assert "qdrant does not answer" in found["message"]
    assert "chromadb is used instead" in found["message"]


def test_a_damaged_model_fails_and_is_not_tried(clinic: Clinic, knowledge: Command) -> None:
    clinic.model(sound=False)
    done = knowledge("doctor", "--json")
    assert done.code == 1
    assert "model.onnx" in checks(done.out)["embedding model"]["message"]
    assert "embedding" not in checks(done.out)


@pytest.mark.parametrize("exact", [True, False])
def test_a_processor_without_instructions_for_int8_is_reported(
    clinic: Clinic, knowledge: Command, monkeypatch: pytest.MonkeyPatch, *, exact: bool
) -> None:
    del clinic
    monkeypatch.setattr(session, "are_exact", lambda: exact)
    found = checks(knowledge("doctor", "--json").out)["embedding model"]
    assert found["status"] == "ok"
    assert ("no instructions" in found["message"]) is not exact


def test_a_missing_model_is_a_warning_that_names_the_command(
    home: Path, knowledge: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    Clinic(monkeypatch).use(AilingStore(), HashingEmbedder())
    found = checks(knowledge("doctor", "--json").out)
    assert found["embedding model"]["status"] == "warn"
    assert "knowledge models fetch" in found["embedding model"]["what_to_do"]


def test_a_model_that_does_not_embed_fails(clinic: Clinic, knowledge: Command) -> None:
    clinic.use(AilingStore(), HashingEmbedder(failure=ConnectionFailedError("No answer.")))
    done = knowledge("doctor", "--json")
    assert done.code == 1
    assert checks(done.out)["embedding"]["message"] == "No answer."


def test_a_reranker_is_loaded_or_the_command_that_fetches_it_is_reported(
    clinic: Clinic, knowledge: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RERANKER", "local")
    monkeypatch.setenv("RERANKER_MODEL_PATH", str(tmp_path / "crane"))
    clinic.use(AilingStore(), HashingEmbedder(), reranker=CrossEncoder(tmp_path / "crane"))
    missed = knowledge("doctor", "--json")
    assert missed.code == 1
    assert "knowledge models fetch" in checks(missed.out)["reranker"]["what_to_do"]
    make_cross_encoder(tmp_path / "crane")
    assert checks(knowledge("doctor", "--json").out)["reranker"]["message"].startswith("crane loaded")


def test_lists_of_synonyms_are_counted_and_what_they_cannot_do_is_reported(
    home: Path, knowledge: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = home / "words.txt"
    words.write_text("SyRS, system requirements specification\n", encoding="utf-8")
    monkeypatch.setenv("SYNONYMS", f"{words}")
    sound = checks(knowledge("doctor", "--json").out)["synonyms"]
    assert (sound["status"], sound["message"]) == ("ok", f"1 entry of {words}")
    words.write_text("IT, information technology\n", encoding="utf-8")
    doubtful = checks(knowledge("doctor", "--json").out)["synonyms"]
    assert doubtful["status"] == "warn"
    assert doubtful["message"].endswith("some can never match: IT")
    monkeypatch.setenv("SYNONYMS", "none")
    assert "synonyms" not in checks(knowledge("doctor", "--json").out)
    monkeypatch.setenv("SYNONYMS", "finanse")
    missed = knowledge("doctor", "--json")
    assert missed.code == 1
    assert "finance" in missed.out
    assert "finanse" in missed.out


def test_a_collection_of_another_space_fails(clinic: Clinic, knowledge: Command) -> None:
    clinic.use(AilingStore(), HashingEmbedder(model="other"))
    done = knowledge("doctor", "--json")
    assert done.code == 1
    assert "other" in checks(done.out)["collection"]["message"]


@pytest.mark.parametrize(("free", "status", "code"), [(5e9, "ok", 0), (5e8, "warn", 0), (5e7, "fail", 1)])
def test_little_room_on_the_disk_is_reported(
    clinic: Clinic, knowledge: Command, monkeypatch: pytest.MonkeyPatch, free: float, status: str, code: int
) -> None:
    def usage(_path: Path) -> SimpleNamespace:
        return SimpleNamespace(free=int(free))

    monkeypatch.setattr("shutil.disk_usage", usage)
    done = knowledge("doctor", "--json")
    assert (done.code, checks(done.out)["disk"]["status"]) == (code, status)


def test_a_data_folder_that_cannot_be_written_fails(
    clinic: Clinic, home: Path, knowledge: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocked = home / "blocked"
    blocked.write_text("a file, not a folder")
    monkeypatch.setenv("DATA_PATH", str(blocked / "data"))
    done = knowledge("doctor", "--json")
    assert done.code == 1
    assert "DATA_PATH" in checks(done.out)["data folder"]["what_to_do"]


class _Named(HashingEmbedder):
    """An embedder that calls itself the built-in model."""

    @property
    def space(self) -> EmbeddingSpace:
        return dataclasses.replace(super().space, provider="local", model="all-MiniLM-L6-v2")


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("Die Pumpe muss laufen, und der Deckel darf nicht offen sein.", "warn"),
        ("The pump shall run, and the cover shall not be open.", "ok"),
    ],
)
def test_a_language_that_the_model_does_not_know_is_named(
    clinic: Clinic, knowledge: Command, tmp_path: Path, text: str, status: str
) -> None:
    embedder = _Named()
    world = World(tmp_path / "documents", embedder=embedder, collection=COLLECTION).holding(
        {"pump.md": f"# DIN 1\n\n## 1 X\n\n{text}\n"}
    )
    clinic.use(world.store, embedder, filled=False)
    found = checks(knowledge("doctor", "--json").out)["languages"]
    assert found["status"] == status
    assert ("German" in found["message"]) == (status == "warn")
    assert ("multilingual-e5-small" in found["what_to_do"]) == (status == "warn")
