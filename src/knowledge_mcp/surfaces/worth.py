"""What answers say of a search beside its results: whether it found an answer, and what else was asked for.

The estimate is told in words: it is not so exact that its digits would mean anything. `benchmarks/answerability.py`
shows how often each word comes true on sets that the estimate was not fitted on.
"""

from __future__ import annotations

from typing import Literal

__all__ = ["ABOUT", "ALSO_ASKED", "Answerability", "in_words"]

Answerability = Literal["unlikely", "uncertain", "likely"]

ABOUT = (
    "Whether one of the ten best results answers, roughly. Where unlikely, check that a result really does, or say "
    "that the documents may not tell."
)
"""What a schema says of the estimate."""

ALSO_ASKED = "Phrases asked for too, as the documents do not use the query's own words."
"""What a schema says of the list."""

_UNLIKELY, _LIKELY = 1 / 3, 2 / 3


def in_words(estimate: float) -> Answerability:
    """Name the third of 0..1 that an estimate lies in."""
    if estimate < _UNLIKELY:
        return "unlikely"
    return "likely" if estimate > _LIKELY else "uncertain"
