"""Compares a document with a standard: for each obligation, the best evidence, quotes and a verdict."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Protocol

from knowledge_mcp.engine.core.headings import heading_end
from knowledge_mcp.engine.evidence.quote_finding import Searched
from knowledge_mcp.engine.evidence.quotes import verdict_in
from knowledge_mcp.engine.tracing.conflicts import Terms, conflicts
from knowledge_mcp.engine.tracing.decisions import MarkKind, RowMark
from knowledge_mcp.engine.tracing.kinds import ConflictKind
from knowledge_mcp.engine.tracing.links import TraceItem
from knowledge_mcp.engine.tracing.obligations import (
    Obligation,
    ObligationKind,
    numbered_obligations,
    obligations_in,
    obligations_of_items,
)
from knowledge_mcp.engine.tracing.opposing import opposed_words, retraction
from knowledge_mcp.engine.tracing.readings import ReadDocument, meanings_in, one_text
from knowledge_mcp.engine.tracing.row_checks import (
    CheckType,
    EditionsKnown,
    RowCheck,
    RowResult,
    force_check,
    headings_of,
    limit_checks,
    requires,
    section_check,
    terms_otherwise,
)
from knowledge_mcp.engine.tracing.tabled import row_text
from knowledge_mcp.language.demands import without_own_label
from knowledge_mcp.language.quantities.limits import banned_values, keeps_ban, limits_in
from knowledge_mcp.language.sentences import LEADS, cell_texts, is_row, sentence_spans
from knowledge_mcp.model.collection import DocumentRecord
from knowledge_mcp.model.document import Span
from knowledge_mcp.model.evidence import QuoteVerdict
from knowledge_mcp.support.checkpoints import check_each

FOUND, PARTIAL = 0.5, 0.4
"""Minimum probabilities of evidence and of partial evidence. At .5 there are as many misses as errors; of the
obligations with evidence, nine in ten are above .4 with their set left out (`python -m benchmarks.checking`).
"""
_AS_GOOD = 0.1
"""Maximum difference between the probabilities of two quotes that count as equally good evidence; of these, one that
requires outweighs one that recommends.
"""
_MOST_QUOTES = 3
_TRIED = 6
_LONGEST = 600
"""Maximum characters of a quote; a longer sentence is truncated."""
_ENDS = (".", ":", ";", "!", "?", ")")
_FEWEST_WORDS = 3
_FEWEST_ROWS = 5
"""With at least this many obligations and evidence for none, the two are not about the same subject."""
_WORD = re.compile(r"[^\W_]{2,}")
_NAMED_FIGURE = re.compile(r"[^\W\d_]{2}.{0,80}\d", re.DOTALL)
"""A name with its number, as in a list of data: "Weight: 6 t"."""
_ITEM = re.compile(r"\s{0,8}(?:[-*+•–·▪]|\(?(?:\d{1,3}|[A-Za-z]|[ivxIVX]{1,5})[.)])\s|\s{0,8}[a-z]")
_RULE_LINE = re.compile(r"[\s|:+=-]*\Z")
_DOWN = frozenset({CheckType.LIMIT, CheckType.SECTION, CheckType.CONFLICT, CheckType.FORCE})
"""Checks that lower the verdict; a term or an edition is only reported next to it."""


class EvidenceVerdict(StrEnum):
    """Whether a document has evidence for an obligation; never whether it meets it."""

    FOUND = "evidence found"
    PARTIAL = "partial"
    NONE = "none found"


@dataclass(frozen=True, slots=True)
class Quoted:
    """A quote of the document, exactly as printed.

    Attributes:
        verified: verdict of `verify_quote`; what is not found word for word is not evidence.
        probability: that it says what is demanded; 1 for a demanded heading.
    """

    quote: str
    document: str
    clause: str
    title: str
    pages: tuple[str, ...]
    lines: tuple[int, int] | None
    citation: str
    verified: QuoteVerdict
    probability: float


@dataclass(frozen=True, slots=True)
class CheckRow:
    """One obligation with its evidence, best first, empty if none was found."""

    obligation: Obligation
    verdict: EvidenceVerdict
    probability: float
    evidence: tuple[Quoted, ...]
    checks: tuple[RowCheck, ...]
    mark: MarkKind | None = None
    note: str = ""

    @property
    def kind(self) -> str:
        """What the row counts as: a person's mark, or else the kind of its sentence."""
        if self.mark is MarkKind.APPLICABLE:
            return ObligationKind.OBLIGATION.value
        return (self.mark or self.obligation.kind).value


@dataclass(frozen=True, slots=True)
class CheckReport:
    """All rows in the standard's order.

    Attributes:
        editions: references to editions that are not current, anywhere in the document.
        related: False if there are enough obligations, and evidence for none.
        lost_marks: marks of rows that the standard no longer has in these words.
    """

    rows: tuple[CheckRow, ...]
    editions: tuple[RowCheck, ...]
    related: bool
    lost_marks: tuple[RowMark, ...] = ()


class EvidenceSearch(Protocol):
    """Finds the sentences that say what is demanded."""

    def __call__(
        self, demands: Sequence[str], sentences: Sequence[str], most: int, /
    ) -> Sequence[Sequence[tuple[int, float]]]:
        """Return for each demand the indexes of the best sentences with their probability, best first."""
        ...


def check(
    obligations: Sequence[Obligation],
    parts: Sequence[ReadDocument],
    seek: EvidenceSearch,
    terms: Terms,
    editions: EditionsKnown,
    otherwise: Mapping[str, RowCheck],
) -> CheckReport:
    """Check a document against obligations.

    Args:
        obligations: one row each.
        parts: of the document; one, unless it is a folder or a list.
        seek: rates sentences.
        terms: splits a text into terms.
        editions: knows which editions are not current.
        otherwise: checks of terms that the document defines in other words, by the term in lower case.
    """
    sentences = [(number, *each) for number, part in enumerate(parts) for each in stated_in(part)]
    demands = [without_own_label(each.text) or each.text for each in obligations]
    best = seek(demands, [text for _, _, text in sentences], _TRIED)
    searched = [Searched(part.text) for part in parts]
    headings = headings_of(parts, terms)
    rows: list[CheckRow] = []
    for each, ranked in zip(obligations, best, strict=True):
        chance = ranked[0][1] if ranked else 0.0
        about = each.tabled.about if each.tabled is not None else ""
        found = [
            (quote, sentences[place][2])
            for place, odds in ranked
            if odds >= PARTIAL
            and (not about or _is_about(about, sentences[place][2], terms))
            and (quote := _quote(sentences[place], parts, searched, odds)) is not None
        ][:_MOST_QUOTES]
        quoted = [quote for quote, _ in found]
        stated = [(text if is_row(quote.quote) else quote.quote, quote.citation) for quote, text in found]
        checks = limit_checks(each.text, stated, each.tabled) if stated else []
        sure = [quote for quote in quoted if quote.probability >= FOUND]
        checks += _objections(each.text, stated, sure, terms)
        section = section_check(each.text, headings, parts, terms)
        if section is not None:
            checks.append(section[0])
            heading = section[1] and _quote((section[1].part, section[1].span, ""), parts, searched, 1.0)
            quoted = [heading, *quoted][:_MOST_QUOTES] if heading else quoted
        checks += _terms_in(each.text, otherwise)
        checks += [edition for evidence in quoted for edition in editions.checks(evidence.quote, evidence.citation)]
        rows.append(CheckRow(each, _verdict(quoted, checks), chance, tuple(quoted), tuple(checks)))
    rows = _with_tables(_with_conflicts(rows, terms))
    has_evidence = any(row.verdict is not EvidenceVerdict.NONE for row in rows)
    outdated = _outdated_references(sentences, parts, editions)
    return CheckReport(tuple(rows), outdated, has_evidence or len(rows) < _FEWEST_ROWS)


def _objections(
    demand: str, stated: Sequence[tuple[str, str]], sure: Sequence[Quoted], terms: Terms
) -> Iterator[RowCheck]:
    """Yield what the words of the evidence say against it: a weaker force, a reservation, the opposite.

    Args:
        demand: its text.
        stated: the evidence with its citations, best first.
        sure: the evidence that counts as found.
        terms: splits a text into terms.
    """
    opposed = opposed_words(demand, stated[0][0], terms) if stated else None
    if opposed is not None:
        yield RowCheck(CheckType.CONFLICT, RowResult.DIFFERS, *opposed, stated[0][1])
    if not sure:
        return
    best = sure[0]
    weaker = force_check(demand, best.quote, best.citation)
    if weaker is not None:
        near = (each for each in sure if each.probability >= best.probability - _AS_GOOD)
        best = next((each for each in near if requires(each.quote)), best)
        if best is sure[0]:
            yield weaker
            return
    taken = retraction(demand, best.quote, terms) if opposed is None else None
    if taken is None:
        return
    if not (taken.is_opposite and keeps_ban(banned_values(demand, limits_in(demand)), limits_in(best.quote))):
        kind = CheckType.CONFLICT if taken.is_opposite else CheckType.FORCE
        yield RowCheck(kind, RowResult.DIFFERS, taken.asked, taken.found, best.citation)


def _is_about(about: str, sentence: str, terms: Terms) -> bool:
    """Return whether a sentence has all figures and single letters of a row's name, and one of its words."""
    letters = [each.upper() for each in about.split() if len(each) == 1 and each.isalpha()]
    if not all(re.search(rf"(?<![\w(]){each}(?!\w)", sentence) for each in letters):
        return False
    there = frozenset(terms(sentence))
    named = frozenset(terms(" ".join(each for each in about.split() if len(each) > 1 or each.isdigit())))
    figures = {each for each in named if any(map(str.isdigit, each))}
    words = named - figures
    return figures <= there and (not words or not words.isdisjoint(there))


def marked(report: CheckReport, marks: Sequence[RowMark]) -> CheckReport:
    """Assign a person's marks to the rows with the same words; marks without such a row are reported."""
    by_text: dict[str, list[RowMark]] = {}
    for mark in marks:
        by_text.setdefault(_same(mark.text), []).append(mark)
    used: set[int] = set()
    rows: list[CheckRow] = []
    for row in report.rows:
        fitting = by_text.get(_same(row.obligation.text), [])
        mark = next(
            (each for each in fitting if each.row == row.obligation.id), fitting[0] if len(fitting) == 1 else None
        )
        if mark is not None:
            used.add(id(mark))
        rows.append(row if mark is None else replace(row, mark=mark.kind, note=mark.note))
    lost = tuple(mark for mark in marks if id(mark) not in used)
    return replace(report, rows=tuple(rows), lost_marks=lost)


def _same(text: str) -> str:
    return " ".join(text.casefold().split())


# ---- sentences


def stated_in(part: ReadDocument) -> Iterator[tuple[Span, str]]:
    """Yield the sentences, list items and table rows of a text, each preceded by its lead-in.

    Left out are headings, text with fewer than three words and no number, and the title lines of a cover.
    """
    begin = 0
    for entry in part.structure.sections:
        if entry.span.start >= begin:
            found = _stated(part.text, begin, entry.span.start)
            yield from (
                found if begin else ((span, sentence) for span, sentence in found if not _is_title(span.of(part.text)))
            )
            begin = max(begin, heading_end(part.text, entry))
    yield from _stated(part.text, begin, len(part.text))


def _is_title(words: str) -> bool:
    """Return whether text before all headings is a title: no end of a sentence and no number."""
    return not (words.endswith(_ENDS) or is_row(words) or _ITEM.match(words) or any(map(str.isdigit, words)))


def _stated(text: str, start: int, end: int) -> Iterator[tuple[Span, str]]:
    lead = ""
    for span, head in check_each(_pieces(text, start, end)):
        words = span.of(text)
        is_item = _ITEM.match(words) is not None
        if not is_item:
            lead = ""
        sentence = row_text(head, cell_texts(words)) if head else f"{lead} {words}".strip()
        if len(_WORD.findall(sentence[:_LONGEST])) >= _FEWEST_WORDS or _NAMED_FIGURE.search(sentence):
            yield span, sentence
        if LEADS.search(words) is not None and not is_item:
            lead = words[-_LONGEST:]


def _pieces(text: str, start: int, stop: int) -> Iterator[tuple[Span, list[str]]]:
    """Yield table rows with the cells of their header row, and all text between them as sentences."""
    begin = start
    row, head = Span(start, start), list[str]()
    for line in text[start:stop].splitlines(keepends=True):
        end = begin + len(line)
        if not is_row(line):
            head = []
        else:
            yield from ((each, []) for each in sentence_spans(text, start, begin))
            start = end
            if _RULE_LINE.match(line):
                head = cell_texts(row.of(text))
            else:
                row = Span(begin, end).trimmed(text)
                yield row, head
        begin = end
    yield from ((each, []) for each in sentence_spans(text, start, stop))


def _quote(
    place: tuple[int, Span, str], parts: Sequence[ReadDocument], searched: Sequence[Searched], chance: float
) -> Quoted | None:
    """Quote a place; None if the quote is not found there word for word."""
    number, span, _ = place
    part = parts[number]
    if len(span) > _LONGEST:
        end = part.text.rfind(" ", span.start, span.start + _LONGEST)
        span = Span(span.start, end if end > span.start else span.start + _LONGEST).trimmed(part.text)
    quote = span.of(part.text)
    verified = verdict_in(searched[number], quote)
    if verified is QuoteVerdict.NOT_FOUND:
        return None
    clause, title = part.heading_at(span.start)
    return Quoted(
        quote=quote,
        document=part.name,
        clause=clause or part.clause_of_passage(span.start),
        title=title,
        pages=part.pages_of(span),
        lines=part.lines_of(span),
        citation=part.cited(span),
        verified=verified,
        probability=chance,
    )


# ---- verdicts


def _verdict(quoted: Sequence[Quoted], checks: Sequence[RowCheck]) -> EvidenceVerdict:
    if not quoted:
        return EvidenceVerdict.NONE
    doubted = any(each.kind in _DOWN and each.result is not RowResult.MET for each in checks)
    return EvidenceVerdict.FOUND if quoted[0].probability >= FOUND and not doubted else EvidenceVerdict.PARTIAL


def _terms_in(text: str, otherwise: Mapping[str, RowCheck]) -> list[RowCheck]:
    lowered = text.lower()
    return [check for term, check in otherwise.items() if re.search(rf"(?<!\w){re.escape(term)}(?!\w)", lowered)]


def _with_conflicts(rows: Sequence[CheckRow], terms: Terms) -> list[CheckRow]:
    """Add the conflicts between an obligation and its own evidence."""
    items: list[TraceItem] = []
    owners: dict[str, tuple[int, Quoted | None]] = {}
    for number, row in enumerate(rows):
        if row.obligation.tabled is not None:
            continue  # its limits are already compared with its evidence
        for place, evidence in enumerate((None, *row.evidence)):
            key = f"{number}/{place}"
            owners[key] = (number, evidence)
            items.append(TraceItem(key, "", row.obligation.text if evidence is None else evidence.quote, key))
    added: dict[int, list[RowCheck]] = {}
    for each in conflicts(items, terms):
        if each.kind is ConflictKind.DUPLICATE:
            continue
        sides = [owners[one.id] for one in (each.one, each.other, *each.also_in)]
        demanded = {number for number, evidence in sides if evidence is None}
        for number, evidence in sides:
            is_reported = each.kind is ConflictKind.FORCE and any(
                check.kind is CheckType.FORCE for check in rows[number].checks
            )
            if evidence is not None and number in demanded and not is_reported:
                conflict = RowCheck(CheckType.CONFLICT, RowResult.DIFFERS, each.kind.value, each.why, evidence.citation)
                added.setdefault(number, []).append(conflict)
    return [
        replace(row, checks=(checks := (*row.checks, *added[number])), verdict=_verdict(row.evidence, checks))
        if number in added
        else row
        for number, row in enumerate(rows)
    ]


def _with_tables(rows: Sequence[CheckRow]) -> list[CheckRow]:
    """Give obligations without evidence that refer to tables the evidence of the tables' rows."""
    of_tables: dict[str, list[CheckRow]] = {}
    for row in rows:
        if row.obligation.tabled is not None:
            of_tables.setdefault(row.obligation.tabled.stated_by, []).append(row)
    return [
        row
        if row.evidence or row.obligation.tabled is not None
        else _of_table(row, of_tables.get(row.obligation.text, []))
        for row in rows
    ]


def _of_table(row: CheckRow, below: Sequence[CheckRow]) -> CheckRow:
    evidence = tuple({quote.quote: quote for each in below for quote in each.evidence[:1]}.values())
    if not evidence:
        return row
    is_whole = all(each.verdict is EvidenceVerdict.FOUND for each in below)
    verdict = EvidenceVerdict.FOUND if is_whole else EvidenceVerdict.PARTIAL
    return replace(row, verdict=verdict, evidence=evidence[:_MOST_QUOTES])


def _outdated_references(
    sentences: Sequence[tuple[int, Span, str]], parts: Sequence[ReadDocument], editions: EditionsKnown
) -> tuple[RowCheck, ...]:
    found: dict[str, RowCheck] = {}
    for number, span, _ in check_each(sentences):
        for edition_check in editions.checks(span.of(parts[number].text), ""):
            if edition_check.found not in found:
                found[edition_check.found] = replace(edition_check, citation=parts[number].cited(span))
    return tuple(found.values())


@dataclass(frozen=True, slots=True)
class Standard:
    """What is demanded, and the documents that contain it.

    Attributes:
        name: as given.
        obligations: one row each, with unique ids.
        readings: the whole documents; empty for a list of requirements.
    """

    name: str
    obligations: tuple[Obligation, ...]
    readings: tuple[ReadDocument, ...]

    @classmethod
    def of(cls, name: str, parts: Sequence[ReadDocument | TraceItem]) -> Standard:
        """Build a standard from documents and items of lists."""
        readings = tuple(each for each in parts if isinstance(each, ReadDocument))
        obligations = [each for reading in readings for each in obligations_in(reading)]
        obligations += obligations_of_items([each for each in parts if isinstance(each, TraceItem)])
        return cls(name, tuple(numbered_obligations(obligations)), readings)


def checked_against(
    standard: Standard,
    document: Sequence[ReadDocument | TraceItem],
    seek: EvidenceSearch,
    terms: Callable[[str], Sequence[str]],
    key_of: Callable[[str], str],
    records: Sequence[DocumentRecord],
) -> CheckReport:
    """Check a document against a standard.

    Args:
        standard: what is demanded.
        document: its parts.
        seek: rates sentences.
        terms: splits a text into terms.
        key_of: returns one key for all spellings of a term.
        records: of all ingested documents, whose editions may be newer than those referred to.
    """
    parts = [each if isinstance(each, ReadDocument) else one_text(each) for each in document]
    meanings = [each for reading in standard.readings for each in meanings_in(reading, key_of)]
    titles = [reading.record.title if reading.record is not None else reading.name for reading in standard.readings]
    text = "\n\n".join(reading.text for reading in standard.readings)
    editions = EditionsKnown(records, text or "\n".join(each.text for each in standard.obligations), "\n".join(titles))
    return check(standard.obligations, parts, seek, terms, editions, terms_otherwise(meanings, parts, key_of))
