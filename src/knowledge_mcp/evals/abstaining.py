"""How well an answer tells that there is none: signals of an answer, and how they part the unanswerable questions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from knowledge_mcp.evals.statistics import area_under_curve, percentile
from knowledge_mcp.model.query import SearchAnswer

__all__ = ["KEPT", "SIGNALS", "Abstention", "abstention", "signals_of"]

SIGNALS = {
    "answerability": "what the answer itself says",
    "score": "score of the best hit",
    "cosine": "best cosine among the hits",
    "bm25": "best BM25 among the hits",
}
KEPT = 0.95
"""Share of the answerable questions that must still be answered where a share of declined ones is told."""


@dataclass(frozen=True, slots=True)
class Abstention:
    """Tell how well one signal parts answerable from unanswerable questions.

    Attributes:
        signal: a name of `SIGNALS`.
        area: under the ROC curve; 1 parts all, 0.5 none.
        threshold: of the signal, below which a question is declined so that `KEPT` of the answerable are answered.
        declined: share of the unanswerable that are declined there.
        answered: share of the answerable that are answered there.
    """

    signal: str
    area: float
    threshold: float
    declined: float
    answered: float


def signals_of(answer: SearchAnswer) -> dict[str, float]:
    """Read what an answer shows of its own worth; without hits every signal is 0."""
    found = {
        "score": answer.hits[0].score if answer.hits else 0.0,
        "cosine": max((hit.dense.score for hit in answer.hits if hit.dense is not None), default=0.0),
        "bm25": max((hit.lexical.score for hit in answer.hits if hit.lexical is not None), default=0.0),
    }
    said = getattr(answer, "answerability", None)  # a hint that not every engine gives
    return {"answerability": float(said), **found} if isinstance(said, int | float) else found


def abstention(
    answerable: Sequence[Mapping[str, float]], unanswerable: Sequence[Mapping[str, float]]
) -> tuple[Abstention, ...]:
    """Judge every signal that all answers have; empty where one kind of question is missing."""
    if not answerable or not unanswerable:
        return ()
    found: list[Abstention] = []
    for name in SIGNALS:
        if any(name not in each for each in (*answerable, *unanswerable)):
            continue
        right = [each[name] for each in answerable]
        wrong = [each[name] for each in unanswerable]
        if not any((*right, *wrong)):
            continue
        threshold = percentile(right, 1 - KEPT)
        found.append(
            Abstention(
                signal=name,
                area=area_under_curve(right, wrong),
                threshold=threshold,
                declined=sum(value < threshold for value in wrong) / len(wrong),
                answered=sum(value >= threshold for value in right) / len(right),
            )
        )
    return tuple(found)
