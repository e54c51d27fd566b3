"""How likely it is that what a search found answers the question, told from the scores of its two legs.

A search always finds something. Whether the knowledge base holds the answer shows in how near the best passage is and
how far it stands out from the tenth, in how many of the question's words one passage says, and in whether meaning and
words point to the same passages. A logistic model joins these signals. Its coefficients are fitted by
`benchmarks/answerability.py` on public sets, each question asked twice: as it is, and with its relevant documents held
back. They hold for one embedding space; in every other there is no estimate.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from knowledge_mcp.engine.base import USUAL_WEIGHT, Base
from knowledge_mcp.engine.blending import words_in_full
from knowledge_mcp.engine.names import asked_for
from knowledge_mcp.model.collection import EmbeddingSpace
from knowledge_mcp.model.query import LegHit, LegResults, SearchMode, SearchQuery

__all__ = ["CALIBRATIONS", "SIGNALS", "Calibration", "calibration_of", "estimate", "signals"]

_BEST = 10
"""Places of each leg that are looked at; the estimate is about as many hits."""

SIGNALS = ("cosine", "cosine_lead", "words", "words_lead", "agreement")
"""Names of what `signals` returns, in order."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """Hold a fitted logistic model: a weight for each of `SIGNALS`, and what is added to their sum."""

    weights: tuple[float, ...]
    constant: float

    def probability(self, values: Sequence[float]) -> float:
        """Return the estimate for some signals, 0..1."""
        total = self.constant + sum(weight * value for weight, value in zip(self.weights, values, strict=True))
        return 1.0 / (1.0 + math.exp(-max(-30.0, min(30.0, total))))


CALIBRATIONS: Mapping[EmbeddingSpace, Calibration] = {
    EmbeddingSpace("local", "all-MiniLM-L6-v2", 384, "int8", "mean"): Calibration(
        (5.451, -1.565, 11.418, 1.852, 1.047), -5.904
    ),
}
"""Fitted models by embedding space, whatever the checksum of its weights."""


def calibration_of(space: EmbeddingSpace) -> Calibration | None:
    """Return the model of an embedding space, None where it was not calibrated."""
    return CALIBRATIONS.get(dataclasses.replace(space, weights=""))


def signals(dense: Sequence[LegHit], lexical: Sequence[LegHit], terms: int, chunks: int) -> tuple[float, ...]:
    """Tell what both legs show of the answer's worth.

    Args:
        dense: by cosine, best first, at least one.
        lexical: by BM25, best first; may be empty.
        terms: number of the question's terms.
        chunks: number of chunks in the collection.

    Returns:
        Best cosine; its lead over the tenth; share of the question's words that the best passage by words says (of the
        sum that `words_in_full` estimates); its lead over the tenth, as a share of it; share of the ten best by meaning
        that are among the ten best by words.
    """
    near, said = dense[:_BEST], lexical[:_BEST]
    best = said[0].score if said else 0.0
    tenth = said[-1].score if len(said) == _BEST else 0.0
    both = {hit.chunk_id for hit in near} & {hit.chunk_id for hit in said}
    return (
        near[0].score,
        near[0].score - near[-1].score,
        best / words_in_full(terms, chunks),
        (best - tenth) / best if best > 0.0 else 0.0,
        len(both) / len(near),
    )


def estimate(base: Base, query: SearchQuery, mode: SearchMode, legs: LegResults, chunks: int) -> float | None:
    """Estimate the probability that one of the ten best hits answers the question.

    Returns:
        None where the estimate would be made up: no calibration of this space, a search by one leg (asked for, or left
        by a failure), an unusual weight, a later page, a question for a passage by nothing but its name (those are
        found by name, whatever the legs say), no words or no hits.
    """
    calibration = calibration_of(base.embedder.space)
    if query.weight not in {None, USUAL_WEIGHT} or calibration is None or mode is not SearchMode.HYBRID or query.offset:
        return None
    terms = len(base.analyser.query_terms(query.text))
    if not legs.dense or legs.lexical is None or not terms or asked_for(query.text).alone:
        return None
    return calibration.probability(signals(legs.dense, legs.lexical, terms, chunks))
