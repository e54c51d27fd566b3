"""The unit of a model's cosines: 1 where the constants were chosen, measured once elsewhere, never made up."""

from __future__ import annotations

import dataclasses
import math
import struct
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from knowledge_mcp.engine.search import cosine_unit as measuring
from knowledge_mcp.engine.search.cosine_unit import PAIRS, cosine_unit
from knowledge_mcp.model.chunk import Vector
from knowledge_mcp.model.collection import EmbeddingSpace, EmbeddingUsage
from knowledge_mcp.model.errors import ConnectionFailedError
from knowledge_mcp.model.query import SearchQuery
from knowledge_mcp.testing.embedders import HashingEmbedder
from tests.engine.world import PUMPS, World

DIMENSIONS = len(PAIRS) + 1


class Narrow(HashingEmbedder):
    """Give what belongs together one cosine and everything else another."""

    def __init__(self, together: float, apart: float, *, model: str = "narrow") -> None:
        super().__init__()
        self._together, self._apart = together, apart
        self._model = model
        self.calls = 0
        self.fails = False
        self.answers = threading.Event()
        self.answers.set()

    @property
    def space(self) -> EmbeddingSpace:
        return dataclasses.replace(super().space, model=self._model)

    def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        self.calls += 1
        self.answers.wait()
        if self.fails:
            raise ConnectionFailedError("The service is away.")
        return [self._vector(text) for text in texts]

    def _vector(self, text: str) -> Vector:
        (place,) = [place for place, pair in enumerate(PAIRS) if text in pair]
        common, own = math.sqrt(self._apart), math.sqrt(self._together - self._apart)
        numbers = [common, *(own if place == each else 0.0 for each in range(len(PAIRS)))]
        return struct.pack(f"<{DIMENSIONS}f", *numbers)


@pytest.fixture(autouse=True)
def _unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    for kept in ("_KNOWN", "_TRIED"):
        monkeypatch.setattr(measuring, kept, {})


@pytest.mark.parametrize(
    ("together", "apart", "unit"),
    [(0.57, 0.08, 1.0), (0.66, 0.42, 0.24 / 0.49), (0.5, 0.49, 0.2), (1.0, 0.0, 2.0)],
)
def test_the_unit_is_how_far_answers_are_from_the_rest_within_bounds(
    together: float, apart: float, unit: float
) -> None:
    assert cosine_unit(Narrow(together, apart)) == pytest.approx(unit, abs=1e-4)


def test_it_is_measured_once_for_a_space_and_not_at_all_where_the_constants_were_chosen() -> None:
    first, again, other = Narrow(0.7, 0.4), Narrow(0.7, 0.4), Narrow(0.7, 0.4, model="other")
    assert cosine_unit(first) == cosine_unit(again) == cosine_unit(other)
    assert (first.calls, again.calls, other.calls) == (1, 0, 1)
    chosen = Narrow(0.7, 0.4, model="all-MiniLM-L6-v2")
    assert cosine_unit(chosen) == 1.0
    fitted = Narrow(0.7, 0.4, model="multilingual-e5-small")
    assert cosine_unit(fitted) == 0.1
    assert (chosen.calls, fitted.calls) == (0, 0)


class Service(Narrow):
    """The same by a service, which must be asked; it may fail, or hang."""

    kept: Mapping[str, Vector] = {}

    @property
    def price(self) -> float | None:
        return 0.02

    def documents_at_hand(self, texts: Sequence[str]) -> dict[str, Vector]:
        return {text: self.kept[text] for text in texts if text in self.kept}

    def measured(self) -> float:
        """Wait until the thread that measures has ended."""
        measuring.measure_once(self)
        return cosine_unit(self)


def test_a_service_that_fails_is_left_alone_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    embedder = Service(0.66, 0.42)
    embedder.fails = True
    assert [embedder.measured(), embedder.measured()] == [1.0, 1.0]
    assert embedder.calls == 1
    embedder.fails = False
    monkeypatch.setattr(measuring, "_AGAIN", 0.0)
    assert embedder.measured() < 0.5


def test_a_question_never_waits_for_a_service_and_the_next_ones_have_its_unit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(measuring, "_PATIENCE", threading.TIMEOUT_MAX)  # who waited would wait for ever
    embedder = Service(0.66, 0.42)
    embedder.answers.clear()
    assert [cosine_unit(embedder) for _ in range(20)] == [1.0] * 20
    embedder.answers.set()
    monkeypatch.setattr(measuring, "_PATIENCE", 30.0)
    assert embedder.measured() < 0.5
    assert embedder.calls == 1


def test_what_a_cache_holds_is_not_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = Service(0.66, 0.42), Service(0.66, 0.42)
    unit = first.measured()
    texts = [text for pair in PAIRS for text in pair]
    second.kept = dict(zip(texts, first.embed_documents(texts), strict=True))
    monkeypatch.setattr(measuring, "_KNOWN", {})
    monkeypatch.setattr(measuring, "_TRIED", {})
    assert cosine_unit(second) == unit
    assert second.calls == 0


def test_an_ingest_that_asked_a_service_has_the_unit_measured_for_the_first_question(tmp_path: Path) -> None:
    class Paid(HashingEmbedder):
        asked = 0

        @property
        def usage(self) -> EmbeddingUsage:
            return EmbeddingUsage(requests=self.asked)

        def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
            self.asked += 1
            return super().embed_documents(texts)

    paid = Paid(price=None)
    world = World(tmp_path, embedder=paid).holding({"pumps.md": PUMPS})
    asked = paid.asked
    world.knowledge.search(SearchQuery("battery"))
    assert paid.asked == asked
    assert paid.space.fingerprint in measuring._KNOWN  # pyright: ignore[reportPrivateUsage]
