"""The embedding cache: nothing is paid for twice, and whatever happens to its file, no vector is wrong."""

from __future__ import annotations

import logging
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import apsw
import pytest

from knowledge_mcp.embedders.cache import CACHE_FILE, CachedEmbedder
from knowledge_mcp.embedders.cache_file import CacheFile
from knowledge_mcp.model.collection import EmbeddingUsage
from knowledge_mcp.model.errors import ContentRefusedError, InvalidInputError, QuotaExceededError
from knowledge_mcp.ports import Embedder
from knowledge_mcp.support.events import EVENT_FIELDS
from knowledge_mcp.testing.embedders import EmbedderContract
from tests.embedders.cache_jobs import DIMENSIONS, SPACE, key_of, vector_of
from tests.embedders.remote_world import azure_embedder, openai_embedder
from tests.servers import openai_faults as faults
from tests.servers.openai_server import OpenAIServer

TEXTS = [f"clause {number}" for number in range(10)]


def _embedder(server: OpenAIServer, folder: Path, **changes: Any) -> CachedEmbedder:
    embedder = openai_embedder(server, embedding_cache=True, data_folder=folder, **changes)
    assert isinstance(embedder, CachedEmbedder)
    return embedder


def _file(path: Path, most_bytes: int = 2**30, clock: list[float] | None = None) -> CacheFile:
    times = clock or [1e9]
    return CacheFile(path, SPACE, DIMENSIONS, most_bytes=most_bytes, clock=lambda: times[0])


def _put(cache: CacheFile, *texts: str) -> None:
    cache.put({key_of(text): vector_of(text) for text in texts})


def _known(cache: CacheFile, *texts: str) -> list[str]:
    found = cache.get([key_of(text) for text in texts])
    assert all(found[key_of(text)] == vector_of(text) for text in texts if key_of(text) in found)
    return [text for text in texts if key_of(text) in found]


def _warnings(caplog: pytest.LogCaptureFixture) -> list[dict[str, Any]]:
    logged = [each for each in caplog.records if each.getMessage() == "embedding_cache_bypassed"]
    assert {each.levelno for each in logged} <= {logging.WARNING}
    return [getattr(each, EVENT_FIELDS) for each in logged]


class TestCachedEmbedder(EmbedderContract):
    @pytest.fixture(autouse=True)
    def _with_the_stand_in(self, server: OpenAIServer, tmp_path: Path) -> None:
        self.server, self.folder = server, tmp_path

    def make_embedder(self) -> Embedder:
        return _embedder(self.server, self.folder, embedding_dimensions=256)


# ---- in front of an embedder


@pytest.mark.requirement("C-11.3-embeddings")
def test_what_was_paid_for_once_is_answered_from_the_cache_by_a_later_process(
    server: OpenAIServer, tmp_path: Path
) -> None:
    first = _embedder(server, tmp_path)
    vectors = first.embed_documents(TEXTS[:6])
    first.close()
    second = _embedder(server, tmp_path)
    again = second.embed_documents(TEXTS)
    assert again[:6] == vectors
    assert again == [server.vector(text) for text in TEXTS]
    assert server.texts == TEXTS, "each text was sent once"
    assert second.usage == EmbeddingUsage(requests=1, tokens=8, cached=6)
    assert (tmp_path / CACHE_FILE).is_file()
    second.close()


def test_a_question_is_answered_by_the_vector_of_the_same_passage_and_kept_for_later(
    server: OpenAIServer, tmp_path: Path
) -> None:
    embedder = _embedder(server, tmp_path)
    (vector,) = embedder.embed_documents(["which clause?"])
    assert embedder.embed_query("which clause?") == vector
    embedder.embed_query("another one?")
    embedder.close()
    later = _embedder(server, tmp_path)
    later.embed_query("another one?")
    assert (len(server.requests), later.usage) == (2, EmbeddingUsage(cached=1))
    later.close()


def test_what_arrived_before_a_failure_is_not_paid_for_again(server: OpenAIServer, tmp_path: Path) -> None:
    server.faults.extend([None, None])
    server.always = faults.quota_used_up()
    embedder = _embedder(server, tmp_path, embedding_batch_size=2, embedding_concurrency=1)
    with pytest.raises(QuotaExceededError):
        embedder.embed_documents(TEXTS)
    embedder.close()
    server.always = None
    server.requests.clear()
    later = _embedder(server, tmp_path)
    assert later.embed_documents(TEXTS) == [server.vector(text) for text in TEXTS]
    assert server.texts == TEXTS[4:]
    later.close()


def test_a_wrong_answer_is_never_kept(server: OpenAIServer, tmp_path: Path) -> None:
    server.faults.append(faults.not_a_number())
    embedder = _embedder(server, tmp_path)
    with pytest.raises(Exception, match="no finite number"):
        embedder.embed_documents(TEXTS)
    assert embedder.embed_documents(TEXTS) == [server.vector(text) for text in TEXTS]
    assert embedder.usage.cached == 0
    embedder.close()


@pytest.mark.requirement("CLARIFY-002")
def test_refused_texts_stand_at_their_places_among_those_from_the_cache(server: OpenAIServer, tmp_path: Path) -> None:
    embedder = _embedder(server, tmp_path)
    embedder.embed_documents(["a", "b"])
    server.refuse = lambda text: text == "bad"
    with pytest.raises(ContentRefusedError) as failure:
        embedder.embed_documents(["bad", "a", "new", "bad", "b"])
    assert sorted(failure.value.reasons) == [0, 3]
    assert failure.value.vectors == (None, *(server.vector(each) for each in ("a", "new")), None, server.vector("b"))
    sent = len(server.requests)
    with pytest.raises(ContentRefusedError):
        embedder.embed_documents(["new", "bad"])
    assert [each.texts for each in server.requests[sent:]] == [("bad",)], "a refusal is not remembered"
    embedder.close()


def test_spaces_do_not_share_vectors_but_the_file(server: OpenAIServer, tmp_path: Path) -> None:
    wide, narrow = _embedder(server, tmp_path), _embedder(server, tmp_path, embedding_dimensions=256)
    azure = azure_embedder(server, embedding_cache=True, data_folder=tmp_path)
    for embedder in (wide, narrow, azure, wide, narrow, azure):
        (vector,) = embedder.embed_documents(["same"])
        assert vector == server.vector("same", embedder.space.dimensions)
    assert len(server.requests) == 3
    for embedder in (wide, narrow, azure):
        embedder.close()


def test_a_blank_text_is_named_by_its_place_in_the_whole_call(server: OpenAIServer, tmp_path: Path) -> None:
    embedder = _embedder(server, tmp_path)
    embedder.embed_documents(["known"])
    with pytest.raises(InvalidInputError, match="Text 2 of 3"):
        embedder.embed_documents(["known", " ", "new"])
    embedder.close()


def test_the_cache_can_be_switched_off(server: OpenAIServer, tmp_path: Path) -> None:
    for _ in range(2):
        embedder = openai_embedder(server, embedding_cache=False, data_folder=tmp_path)
        embedder.embed_documents(["same"])
        embedder.close()
    assert len(server.requests) == 2
    assert list(tmp_path.iterdir()) == []


# ---- the file


def test_what_one_process_keeps_another_finds(tmp_path: Path) -> None:
    one, other = _file(tmp_path / "c"), _file(tmp_path / "c")
    _put(one, "a", "b")
    assert _known(other, "a", "b", "c") == ["a", "b"]
    _put(other, "c")
    assert _known(one, "c") == ["c"]
    one.close()
    other.close()


def test_several_processes_write_and_read_at_once_and_nothing_is_lost_or_wrong(tmp_path: Path) -> None:
    file, count = tmp_path / "c", 40
    command = [sys.executable, "-m", "tests.embedders.cache_jobs", str(file)]
    jobs = [subprocess.Popen([*command, name, str(count)], stderr=subprocess.PIPE) for name in ("x", "y", "z")]
    for job in jobs:
        _, result = job.communicate(timeout=120)
        assert (job.returncode, result) == (0, b"")
    cache = _file(file)
    texts = [f"{name} {number}" for name in ("x", "y", "z", "shared") for number in range(count)]
    assert _known(cache, *texts) == texts
    cache.close()


def test_many_that_make_the_file_at_one_moment_all_use_it(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    many = 6
    for attempt in range(30):
        caches = [_file(tmp_path / f"c{attempt}") for _ in range(many)]
        start = threading.Barrier(many)

        def keep(number: int, cache: CacheFile, start: threading.Barrier = start) -> None:
            start.wait()
            _put(cache, f"text {number}")

        threads = [threading.Thread(target=keep, args=each) for each in enumerate(caches)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(_known(caches[0], *(f"text {number}" for number in range(many)))) == many
        for cache in caches:
            cache.close()
    assert not caplog.records


def test_above_its_bound_what_was_not_used_for_longest_goes(tmp_path: Path) -> None:
    clock = [1e9]
    cache = _file(tmp_path / "c", 2_000_000, clock)
    texts = [f"text {number}" for number in range(3000)]
    _put(cache, "used again", "never again")
    for start in range(0, len(texts), 100):
        clock[0] += 10_000
        assert _known(cache, "used again") == ["used again"]
        _put(cache, *texts[start : start + 100])
    assert (tmp_path / "c").stat().st_size < 3_000_000
    assert _known(cache, "used again", "never again") == ["used again"]
    kept = _known(cache, *texts)
    assert kept == texts[-len(kept) :], "the latest are kept"
    assert len(kept) > 800
    cache.close()


def test_questions_that_nobody_asks_again_are_the_first_to_go_and_never_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("knowledge_mcp.embedders.cache_file.MOST_PASSING", 5)
    cache = _file(tmp_path / "c")
    _put(cache, "a passage")
    questions = [f"question {number}" for number in range(12)]
    for question in questions:
        cache.put({key_of(question): vector_of(question)}, passing=True)
        if question == "question 2":
            assert _known(cache, question) == [question], "it is asked again"
    assert _known(cache, "a passage", *questions) == ["a passage", "question 2", *questions[-5:]]
    cache.close()


def test_a_use_is_written_down_at_most_once_an_hour(tmp_path: Path) -> None:
    clock = [1e9]
    cache = _file(tmp_path / "c", clock=clock)
    _put(cache, "a")
    for later, result in ((1800, 1e9), (3600, 1e9), (3601, 1e9 + 3601), (7000, 1e9 + 3601), (-50, 1e9 - 50)):
        clock[0] = 1e9 + later
        _known(cache, "a")
        assert _raw(tmp_path / "c", "SELECT used FROM vectors") == [(int(result),)]
    cache.close()


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE vectors SET vector = zeroblob(length(vector)) WHERE text = ?",
        "UPDATE vectors SET vector = substr(vector, 5) WHERE text = ?",
        "UPDATE vectors SET checksum = x'00' WHERE text = ?",
        "UPDATE vectors SET (vector, checksum) = (SELECT vector, checksum FROM vectors WHERE id = 2) WHERE text = ?",
    ],
)
def test_a_damaged_vector_is_asked_for_again_and_mended(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, damage: str
) -> None:
    cache = _file(tmp_path / "c")
    _put(cache, "a", "b")
    _raw(tmp_path / "c", damage, (key_of("a"),))
    assert _known(cache, "a", "b") == ["b"]
    assert _known(cache, "a", "b") == ["b"]
    assert [each["trouble"] for each in _warnings(caplog)] == ["damaged"]
    _put(cache, "a")
    assert _known(cache, "a", "b") == ["a", "b"]
    cache.close()


def test_a_vector_of_a_wrong_length_is_not_kept(tmp_path: Path) -> None:
    cache = _file(tmp_path / "c")
    cache.put({key_of("a"): vector_of("a")[:-4], key_of("b"): vector_of("b")})
    assert _known(cache, "a", "b") == ["b"]
    cache.close()


def _ruin_header(file: Path) -> None:
    file.write_bytes(b"this is no database at all" * 100)


def _ruin_pages(file: Path) -> None:
    _raw(file, "PRAGMA wal_checkpoint(TRUNCATE)")
    data = bytearray(file.read_bytes())
    data[4096 : len(data)] = b"\xa5" * (len(data) - 4096)
    file.write_bytes(data)


def _another_programs(file: Path) -> None:
    file.unlink()
    _raw(file, "CREATE TABLE vectors (precious TEXT); INSERT INTO vectors VALUES ('mine')")


def _of_a_later_version(file: Path) -> None:
    _raw(file, "PRAGMA user_version = 99")


def _a_folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


@pytest.mark.parametrize("ruin", [_ruin_header, _ruin_pages, _another_programs, _of_a_later_version, _a_folder])
def test_a_file_that_cannot_be_used_is_bypassed_with_one_warning(
    server: OpenAIServer, tmp_path: Path, caplog: pytest.LogCaptureFixture, ruin: Any
) -> None:
    file = tmp_path / CACHE_FILE
    cache = _file(file)
    _put(cache, *TEXTS)
    cache.close()
    ruin(file)
    before = file.read_bytes() if file.is_file() else b""
    embedder = _embedder(server, tmp_path)
    for _ in range(2):
        assert embedder.embed_documents(TEXTS) == [server.vector(text) for text in TEXTS]
        assert embedder.embed_query("a question") == server.vector("a question")
    (result,) = _warnings(caplog)
    assert result["path"] == str(file)
    assert (file.read_bytes() if file.is_file() else b"") == before, "what is not ours is left as it was"
    embedder.close()


def test_a_folder_that_cannot_be_made_is_bypassed_with_one_warning(
    server: OpenAIServer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("in the way")
    embedder = _embedder(server, tmp_path / "file" / "data")
    assert embedder.embed_documents(["a"]) == embedder.embed_documents(["a"])
    assert [each["trouble"] for each in _warnings(caplog)] == ["unusable"]
    embedder.close()


def test_a_full_disk_ends_the_keeping_and_not_the_embedding(
    server: OpenAIServer, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    embedder = _embedder(server, tmp_path)
    embedder.embed_documents(["a"])

    def full(*_: object) -> None:
        raise apsw.FullError("database or disk is full")

    monkeypatch.setattr(CacheFile, "_put", full)
    assert embedder.embed_documents(["b"]) == [server.vector("b")]
    (result,) = _warnings(caplog)
    assert "FullError" in result["reason"]
    assert embedder.embed_documents(["a", "b"]) == [server.vector("a"), server.vector("b")]
    embedder.close()


def test_a_cache_that_another_process_holds_is_passed_by_and_used_again_later(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("knowledge_mcp.embedders.cache_file.BUSY_MILLISECONDS", 1)
    cache = _file(tmp_path / "c")
    _put(cache, "a")
    holder: Any = apsw.Connection(str(tmp_path / "c"))
    holder.execute("BEGIN IMMEDIATE")
    _put(cache, "b")
    assert _known(cache, "a", "b") == ["a"], "reading goes on while another writes"
    holder.execute("ROLLBACK")
    holder.close()
    _put(cache, "b")
    assert _known(cache, "a", "b") == ["a", "b"]
    assert [each["trouble"] for each in _warnings(caplog)] == ["busy"]
    cache.close()


def test_a_closed_cache_finds_and_keeps_nothing(tmp_path: Path) -> None:
    cache = _file(tmp_path / "c")
    _put(cache, "a")
    cache.close()
    cache.close()
    _put(cache, "b")
    assert _known(cache, "a", "b") == []


def _raw(file: Path, statement: str, bindings: tuple[Any, ...] = ()) -> list[Any]:
    connection: Any = apsw.Connection(str(file))
    try:
        return connection.execute(statement, bindings).fetchall()
    finally:
        connection.close()
