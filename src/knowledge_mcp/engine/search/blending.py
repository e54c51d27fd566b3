"""Both legs of a search in one ranking by their scores: how near the meaning is, and how much of the words is there.

```text
s = cosine + lambda * words / ((n + 1) * ln(2 + N))
```

`words` is a passage's BM25 sum, n the number of the question's terms, N the number of chunks: the divisor is about the
sum that a passage would have that says every term. So a long question of which every passage holds a small part is
answered by meaning, and one whose words stand together in one passage by these, without anything being told about the
collection. Where a model's cosines lie closer together than those that lambda was chosen with, the words weigh less in
proportion (`nearness`). `benchmarks/ablation.py` compares the sum with fusion by ranks and by the distribution of the
scores.
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
from knowledge_mcp.language.phrases import Phrase, Saying, phrases_in
from knowledge_mcp.model.chunk import Chunk, Vector, embedding_key, numbers_of
from knowledge_mcp.model.collection import EmbeddingSpace
from knowledge_mcp.model.errors import KnowledgeError
from knowledge_mcp.model.query import Filter, LegHit, LegResults, LegScore, SearchMode, SearchQuery
from knowledge_mcp.ports import Embedder
from knowledge_mcp.support.events import log_event

WORDS = 4.2
"""Lambda for documents, by the eleven sets that `evals.choices` names for the blend, as those below: from 2.8 to 4.2
their mean moves by less than .001, at 2 and 6 by .005."""

_UNSEEN = 0.8
"""Share of the farthest cosine found that a passage gets which only the words found."""

_HALF = 0.6
"""Sum at which a score is one half."""

EXAMPLES = 2
"""Best passages whose meaning is added to the question's."""

_ADDED = 0.6
"""Weight of their mean beside the question's own vector."""

Ranked = tuple[str, float, LegScore | None, LegScore | None]

Rank = Callable[[Sequence[LegHit] | None, Sequence[LegHit] | None, int, int], list[Ranked]]
"""Merges the beginnings of two legs: what each found, how many hits are wanted, and where the beginnings were cut."""


def words_in_full(terms: int, chunks: int) -> float:
    """Estimate the BM25 sum of a passage that says every term of a question; always above 0."""
    return (terms + 1) * math.log(2.0 + chunks)


def blend(
    dense: Sequence[LegHit], lexical: Sequence[LegHit], in_full: float, limit: int, *, cut: bool = True
) -> list[Ranked]:
    """Rank what either leg found by cosine and share of the words; at most `limit`, scores in 0..1.

    Args:
        dense: by cosine, best first.
        lexical: by BM25, best first.
        in_full: what `words_in_full` says.
        limit: most hits.
        cut: the lexical leg ended at its limit, so that what it does not name may hold as many words as its last hit.
    """
    near = {hit.chunk_id: hit.score for hit in dense}
    said = {hit.chunk_id: hit.score for hit in lexical}
    farthest = _UNSEEN * max(0.0, dense[-1].score) if dense else 0.0
    fewest = lexical[-1].score if lexical and cut else 0.0
    totals = [
        (min(0.0, -near.get(chunk_id, farthest) - WORDS * said.get(chunk_id, fewest) / in_full), chunk_id)
        for chunk_id in near | said
    ]
    totals.sort()
    best = sorted((total / (_HALF - total), chunk_id) for total, chunk_id in totals[:limit])  # now equal scores by id
    named = {chunk_id for _, chunk_id in best}
    in_dense, in_lexical = places(dense, named), places(lexical, named)
    return [(chunk_id, abs(score), in_dense.get(chunk_id), in_lexical.get(chunk_id)) for score, chunk_id in best]


def in_turns(
    dense: Sequence[LegHit] | None, lexical: Sequence[LegHit] | None, size: int, limit: int, rank: Rank
) -> list[Ranked]:
    """Rank the best `size` of each leg, behind these what the next `size` add, and so on; at most `limit` in all.

    So the first hits are the same however deep the legs are. None scores more than one before it.
    """
    found: dict[str, Ranked] = {}
    deepest, end, lowest = max(len(dense or ()), len(lexical or ())), size, 1.0
    while True:
        near, said = (None if leg is None else leg[:end] for leg in (dense, lexical))
        for chunk_id, score, by_meaning, by_words in rank(near, said, limit + len(found), end):
            if chunk_id not in found:
                lowest = min(lowest, score)
                found[chunk_id] = (chunk_id, lowest, by_meaning, by_words)
        if len(found) >= limit or end >= deepest:
            return list(found.values())[:limit]
        end += size


def score_of(cosine: float, words: float, in_full: float) -> float:
    """Return the score of a passage that both legs rate, 0..1."""
    total = max(0.0, cosine + WORDS * words / in_full)
    return total / (total + _HALF)


def places(leg: Sequence[LegHit], chunk_ids: Container[str]) -> dict[str, LegScore]:
    """Say where some chunks stand in a leg."""
    return {
        hit.chunk_id: LegScore(rank, hit.score) for rank, hit in enumerate(leg, start=1) if hit.chunk_id in chunk_ids
    }


def feedback(
    base: Base, passages: Passages, vector: Vector, best: Sequence[str], filter: Filter | None, limit: int
) -> tuple[Vector, tuple[LegHit, ...]] | None:
    """Search by meaning once more, with the question's vector moved towards the best passages found so far.

    Returns:
        The moved vector and the new dense leg; None where there is nothing to move by.

    Raises:
        SpaceMismatchError: as the store's search.
    """
    moved = _moved_towards(base, vector, passages.get(best[:EXAMPLES]))
    if moved is None:
        return None
    try:
        dense = base.search(vector=moved, text=None, filter=filter, limit=limit).dense
    except PASSING:
        return None  # the first ranking stands
    return None if dense is None else (moved, dense)


def _moved_towards(base: Base, vector: Vector, examples: Sequence[Chunk]) -> Vector | None:
    """Move a question's vector towards some passages, as stored; None where no vector of theirs is known."""
    try:
        known = base.opened.vectors([embedding_key(each) for each in examples])
    except KnowledgeError:
        return None
    return _moved(vector, known)


def _moved(vector: Vector, examples: Mapping[str, Vector]) -> Vector | None:
    """Add the mean of some vectors to the question's, and give it length 1 again."""
    others = [numbers_of(each) for each in examples.values() if len(each) == len(vector)]
    if not others:
        return None
    share = _ADDED / len(others)
    summed = map(sum, zip(*others, strict=True))
    numbers = [own + share * added for own, added in zip(numbers_of(vector), summed, strict=True)]
    length = math.hypot(*numbers)
    return struct.pack(f"<{len(numbers)}f", *[number / length for number in numbers]) if length > 0.0 else None


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
    EmbeddingSpace("local", "multilingual-e5-small", 384, "int8", "mean", "query: ", "passage: "): Calibration(
        (17.355, 26.182, 15.937, -0.282, -1.455), -15.688
    ),
}
"""Fitted models by embedding space, whatever the checksum of its weights. The multilingual one is of xquad in six pairs
of languages, NIST, cm1, gannt and WARC: with each held out, area under ROC .79, error of calibration .03 of all."""


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
        found by name, whatever the legs say), a single word that a passage says (it asks nothing that could stay
        unanswered), no words or no hits.
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
"""The model whose cosines the constants of the blend were chosen with; either of its variants."""

_GAP = 0.49
"""What the pairs give there."""

_FITTED = {"multilingual-e5-small": 0.1}
"""Units that were chosen by questions. Of nine sets (xquad in four pairs of languages, cm1, gannt, WARC) .06 to .2 give
the same mean within .003; at .1 English questions over German passages give .922, at the .2 of the pairs .891."""

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
    if space.model in _FITTED:
        return _FITTED[space.model]
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
    """Tell whether the unit is known, or can be worked out without asking a service that is paid."""
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
        return True  # that it is 1, for now: the question will fail of itself
    _keep(space, vectors)
    return True


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
    of_questions, of_answers = [numbers_of(each) for each in questions], [numbers_of(each) for each in answers]
    cosines = [[sum(map(operator.mul, one, other)) for other in of_answers] for one in of_questions]
    count = len(cosines)
    right = sum(cosines[place][place] for place in range(count))
    return right / count - (sum(map(sum, cosines)) - right) / (count * (count - 1))


_LOOKED_AT = 300
"""Passages with a phrase's words that are looked at; one that says it is among the best for its words alone."""

BEST_BY_WORDS = 10
"""Passages that may say a question word for word: one that does is among the best by words."""

_MOSTLY = 0.5
"""Share of a question's runs of words from which a passage says it nearly word for word: most of them."""


def phrased(
    base: Base, passages: Passages, question: str, filter: Filter | None, legs: LegResults, mode: SearchMode
) -> tuple[LegResults, Collection[str] | None, str]:
    """Keep of both legs what says the quoted words of a question together, and add what else does.

    Returns:
        The legs; the only passages that may be found, None for all; what to tell. Where no passage says the words
        together, a search by words finds nothing, and the legs of a hybrid one stay as they are.
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
        return dataclasses.replace(legs, lexical=()), (), f"No passage says {quoted} word for word."
    return legs, None, f"No passage says {quoted} word for word; the results are for the words apart."


def says_together(chunk: Chunk, phrases: Sequence[Phrase]) -> bool:
    """Tell whether a passage says the words of every phrase together."""
    said = _saying(chunk)
    return all(said.holds(each) for each in phrases)


def _saying(chunk: Chunk) -> Saying:
    return Saying(chunk.content, chunk.section_title)


def _kept(leg: Sequence[LegHit], chunk_ids: dict[str, None]) -> tuple[LegHit, ...]:
    return tuple(hit for hit in leg if hit.chunk_id in chunk_ids)


def first_verbatim(
    passages: Passages, question: str, lexical: Sequence[LegHit], ranked: Sequence[Ranked], limit: int
) -> list[Ranked]:
    """Put first what says most of a question in its own order, the most of it before the rest; at most `limit`."""
    best = [hit.chunk_id for hit in lexical[:BEST_BY_WORDS]]
    shares = {each.id: _saying(each).share(question, _MOSTLY) for each in passages.get(best)}
    said = {chunk_id: share for chunk_id, share in shares.items() if share > _MOSTLY}
    if not said:
        return list(ranked)
    known = {hit[0]: hit for hit in ranked}
    places = {hit[0]: place for place, hit in enumerate(ranked[:TOGETHER])}
    words = {hit.chunk_id: LegScore(rank, hit.score) for rank, hit in enumerate(lexical[:BEST_BY_WORDS], start=1)}
    most = ranked[0][1] if ranked else 1.0
    order = sorted(said, key=lambda each: (-said[each], places.get(each, TOGETHER), each))
    first = [known.pop(each, (each, 0.0, None, words[each])) for each in order]
    return [*((each[0], most, *each[2:]) for each in first), *known.values()][:limit]
