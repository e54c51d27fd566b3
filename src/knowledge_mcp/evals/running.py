"""Runs one set through the product: ingests its documents, asks its questions and measures the results."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from knowledge_mcp.evals.judging import CitationCheck, Judged, judge
from knowledge_mcp.evals.measures import COLUMNS, abstention, interval, measure, percentile, recall_curve, signals_of
from knowledge_mcp.evals.results import Latency, QuestionResult, SetResult
from knowledge_mcp.evals.sets import EvalSet, Question
from knowledge_mcp.model.errors import InvalidInputError
from knowledge_mcp.model.ingest import IngestEvent, IngestEventKind, IngestOptions, IngestReport, SkippedFile
from knowledge_mcp.model.query import SearchAnswer, SearchMode, SearchQuery
from knowledge_mcp.model.source import SourceItem
from knowledge_mcp.ports import Knowledge, Source
from knowledge_mcp.support.wording import how_many

_CHOSEN = {
    "the blend of both legs and its feedback": (
        "cranfield",
        "medline",
        "scifact",
        "mtrag-un",
        "xquad-en",
        "obj2control-nist80053",
        "req2req-cm1-nasa",
        "req2req-warc",
        "req2code-etour",
        "commits-gin-go",
        "cosqa-dev",
    ),
    "words and the second search in repositories": (
        "commits-flask-py",
        "req2code-libest",
        "swe-lite-pytest",
    ),
    "the reading of reports in repositories": ("swe-lite-sympy", "swe-lite-pytest"),
    "answerability": (
        "cranfield",
        "medline",
        "scifact",
        "mtrag-un",
        "xquad-en",
        "obj2control-nist80053",
        "req2req-cm1-nasa",
        "req2req-gannt",
        "req2req-warc",
    ),
    "the multilingual model's unit and answerability": (
        "xquad-en",
        "xquad-de",
        "obj2control-nist80053",
        "req2req-cm1-nasa",
        "req2req-gannt",
        "req2req-warc",
    ),
    "the list of synonyms for finance": ("financebench",),
}
"""Names of the sets' folders by what was tuned with them, from the decision records."""


def choices_by(name: str) -> str:
    """Return one sentence on what was tuned with a public set, identified by the name of its folder."""
    chosen = [what for what, sets in _CHOSEN.items() if name in sets]
    if chosen:
        return f"This set took part in choosing {'; '.join(chosen)}: its figures are partly a fit."
    return "No constant of ranking was chosen with a set of this name."


Progress = Callable[[str, int, int], None]
"""Called with the step, the amount done and the total (0 if unknown)."""

_LONGEST_QUESTION = 2000
_AS_USERS_ASK = 10
_AS_MEASURES_NEED = 100
_MAX_WARNINGS = 3


@dataclass(frozen=True, slots=True)
class QuestionOptions:
    """How questions are asked; `weight` is None for the product's default."""

    mode: SearchMode = SearchMode.HYBRID
    weight: float | None = None

    def query(self, text: str, limit: int) -> SearchQuery:
        """Create the search for a question, truncated to the maximum length of a query."""
        question = text[:_LONGEST_QUESTION]
        if self.weight is None:
            return SearchQuery(text=question, limit=limit, mode=self.mode)
        return SearchQuery(text=question, limit=limit, mode=self.mode, weight=self.weight)


class _ListedItems:
    """A source of existing items."""

    def __init__(self, items: Sequence[SourceItem]) -> None:
        self._items = items

    def items(self) -> Iterator[SourceItem | SkippedFile]:
        """Yield the items in order."""
        yield from self._items


def ingest_set(
    knowledge: Knowledge, chosen: EvalSet, files: Source | None, progress: Progress, *, max_cost: float | None = None
) -> IngestReport:
    """Ingest the documents of a set, from memory or from `files`.

    Raises:
        InvalidInputError: no document could be ingested.
        KnowledgeError: as in `Knowledge.ingest`.
    """
    source: Source = files if files is not None else _ListedItems(chosen.documents)
    stored = 0

    def note(event: IngestEvent) -> None:
        nonlocal stored
        if event.kind in {IngestEventKind.STORED, IngestEventKind.UNCHANGED, IngestEventKind.FAILED}:
            stored += 1
            progress(f"Ingesting {chosen.name}", stored, len(chosen.documents))
        elif event.kind is IngestEventKind.READING and event.total > 1:
            progress(f"Reading {event.source.rsplit('/', 1)[-1]}", event.done, event.total)

    progress(f"Ingesting {chosen.name}", 0, len(chosen.documents))
    options = IngestOptions(ids_are_settled=files is None, max_cost=max_cost)
    report = knowledge.ingest(source, options, on_event=note, on_unreadable=lambda _: True)
    if not report.documents:
        problems = [*report.skipped, *report.failed]
        raise InvalidInputError(
            f"No document of {chosen.name} could be ingested.",
            details="\n".join(f"{each.source}: {each.message}" for each in problems[:20]),
            suggestion="Check the documents; `knowledge-ingest --dry-run` tells more.",
        )
    return report


def ask_set(
    knowledge: Knowledge,
    chosen: EvalSet,
    options: QuestionOptions,
    progress: Progress,
    *,
    ingested: IngestReport | None = None,
) -> SetResult:
    """Ask every question of a set and measure the answers.

    Each question is asked for ten passages, which is timed and gives the signals of the answer's quality, and then for
    a hundred, which the measures need. The first question is also asked once before all others, to warm up.

    Raises:
        ConfigError: `ir-measures` is not installed.
        InvalidInputError: the set has no questions.
        KnowledgeError: as in `Knowledge.search`.
    """
    if not chosen.questions:
        raise InvalidInputError(f"{chosen.name} has no question that can be asked.")
    knowledge.warm_up()
    knowledge.search(options.query(chosen.questions[0].text, _AS_USERS_ASK))
    judged: dict[str, Judged] = {}
    times: dict[str, float] = {}
    signals: dict[str, dict[str, float]] = {}
    degraded: Counter[str] = Counter()
    citations = CitationCheck(knowledge)
    for number, question in enumerate(chosen.questions, 1):
        first, times[question.id] = _ask(knowledge, options.query(question.text, _AS_USERS_ASK))
        signals[question.id] = signals_of(first)
        degraded.update(first.degraded)
        answer = knowledge.search(options.query(question.text, _AS_MEASURES_NEED))
        citations.note(question, answer.hits, chosen.keys)
        if not question.unanswerable:
            judged[question.id] = judge(question, answer.hits, chosen.keys)
        progress(f"Asking {chosen.name} ({options.mode.value})", number, len(chosen.questions))
    values = measure(judged)
    spent = list(times.values())
    columns = {name: [row[place] for row in values.values()] for place, name in enumerate(COLUMNS)}
    counted = knowledge.stats().statistics
    return SetResult(
        set=chosen.name,
        kind=chosen.kind,
        mode=options.mode.value,
        documents=counted.documents,
        chunks=counted.chunks,
        ingest_seconds=None if ingested is None else ingested.seconds,
        questions=len(chosen.questions),
        unanswerable=len(chosen.questions) - len(judged),
        measures={name: interval(column) for name, column in columns.items()} if judged else {},
        curve=recall_curve(judged),
        latency=Latency(percentile(spent, 0.5), percentile(spent, 0.95), sum(spent) / len(spent)),
        citations=citations.shares,
        abstentions=abstention(
            [signals[each.id] for each in chosen.questions if not each.unanswerable],
            [signals[each.id] for each in chosen.questions if each.unanswerable],
        ),
        rows={each.id: _row(each, judged, values, times, signals) for each in chosen.questions},
        notes=(*chosen.notes, *_notes(knowledge, chosen, ingested, degraded), *citations.wrong[:_MAX_WARNINGS]),
    )


def _ask(knowledge: Knowledge, query: SearchQuery) -> tuple[SearchAnswer, float]:
    started = time.perf_counter()
    answer = knowledge.search(query)
    return answer, 1000 * (time.perf_counter() - started)


def _row(
    question: Question,
    judged: dict[str, Judged],
    values: dict[str, tuple[float, ...]],
    times: dict[str, float],
    signals: dict[str, dict[str, float]],
) -> QuestionResult:
    found = judged.get(question.id)
    return QuestionResult(
        values=values.get(question.id, ()),
        first=None if found is None else found.first,
        ms=times[question.id],
        text=question.text,
        signals=signals[question.id],
    )


def _notes(
    knowledge: Knowledge, chosen: EvalSet, ingested: IngestReport | None, degraded: Counter[str]
) -> Iterator[str]:
    """Yield what a reader must know to interpret the figures."""
    if ingested is not None and (lost := [*ingested.skipped, *ingested.failed]):
        yield f"{how_many(len(lost), 'document')} could not be ingested; the first: {lost[0].message}"
    for sentence, count in degraded.most_common(_MAX_WARNINGS):
        yield f"{count} answers were degraded: {sentence}"
    long = sum(len(each.text) > _LONGEST_QUESTION for each in chosen.questions)
    if long:
        yield f"{long} questions were cut at {_LONGEST_QUESTION} characters."
    if not chosen.keys:
        missing = _unknown_documents(knowledge, chosen)
        if missing:
            examples = ", ".join(missing[:5]) + (" …" if len(missing) > 5 else "")
            yield f"Questions expect {how_many(len(missing), 'document')} not in the knowledge base: {examples}."
    if chosen.kind in {"beir", "pages"}:
        yield choices_by(chosen.name)


def _unknown_documents(knowledge: Knowledge, chosen: EvalSet) -> list[str]:
    names: set[str] = set()
    for record in knowledge.documents():
        name = record.source_path.rsplit("/", 1)[-1]
        names |= {each.casefold() for each in (record.id, record.title, name, name.rsplit(".", 1)[0])}
    expected = {place.document for question in chosen.questions for place in question.places if place.document}
    return sorted(document for document in expected if document.casefold() not in names)
