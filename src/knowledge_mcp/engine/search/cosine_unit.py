"""Measure the unit of cosines: how far apart an embedder's vectors place what matches and what does not.

The blend divides cosines by it, because its constants were chosen with one model.
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

_logger = logging.getLogger(__name__)

CHOSEN_IN = "all-MiniLM-L6-v2"
"""The model for whose cosines the constants of the blend were chosen; either of its variants."""

_GAP = 0.49
"""The gap of the pairs with that model."""

_FITTED = {"multilingual-e5-small": 0.1}
"""Units that were chosen with questions. On nine sets (xquad in four pairs of languages, cm1, gannt, WARC), .06 to
.2 give the same mean within .003; at .1 English questions over German passages give .922, at the .2 of the pairs
.891.
"""

_LEAST, _MOST = 0.2, 2.0
"""Beyond these limits the pairs are not meaningful, as with vectors without meaning."""

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
"""Questions with their answers; no pair shares more words than it must."""

_TEXTS = tuple(text for pair in PAIRS for text in pair)

_PATIENCE = 5.0
"""Seconds that an ingest waits for the unit; a question never waits for a service to provide it."""

_AGAIN = 300.0
"""Seconds between a failed attempt and the next one: the embedder has its own retries."""

_KNOWN: dict[str, float] = {}
_TRIED: dict[str, tuple[float, threading.Thread]] = {}
"""When each space was last tried, and the thread of that attempt."""
_LOCK = threading.Lock()


def cosine_unit(embedder: Embedder) -> float:
    """Return the unit of cosines of an embedder: 1 for the model of the constants, less if cosines lie closer.

    It is the same for the same space, so it is measured once per process, by one call that embeds sixteen short texts.
    No question waits for a service: if the vectors are not cached, they are requested on another thread, and the unit
    is 1 until they arrive. An embedding cache keeps them for all processes.
    """
    space = embedder.space
    if space.model == CHOSEN_IN:
        return 1.0
    if space.model in _FITTED:
        return _FITTED[space.model]
    if space.fingerprint not in _KNOWN:
        with _LOCK:
            if not _is_known(embedder, space):
                _start(embedder, space)
    return _KNOWN.get(space.fingerprint, 1.0)


def measure_once(embedder: Embedder) -> None:
    """Measure the unit before the first question needs it; a slow service is waited for only briefly."""
    cosine_unit(embedder)
    _, measuring = _TRIED.get(embedder.space.fingerprint, (0.0, None))
    if measuring is not None:
        measuring.join(_PATIENCE)


def _is_known(embedder: Embedder, space: EmbeddingSpace) -> bool:
    """Return whether the unit is known, or can be computed without calling a paid service."""
    if space.fingerprint in _KNOWN:
        return True
    try:
        known = embedder.documents_at_hand(_TEXTS)
        if len(known) == len(_TEXTS):
            vectors = [known[text] for text in _TEXTS]
        elif embedder.price == 0.0:
            vectors = embedder.embed_documents(_TEXTS)
        else:
            return False
    except KnowledgeError as exc:
        log_event(_logger, logging.INFO, "cosine_unit_unknown", model=space.model, reason=exc.message)
        return True  # use 1 for now: the question itself will fail
    _keep(space, vectors)
    return True


def _start(embedder: Embedder, space: EmbeddingSpace) -> None:
    """Measure a space on its own thread, unless this is already happening or has just failed."""
    tried, running = _TRIED.get(space.fingerprint, (-math.inf, None))
    if (running is None or not running.is_alive()) and time.monotonic() - tried >= _AGAIN:
        running = threading.Thread(target=_measure, args=(embedder, space), name="cosine-unit", daemon=True)
        _TRIED[space.fingerprint] = time.monotonic(), running
        running.start()


def _measure(embedder: Embedder, space: EmbeddingSpace) -> None:
    try:
        vectors = embedder.embed_documents(_TEXTS)
    except KnowledgeError as exc:
        log_event(_logger, logging.INFO, "cosine_unit_unknown", model=space.model, reason=exc.message)
        return
    _keep(space, vectors)


def _keep(space: EmbeddingSpace, vectors: Sequence[Vector]) -> None:
    unit = min(_MOST, max(_LEAST, _gap(vectors[0::2], vectors[1::2]) / _GAP))
    _KNOWN[space.fingerprint] = unit
    log_event(_logger, logging.INFO, "cosine_unit_measured", model=space.model, unit=round(unit, 3))


def _gap(questions: Sequence[Vector], answers: Sequence[Vector]) -> float:
    """Return the mean cosine of matching pairs minus that of non-matching ones."""
    of_questions, of_answers = [numbers_of(each) for each in questions], [numbers_of(each) for each in answers]
    cosines = [[sum(map(operator.mul, one, other)) for other in of_answers] for one in of_questions]
    count = len(cosines)
    right = sum(cosines[place][place] for place in range(count))
    return right / count - (sum(map(sum, cosines)) - right) / (count * (count - 1))
