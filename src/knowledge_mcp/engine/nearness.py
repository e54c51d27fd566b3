"""How far apart a model holds what answers a question and what does not: the unit in which its cosines are read.

One model gives an answer .57 and anything else .08, another .66 and .42. Cosines are added to shares of words when legs
are blended, with constants chosen in one embedding space; in every other the same constants would weigh the words
anew. So eight questions and their answers, about nothing in particular, are embedded once, and the words are weighed
by how much the two kinds of cosines differ there.
"""

from __future__ import annotations

import logging
import math
import operator
import threading
import time
from collections.abc import Sequence

from knowledge_mcp.model.chunk import Vector, numbers_of
from knowledge_mcp.model.collection import EmbeddingSpace
from knowledge_mcp.model.errors import KnowledgeError
from knowledge_mcp.ports import Embedder
from knowledge_mcp.support.events import log_event

__all__ = ["PAIRS", "measure_once", "nearness"]

_logger = logging.getLogger(__name__)

CHOSEN_IN = "all-MiniLM-L6-v2"
"""The model whose cosines the constants of the blend were chosen with; either of its variants."""

_GAP = 0.49
"""What the pairs give there."""

_LEAST, _MOST = 0.2, 2.0
"""Beyond these the pairs say nothing of use, as with vectors that have no meaning."""

PAIRS = (
    ("How often must the brakes be inspected?",
     "The braking system shall be inspected every 12 months, and after each emergency stop."),
    ("Who approves a change of the design?",
     "Changes to the design are approved by the chief engineer before they are carried out."),
    ("What is the maximum operating temperature?",
     "The unit operates at ambient temperatures of up to 55 degrees Celsius."),
    ("When does the warranty end?",
     "The guarantee runs for two years from the day of delivery."),
    ("How is a user signed out after inactivity?",
     "A session ends after fifteen minutes without activity, and the user must log in again."),
    ("Which documents does an applicant submit?",
     "The application is filed with a site plan, the elevations and proof of ownership."),
    ("What caused the fall in revenue?",
     "Sales declined by four percent, mainly because of lower demand in Europe."),
    ("How are errors in the network handled?",
     "When the connection is lost, the client tries again after one, two and four seconds."),
)  # fmt: skip
"""Questions with their answers; of words no pair shares more than it must."""

_TEXTS = tuple(text for pair in PAIRS for text in pair)

_PATIENCE = 5.0
"""Seconds that an ingest waits for the unit; a question never waits for a service that tells it."""

_AGAIN = 300.0
"""Seconds from a try that failed to the next one: the embedder has retries of its own."""

_KNOWN: dict[str, float] = {}
_TRIED: dict[str, tuple[float, threading.Thread]] = {}
"""When each space was last tried, and the thread that did or does it."""
_LOCK = threading.Lock()


def nearness(embedder: Embedder) -> float:
    """Return the unit of an embedder's cosines: 1 where the constants were chosen, less where cosines lie closer.

    It is the same for the same space, so it is measured once a process, by one call that embeds sixteen short texts.
    No question waits for a service: where vectors of the texts are not at hand, they are asked for on another thread,
    and the unit is 1 until they have come. A cache of embeddings keeps them for every process.
    """
    space = embedder.space
    if space.model == CHOSEN_IN:
        return 1.0
    if space.fingerprint not in _KNOWN:
        with _LOCK:
            if not _is_known(embedder, space):
                _start(embedder, space)
    return _KNOWN.get(space.fingerprint, 1.0)


def measure_once(embedder: Embedder) -> None:
    """Have the unit measured before the first question needs it; a service that is slow is waited for only briefly."""
    nearness(embedder)
    _, measuring = _TRIED.get(embedder.space.fingerprint, (0.0, None))
    if measuring is not None:
        measuring.join(_PATIENCE)


def _is_known(embedder: Embedder, space: EmbeddingSpace) -> bool:
    """Tell whether the unit is known, or can be worked out from what is at hand."""
    if space.fingerprint in _KNOWN:
        return True
    try:
        vectors = embedder.documents_at_hand(_TEXTS)
    except KnowledgeError as exc:
        log_event(_logger, logging.INFO, "nearness_unknown", model=space.model, reason=exc.message)
        return True  # that it is 1, for now: the question will fail of itself
    if vectors is not None:
        _keep(space, vectors)
    return vectors is not None


def _start(embedder: Embedder, space: EmbeddingSpace) -> None:
    """Measure a space on a thread of its own, unless one does, or has just failed."""
    tried, running = _TRIED.get(space.fingerprint, (-math.inf, None))
    if (running is None or not running.is_alive()) and time.monotonic() - tried >= _AGAIN:
        running = threading.Thread(target=_measure, args=(embedder, space), name="nearness", daemon=True)
        _TRIED[space.fingerprint] = time.monotonic(), running
        running.start()


def _measure(embedder: Embedder, space: EmbeddingSpace) -> None:
    try:
        vectors = embedder.embed_documents(_TEXTS)
    except KnowledgeError as exc:
        log_event(_logger, logging.INFO, "nearness_unknown", model=space.model, reason=exc.message)
        return
    _keep(space, vectors)


def _keep(space: EmbeddingSpace, vectors: Sequence[Vector]) -> None:
    unit = min(_MOST, max(_LEAST, _gap(vectors[0::2], vectors[1::2]) / _GAP))
    _KNOWN[space.fingerprint] = unit
    log_event(_logger, logging.INFO, "nearness_measured", model=space.model, unit=round(unit, 3))


def _gap(questions: Sequence[Vector], answers: Sequence[Vector]) -> float:
    """Tell the mean cosine of what belongs together less that of what does not."""
    asked, told = [numbers_of(each) for each in questions], [numbers_of(each) for each in answers]
    cosines = [[sum(map(operator.mul, one, other)) for other in told] for one in asked]
    count = len(cosines)
    right = sum(cosines[place][place] for place in range(count))
    return right / count - (sum(map(sum, cosines)) - right) / (count * (count - 1))
