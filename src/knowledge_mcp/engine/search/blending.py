"""Blend both legs of a search into one ranking by scores: similarity of meaning, and share of the words.

```text
s = cosine + lambda * words / ((n + 1) * ln(2 + N))
```

`words` is a passage's BM25 sum, n the number of the question's terms, N the number of chunks. The divisor is
approximately the sum of a passage that contains every term. So a long question, of which every passage contains a small
part, is answered by meaning; one whose words occur together in one passage is answered by words; no parameter of the
collection is needed. If a model's cosines lie closer together than those for which lambda was chosen, the words weigh
proportionally less (`nearness`). `benchmarks/ablation.py` compares the sum with fusion by ranks and by the
distribution of the scores.
"""

from __future__ import annotations

import dataclasses
import logging
import math
import operator
import struct
import threading
import time
from collections.abc import Callable, Collection, Container, Mapping, Sequence
from dataclasses import dataclass

from knowledge_mcp.engine.core.base import PASSING, USUAL_WEIGHT, Base, Passages
from knowledge_mcp.engine.search.folding import TOGETHER
from knowledge_mcp.language.names import names_in_question
from knowledge_mcp.language.phrases import Phrase, VerbatimMatcher, phrases_in
from knowledge_mcp.model.chunk import Chunk, Vector, embedding_key, numbers_of
from knowledge_mcp.model.collection import EmbeddingSpace
from knowledge_mcp.model.errors import KnowledgeError
from knowledge_mcp.model.query import Filter, LegHit, LegResults, LegScore, SearchMode, SearchQuery
from knowledge_mcp.ports import Embedder
from knowledge_mcp.support.events import log_event

WORDS = 4.2
"""Lambda for documents, chosen on the eleven sets that `evals.choices` names for the blend, like the constants
below: from 2.8 to 4.2 their mean changes by less than .001, at 2 and 6 by .005.
"""

_UNSEEN = 0.8
"""A passage found only by words gets this share of the lowest cosine found."""

_HALF = 0.6
"""Sum at which the score is one half."""

EXAMPLES = 2
"""Number of best passages whose vectors are added to the question's."""

_ADDED = 0.6
"""Weight of their mean, relative to the question's own vector."""

Ranked = tuple[str, float, LegScore | None, LegScore | None]

Rank = Callable[[Sequence[LegHit] | None, Sequence[LegHit] | None, int, int], list[Ranked]]
"""Merges the beginnings of two legs: the hits of each, the number of hits wanted, and where the legs were cut."""


def words_in_full(terms: int, chunks: int) -> float:
    """Estimate the BM25 sum of a passage that contains every term of a question; always above 0."""
    return (terms + 1) * math.log(2.0 + chunks)


def blend(
    dense: Sequence[LegHit], lexical: Sequence[LegHit], in_full: float, limit: int, *, cut: bool = True
) -> list[Ranked]:
    """Rank what either leg found by cosine and share of the words; at most `limit` hits, scores in 0..1.

    Args:
        dense: by cosine, best first.
        lexical: by BM25, best first.
        in_full: the result of `words_in_full`.
        limit: maximum number of hits.
        cut: the lexical leg was cut at its limit, so that missing chunks may have as many words as its last hit.
    """
    near = {hit.chunk_id: hit.score for hit in dense}
    word_scores = {hit.chunk_id: hit.score for hit in lexical}
    farthest = _UNSEEN * max(0.0, dense[-1].score) if dense else 0.0
    fewest = lexical[-1].score if lexical and cut else 0.0
    totals = [
        (min(0.0, -near.get(chunk_id, farthest) - WORDS * word_scores.get(chunk_id, fewest) / in_full), chunk_id)
        for chunk_id in near | word_scores
    ]
    totals.sort()
    best = sorted((total / (_HALF - total), chunk_id) for total, chunk_id in totals[:limit])  # equal scores by id
    named = {chunk_id for _, chunk_id in best}
    in_dense, in_lexical = places(dense, named), places(lexical, named)
    return [(chunk_id, abs(score), in_dense.get(chunk_id), in_lexical.get(chunk_id)) for score, chunk_id in best]


def in_turns(
    dense: Sequence[LegHit] | None, lexical: Sequence[LegHit] | None, size: int, limit: int, rank: Rank
) -> list[Ranked]:
    """Rank the best `size` of each leg, then what the next `size` add, and so on; at most `limit` in all.

    Therefore the first hits are the same for any depth of the legs. No hit scores more than the one before it.
    """
    found: dict[str, Ranked] = {}
    deepest, end, lowest = max(len(dense or ()), len(lexical or ())), size, 1.0
    while True:
        near, best_words = (None if leg is None else leg[:end] for leg in (dense, lexical))
        for chunk_id, score, by_meaning, by_words in rank(near, best_words, limit + len(found), end):
            if chunk_id not in found:
                lowest = min(lowest, score)
                found[chunk_id] = (chunk_id, lowest, by_meaning, by_words)
        if len(found) >= limit or end >= deepest:
            return list(found.values())[:limit]
        end += size


def score_of(cosine: float, words: float, in_full: float) -> float:
    """Return the score of a passage found by both legs, 0..1."""
    total = max(0.0, cosine + WORDS * words / in_full)
    return total / (total + _HALF)


def places(leg: Sequence[LegHit], chunk_ids: Container[str]) -> dict[str, LegScore]:
    """Return the ranks of chunks in a leg."""
    return {
        hit.chunk_id: LegScore(rank, hit.score) for rank, hit in enumerate(leg, start=1) if hit.chunk_id in chunk_ids
    }


def feedback(
    base: Base, passages: Passages, vector: Vector, best: Sequence[str], filter: Filter | None, limit: int
) -> tuple[Vector, tuple[LegHit, ...]] | None:
    """Search by meaning once more, with the question's vector moved towards the best passages found so far.

    With a filter for the passages that the legs found, this compares vectors that are known, and finds nothing new.

    Returns:
        The moved vector and the new dense leg; None if no vector of the passages is known, or the search failed.

    Raises:
        SpaceMismatchError: as for the store's search.
    """
    moved = _moved_towards(base, vector, passages.get(best[:EXAMPLES]))
    if moved is None:
        return None
    try:
        dense = base.search(vector=moved, text=None, filter=filter, limit=limit).dense
    except PASSING:
        return None  # keep the first ranking
    return None if dense is None else (moved, dense)


def _moved_towards(base: Base, vector: Vector, examples: Sequence[Chunk]) -> Vector | None:
    """Move a question's vector towards the stored vectors of passages; None if none of them is known."""
    try:
        known = base.opened.vectors([embedding_key(each) for each in examples])
    except KnowledgeError:
        return None
    return _moved(vector, known)


def _moved(vector: Vector, examples: Mapping[str, Vector]) -> Vector | None:
    """Add the mean of some vectors to the question's, and normalise the result."""
    others = [numbers_of(each) for each in examples.values() if len(each) == len(vector)]
    if not others:
        return None
    share = _ADDED / len(others)
    summed = map(sum, zip(*others, strict=True))
    numbers = [own + share * added for own, added in zip(numbers_of(vector), summed, strict=True)]
    length = math.hypot(*numbers)
    return struct.pack(f"<{len(numbers)}f", *[number / length for number in numbers]) if length > 0.0 else None


_BEST = 10
"""Number of best hits in each leg that are used; the estimate concerns as many hits."""

SIGNALS = ("cosine", "cosine_lead", "words", "words_lead", "agreement")
"""Names of the results of `signals`, in order."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """A fitted logistic model: a weight for each of `SIGNALS`, and a bias."""

    weights: tuple[float, ...]
    constant: float

    def probability(self, values: Sequence[float]) -> float:
        """Return the probability for some signals, 0..1."""
        total = self.constant + sum(weight * value for weight, value in zip(self.weights, values, strict=True))
        return 1.0 / (1.0 + math.exp(-max(-30.0, min(30.0, total))))


CALIBRATIONS: Mapping[EmbeddingSpace, Calibration] = {
    EmbeddingSpace("local", "all-MiniLM-L6-v2", 384, "int8", "mean"): Calibration(
        (5.451, -1.565, 11.418, 1.852, 1.047), -5.904
    ),
    EmbeddingSpace("local", "multilingual-e5-small", 384, "int8", "mean", "query: ", "passage: "): Calibration(
        (17.355, 26.182, 15.937, -0.282, -1.455), -15.688
    ),
}
"""Fitted models by embedding space, whatever the checksum of its weights. The multilingual one was fitted on
xquad in six pairs of languages, NIST, cm1, gannt and WARC: with each held out, area under ROC .79, calibration error
.03 for all.
"""


def calibration_of(space: EmbeddingSpace) -> Calibration | None:
    """Return the model of an embedding space, None if it was not calibrated."""
    return CALIBRATIONS.get(dataclasses.replace(space, weights=""))


def signals(dense: Sequence[LegHit], lexical: Sequence[LegHit], terms: int, chunks: int) -> tuple[float, ...]:
    """Compute the signals of both legs for the quality of the answer.

    Args:
        dense: by cosine, best first, at least one.
        lexical: by BM25, best first; may be empty.
        terms: number of the question's terms.
        chunks: number of chunks in the collection.

    Returns:
        Best cosine; its lead over the tenth; share of the question's words in the best passage by words (of the sum
        estimated by `words_in_full`); its lead over the tenth, as a share of it; share of the ten best by meaning that
        are among the ten best by words.
    """
    near, word_hits = dense[:_BEST], lexical[:_BEST]
    best = word_hits[0].score if word_hits else 0.0
    tenth = word_hits[-1].score if len(word_hits) == _BEST else 0.0
    both = {hit.chunk_id for hit in near} & {hit.chunk_id for hit in word_hits}
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
        None if no estimate is possible: this space is not calibrated; the search used one leg (by request, or after
        a failure); an unusual weight; a later page; the question is only a passage's name (found by name, whatever the
        legs give); a single word that a passage contains (there is nothing to leave unanswered); no words or no hits.
    """
    calibration = calibration_of(base.embedder.space)
    if query.weight not in {None, USUAL_WEIGHT} or calibration is None or mode is not SearchMode.HYBRID or query.offset:
        return None
    terms = len(base.analyser.query_words(query.text))
    if not legs.dense or legs.lexical is None or not terms or names_in_question(query.text).alone:
        return None
    if terms == 1 and legs.lexical:
        return None
    return calibration.probability(signals(legs.dense, legs.lexical, terms, chunks))


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


def nearness(embedder: Embedder) -> float:
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
    nearness(embedder)
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
        log_event(_logger, logging.INFO, "nearness_unknown", model=space.model, reason=exc.message)
        return True  # use 1 for now: the question itself will fail
    _keep(space, vectors)
    return True


def _start(embedder: Embedder, space: EmbeddingSpace) -> None:
    """Measure a space on its own thread, unless this is already happening or has just failed."""
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
    """Return the mean cosine of matching pairs minus that of non-matching ones."""
    of_questions, of_answers = [numbers_of(each) for each in questions], [numbers_of(each) for each in answers]
    cosines = [[sum(map(operator.mul, one, other)) for other in of_answers] for one in of_questions]
    count = len(cosines)
    right = sum(cosines[place][place] for place in range(count))
    return right / count - (sum(map(sum, cosines)) - right) / (count * (count - 1))


_LOOKED_AT = 300
"""Number of passages with a phrase's words that are checked; one that contains it is among the best by words."""

BEST_BY_WORDS = 10
"""Number of passages that are checked for a verbatim question: one that contains it is among the best by words."""

_MOSTLY = 0.5
"""Minimum share of a question's word runs in a passage that contains it almost verbatim."""


def phrased(
    base: Base, passages: Passages, question: str, filter: Filter | None, legs: LegResults, mode: SearchMode
) -> tuple[LegResults, Collection[str] | None, str]:
    """Keep hits of both legs that contain the quoted words of a question together, and add others that do.

    Returns:
        The legs; the only passages that may be found, None for all; a note. If no passage contains the words together,
        a search by words finds nothing, and the legs of a hybrid search are unchanged.
    """
    phrases = phrases_in(question)
    if not phrases or legs.lexical is None:
        return legs, None, ""
    by_words, by_meaning = legs.lexical[: base.depth], None if legs.dense is None else legs.dense[: base.depth]
    known = dict.fromkeys(hit.chunk_id for leg in (by_words, by_meaning) for hit in leg or ())
    for phrase in phrases:
        found = base.search(vector=None, text=phrase.text, filter=filter, limit=_LOOKED_AT).lexical or ()
        known.update(dict.fromkeys(hit.chunk_id for hit in found))
    holding = dict.fromkeys(each.id for each in passages.get(list(known)) if says_together(each, phrases))
    if holding:
        lexical = _kept(by_words, holding)
        least = lexical[-1].score if lexical else 0.0
        beyond = [LegHit(each, least) for each in holding.keys() - {hit.chunk_id for hit in lexical}]
        lexical = (*lexical, *sorted(beyond, key=lambda hit: hit.chunk_id))
        dense = None if by_meaning is None else _kept(by_meaning, holding)
        return dataclasses.replace(legs, lexical=lexical, dense=dense), holding, ""
    quoted = ", ".join(f'"{each.text}"' for each in phrases)
    if mode is SearchMode.KEYWORD:
        return dataclasses.replace(legs, lexical=()), (), f"No passage contains {quoted} word for word."
    return legs, None, f"No passage contains {quoted} word for word; the results match the separate words."


def says_together(chunk: Chunk, phrases: Sequence[Phrase]) -> bool:
    """Return whether a passage contains the words of every phrase together."""
    words = _words_in(chunk)
    return all(words.holds(each) for each in phrases)


def _words_in(chunk: Chunk) -> VerbatimMatcher:
    return VerbatimMatcher(chunk.content, chunk.section_title)


def _kept(leg: Sequence[LegHit], chunk_ids: dict[str, None]) -> tuple[LegHit, ...]:
    return tuple(hit for hit in leg if hit.chunk_id in chunk_ids)


def first_verbatim(
    passages: Passages, question: str, lexical: Sequence[LegHit], ranked: Sequence[Ranked], limit: int
) -> list[Ranked]:
    """Put hits first that contain most of a question in its word order, longest matches first; at most `limit`."""
    best = [hit.chunk_id for hit in lexical[:BEST_BY_WORDS]]
    shares = {each.id: _words_in(each).share(question, _MOSTLY) for each in passages.get(best)}
    verbatim = {chunk_id: share for chunk_id, share in shares.items() if share > _MOSTLY}
    if not verbatim:
        return list(ranked)
    known = {hit[0]: hit for hit in ranked}
    places = {hit[0]: place for place, hit in enumerate(ranked[:TOGETHER])}
    words = {hit.chunk_id: LegScore(rank, hit.score) for rank, hit in enumerate(lexical[:BEST_BY_WORDS], start=1)}
    most = ranked[0][1] if ranked else 1.0
    order = sorted(verbatim, key=lambda each: (-verbatim[each], places.get(each, TOGETHER), each))
    first = [known.pop(each, (each, 0.0, None, words[each])) for each in order]
    return [*((each[0], most, *each[2:]) for each in first), *known.values()][:limit]
