"""Planning documents in ChromaDB as specified (B-FR-008), read by a client that knows only the specification."""

from __future__ import annotations

import hashlib
import re
import shutil
import struct
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from knowledge_mcp.lexical.analyser import EnglishAnalyser
from knowledge_mcp.stores.chroma.client import Address
from knowledge_mcp.stores.chroma.store import ChromaStore
from tests.planning.world import REF, Sheet, World, report
from tests.servers.chroma_server import quick_folder

CHUNK_FIELDS = {
    "application_ref",
    "document_id",
    "source_file",
    "document_type",
    "page_numbers",
    "chunk_index",
    "total_chunks",
    "extraction_method",
    "char_count",
    "word_count",
}
DOCUMENT_FIELDS = {
    "file_path",
    "file_hash",
    "application_ref",
    "document_type",
    "chunk_count",
    "ingested_at",
    "extraction_method",
    "contains_drawings",
}
OTHER = "24/00002/OUT"


class Reader:
    """Read the two collections as the specification tells it, with nothing but the library."""

    def __init__(self, folder: Path) -> None:
        import chromadb
        from chromadb.config import Settings

        self.client: Any = chromadb.PersistentClient(str(folder), settings=Settings(anonymized_telemetry=False))
        self.docs: Any = self.client.get_collection("application_docs", embedding_function=None)
        self.registry: Any = self.client.get_collection("document_registry", embedding_function=None)

    def search(self, vector: list[float], where: dict[str, Any] | None, most: int) -> list[tuple[str, str, float, Any]]:
        """B-FR-002: nearest neighbours with an optional `where`; squared L2 distances become relevance."""
        found = self.docs.query(
            query_embeddings=[vector],
            n_results=most,
            where=where,
            include=["documents", "metadatas", "distances"],
        )
        return [
            (name, text, max(0.0, 1.0 - distance / 2.0), metadata)
            for name, text, distance, metadata in zip(
                found["ids"][0], found["documents"][0], found["distances"][0], found["metadatas"][0], strict=True
            )
        ]

    def text(self, document_id: str) -> str:
        """B-FR-003: all chunks of a document by their index, joined by a blank line."""
        found = self.docs.get(where={"document_id": document_id}, include=["documents", "metadatas"])
        ordered = sorted(
            zip(found["metadatas"], found["documents"], strict=True), key=lambda pair: pair[0]["chunk_index"]
        )
        return "\n\n".join(text for _, text in ordered)


@pytest.fixture
def folder() -> Generator[Path]:
    made = quick_folder()
    yield made
    shutil.rmtree(made)


@pytest.fixture
def world(tmp_path: Path, folder: Path) -> Generator[World]:
    made = World(tmp_path, store=ChromaStore(Address(folder), EnglishAnalyser()))
    yield made
    made.service.close()


@pytest.mark.requirement("document-store-api:FR-008")
def test_a_plain_client_finds_chunks_and_registry_as_they_are_specified(world: World, folder: Path) -> None:
    path = world.paper("Transport Assessment.pdf", *report(), Sheet("Title block", slanted=4000))
    answer = world.ingest(path)
    reader = Reader(folder)
    digest = hashlib.sha256(Path(path).read_bytes()).hexdigest()
    document_id = f"25_01178_REM_{digest[:6]}"
    assert answer["document_id"] == document_id

    kept = reader.registry.get(ids=[document_id], include=["metadatas", "embeddings"])
    (metadata,) = kept["metadatas"]
    assert metadata.keys() == DOCUMENT_FIELDS
    (listed,) = world.call("list_ingested_documents", application_ref=REF)["documents"]
    assert metadata == {
        "file_path": path,
        "file_hash": digest,
        "application_ref": REF,
        "document_type": "transport_assessment",
        "chunk_count": answer["chunks_created"],
        "ingested_at": listed["ingested_at"],
        "extraction_method": "text_layer",
        "contains_drawings": True,
    }
    assert [list(each) for each in kept["embeddings"]] == [[0.0] * 384]
    assert reader.registry.count() == 1

    chunks = reader.docs.get(include=["documents", "metadatas", "embeddings"])
    assert len(chunks["ids"]) == answer["chunks_created"] > 3
    own = {each.id: each for each in world.service.document_chunks(document_id)}
    for name, text, each, vector in zip(
        chunks["ids"], chunks["documents"], chunks["metadatas"], chunks["embeddings"], strict=True
    ):
        assert re.fullmatch(r"25_01178_REM_[0-9a-f]{6}_\d{3}_\d{3}", name)
        assert each.keys() == CHUNK_FIELDS
        pages = [int(page) for page in each["page_numbers"].split(",")]
        assert name == f"{document_id}_{pages[0]:03d}_{each['chunk_index']:03d}"
        assert text == own[name].content
        assert tuple(pages) == own[name].page_numbers
        assert (each["application_ref"], each["document_id"]) == (REF, document_id)
        assert (each["source_file"], each["document_type"]) == ("Transport Assessment.pdf", "transport_assessment")
        assert (each["total_chunks"], each["extraction_method"]) == (answer["chunks_created"], "text_layer")
        assert (each["char_count"], each["word_count"]) == (len(text), len(text.split()))
        assert struct.pack("<384f", *vector) == world.embedder.embed_documents([text])[0]
    reader.client.close()


@pytest.mark.requirement("document-store-api:FR-008")
def test_a_plain_client_searches_filters_reads_and_lists_as_the_tools_do(world: World, folder: Path) -> None:
    transport = world.ingest(world.paper("Transport Assessment.pdf"))["document_id"]
    plan = world.ingest(world.paper("Site Plan.pdf", "The access road meets the junction north of the pond."))
    other = world.ingest(world.paper("Noise Assessment.pdf", *report(1)), ref=OTHER)["document_id"]
    reader = Reader(folder)
    query = "covered cycle parking"
    vector = list(struct.unpack("<384f", world.embedder.embed_query(query)))
    both = {"$and": [{"application_ref": REF}, {"document_type": {"$in": ["transport_assessment", "site_plan"]}}]}
    asked: list[tuple[dict[str, Any] | None, dict[str, Any]]] = [
        (None, {}),
        ({"application_ref": OTHER}, {"application_ref": OTHER}),
        (both, {"application_ref": REF, "document_types": ["transport_assessment", "site_plan"]}),
    ]
    for where, arguments in asked:
        answer = world.call("search_application_docs", query=query, max_results=4, mode="semantic", **arguments)
        expected = [(each["relevance_score"], each["metadata"]) for each in answer["results"]]
        found = [(round(each[2], 4), each[3]) for each in reader.search(vector, where, 4)]
        assert [score for score, _ in found] == pytest.approx([score for score, _ in expected], abs=2e-4)
        last = expected[-1][1] if answer["results_count"] == 4 else None
        there = [metadata for _, metadata in found]
        assert all(each[1] in there for each in expected if each[1] != last), "but for a tie at the end"

    listed = reader.registry.get(where={"application_ref": REF})
    assert sorted(listed["ids"]) == sorted([transport, plan["document_id"]])
    text = world.call("get_document_text", document_id=transport)["text"]
    joined = reader.text(transport)
    assert [part for part in joined.split("\n\n") if part not in text] == []
    assert len(joined) >= len(text)
    assert reader.registry.get(where={"application_ref": "99/1"})["ids"] == []
    assert reader.docs.get(where={"document_id": other})["ids"] != []
    reader.client.close()


@pytest.mark.requirement("document-store-api:FR-008")
def test_a_plain_client_sees_each_document_once_whatever_became_of_it(world: World, folder: Path) -> None:
    path = world.paper("report.pdf")
    first = world.ingest(path)
    reader = Reader(folder)
    before = set(reader.docs.get()["ids"])

    assert world.ingest(path)["status"] == "already_ingested"
    assert set(reader.docs.get()["ids"]) == before

    again = world.ingest(path, force_ocr=True)
    assert again["document_id"] == first["document_id"]
    found = reader.docs.get()
    assert len(found["ids"]) == again["chunks_created"]
    assert {each["extraction_method"] for each in found["metadatas"]} == {"ocr"}

    world.paper("report.pdf", *report(2, topic="Revised. "))
    newer = world.ingest(path)
    assert newer["replaced"] == [first["document_id"]]
    assert reader.registry.get()["ids"] == [newer["document_id"]]
    assert {each["document_id"] for each in reader.docs.get()["metadatas"]} == {newer["document_id"]}

    removed = world.call("delete_document", document_id=newer["document_id"])
    assert removed["chunks_deleted"] == newer["chunks_created"]
    assert (reader.docs.count(), reader.registry.count()) == (0, 0)
    assert world.store.open("application_docs").verify() == []
    reader.client.close()
