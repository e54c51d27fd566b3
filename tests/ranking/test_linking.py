"""Sentences that say what is demanded: rated in pieces of a bounded size, whatever is held against what."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import pytest

from knowledge_mcp.model.errors import InvalidInputError
from knowledge_mcp.ranking import linking
from knowledge_mcp.ranking.linking import EvidenceFinder, Linker

_SENTENCES = [f"The pump shall run at {number} V." for number in range(20)]
_DEMANDS = [f"run at {number} V" for number in range(9)]


class _Watched(np.ndarray):
    """Vectors that note how many rows are multiplied at once."""

    rows: ClassVar[list[int]] = []

    def __matmul__(self, other: Any) -> Any:
        _Watched.rows.append(len(self))
        return np.asarray(self) @ np.asarray(other)


def _embed(texts: Sequence[str]) -> Any:
    dice = np.random.default_rng(3)
    return dice.random((len(texts), 4), dtype=np.float32).view(_Watched)


def test_demands_are_rated_some_at_a_time_and_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    seek = EvidenceFinder(str.split, _embed)
    whole = seek(_DEMANDS, _SENTENCES, 3)
    monkeypatch.setattr(linking, "_PAIRS_AT_ONCE", 40)
    _Watched.rows.clear()
    assert [[place for place, _ in each] for each in seek(_DEMANDS, _SENTENCES, 3)] == [
        [place for place, _ in each] for each in whole
    ]
    assert _Watched.rows == [2, 2, 2, 2, 1]


def test_two_lists_that_repeat_one_sentence_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def embed(texts: Sequence[str]) -> Any:
        vectors = np.array([[1.0, len(text), text.count("0")] for text in texts], np.float32)
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)

    propose = Linker(str.split, embed)
    found = len(propose(_SENTENCES, _SENTENCES, 0.1)[0])
    assert found > len(_SENTENCES), "they are alike"
    monkeypatch.setattr(linking, "MOST_PROPOSED", found - 1)
    with pytest.raises(InvalidInputError, match="pairs of the items are alike"):
        propose(_SENTENCES, _SENTENCES, 0.1)
