"""Make what is shown of documents (`viewed`). Loads what compares documents: import it only to show something."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from knowledge_mcp.engine.changes.clauses import Clause, EditionPart
from knowledge_mcp.engine.changes.comparing import ComparedPair, EditionPair, cited_clause, stored_part
from knowledge_mcp.engine.changes.differences import ClauseChange
from knowledge_mcp.engine.changes.impact import Touched, impact_of
from knowledge_mcp.engine.changes.sentences import Weights
from knowledge_mcp.engine.changes.side_by_side import side_by_side
from knowledge_mcp.engine.core.editions import Editions, current_of, edition_of_record
from knowledge_mcp.engine.evidence.outline import opening_words
from knowledge_mcp.engine.tracing.checking import CheckRow, EvidenceSearch
from knowledge_mcp.engine.tracing.conflicts import Conflict, Demand
from knowledge_mcp.engine.tracing.decisions import RowMark
from knowledge_mcp.engine.tracing.items import placed_items
from knowledge_mcp.engine.tracing.kinds import ConflictKind
from knowledge_mcp.engine.tracing.links import Proposer, TraceItem, TraceLink, trace
from knowledge_mcp.engine.tracing.readings import ReadDocument, groups_in
from knowledge_mcp.model.call import Call, Progress
from knowledge_mcp.model.chunk import Chunk
from knowledge_mcp.model.collection import DocumentRecord
from knowledge_mcp.model.errors import InvalidInputError
from knowledge_mcp.model.library import LibraryDocument
from knowledge_mcp.model.query import SearchAnswer, SearchQuery
from knowledge_mcp.ports import SharedLibrary
from knowledge_mcp.surfaces.checklist import UNRELATED, check_line, summary_of
from knowledge_mcp.surfaces.comparing import check_against, comparisons, conflicts_in, standard_of
from knowledge_mcp.surfaces.matrix import warnings_of
from knowledge_mcp.surfaces.redline import checked_kinds, count_changes, kinds_inside, select
from knowledge_mcp.surfaces.viewed import (
    ChangedClause,
    ChangesAnswer,
    CheckAnswer,
    CheckedRow,
    ClauseSide,
    ConflictsAnswer,
    ConflictSide,
    ImpactAnswer,
    ListedConflict,
    ListedSection,
    NamedDocument,
    OutlineAnswer,
    QuotedEvidence,
    RejectedLink,
    TouchedPlace,
    TraceAnswer,
    TracedDocument,
    TracedItem,
    TracedLink,
)

_LONGEST = 200
"""Characters of a requirement without a title that are shown for one."""
_MOST_ITEMS = 3000
"""Items of one side of a trace: all pairs are rated, which takes 100 MB and some seconds for 3000 by 3000."""

_Place = tuple[NamedDocument, int | None]
"""A document by its names, and the passage."""


def _passage_at(chunks: Sequence[Chunk], place: int) -> int | None:
    """Return the index of the passage that contains a place, else of the next, else of the last; None for none."""
    if not chunks:
        return None
    behind = bisect_right(chunks, place, key=lambda chunk: chunk.span.start)
    holds = behind > 0 and place < chunks[behind - 1].span.end
    return chunks[behind - 1 if holds else min(behind, len(chunks) - 1)].index


def outline_of(document: LibraryDocument) -> OutlineAnswer:
    """List a document's sections in order, each with the passage that it begins in."""
    sections = [
        ListedSection.of(
            each,
            number=each.number or "",
            title=" ".join(each.title.split()),
            words=opening_words(each, document.text),
            passage=_passage_at(document.chunks, each.span.start),
        )
        for each in document.structure.sections
    ]
    return OutlineAnswer(doc_id=document.record.id, sections=sections)


def _describe(document: LibraryDocument) -> NamedDocument:
    record = document.record
    return NamedDocument(
        doc_id=record.id,
        title=record.title or record.file_name,
        edition=edition_of_record(record),
        collection=document.collection,
    )


# ---- what changed


def compare_clauses(
    old: LibraryDocument, new: LibraryDocument, *, kinds: Sequence[str] = (), limit: int, offset: int = 0
) -> ChangesAnswer:
    """Return the outcome for each clause from one document to another, side by side if anything changed.

    Args:
        old, new: the documents.
        kinds: of changes, by the names of `redline.KINDS`; all where none is named.
        limit, offset: which of the clauses with such changes are shown; `total` counts all of them.

    Raises:
        InvalidInputError: there is no such kind; they are no editions of one document, or one and the same.
    """
    chosen = checked_kinds(kinds)
    found = _compared(old, new)
    selected = select(found.changes, chosen)
    return ChangesAnswer(
        old=_describe(old),
        new=_describe(new),
        summary=count_changes(found.changes),
        total=len(selected),
        clauses=[_clause(each, old, new, found.weights) for each in selected[offset : offset + limit]],
    )


def _compared(old: LibraryDocument, new: LibraryDocument) -> ComparedPair:
    if old.record.id == new.record.id:
        raise InvalidInputError("A document cannot be compared with itself.", suggestion="Choose two documents.")
    documents = {each.record.id: each for each in (old, new)}

    def read_part(document_id: str) -> EditionPart:
        document = documents[document_id]
        return stored_part(document.record, document.text, document.structure, document.chunks)

    return comparisons().of(EditionPair(old.record, new.record), read_part)


def touched_by(
    library: SharedLibrary, old: LibraryDocument, new: LibraryDocument, *, limit: int, offset: int = 0
) -> ImpactAnswer:
    """List the places of other documents that refer to what changed from one edition to another.

    Args:
        library: as whoever asked sees it; all its documents are looked through.
        old, new: the editions; others of their family, in their collections, count as theirs.
        limit, offset: which of the places are shown; `total` counts all of them.

    Raises:
        InvalidInputError: as `compare_clauses`.
    """
    changes = _compared(old, new).changes
    records = [each for name in {old.collection, new.collection} for each in library.records(name)]
    family = Editions(records).family_of(new.record.id)
    family = family if family is not None and old.record in family.records else None
    found = impact_of(_AllDocuments(library), EditionPair(old.record, new.record, family), changes)
    return ImpactAnswer(
        old=_describe(old),
        new=_describe(new),
        total=len(found.touched),
        untouched=found.untouched,
        degraded=list(found.degraded),
        places=[_place(each) for each in found.touched[offset : offset + limit]],
    )


class _AllDocuments:
    """Look through the documents of all collections; a library has no code of repositories."""

    def __init__(self, library: SharedLibrary) -> None:
        self._library = library

    def search(self, query: SearchQuery) -> SearchAnswer:
        return self._library.search_all(query)

    def document_chunks(self, document_id: str) -> Sequence[Chunk]:
        return self._library.find(document_id).chunks

    def code_passages(self, text: str) -> Sequence[tuple[Chunk, str]]:
        del text
        return ()


def _place(each: Touched) -> TouchedPlace:
    return TouchedPlace.of(
        each,
        doc_id=each.document_id,
        became=each.change.link.kind.value if each.change is not None else "",
        kinds=kinds_inside(each.change) if each.change is not None else [],
    )


def _clause(each: ClauseChange, old: LibraryDocument, new: LibraryDocument, weights: Weights) -> ChangedClause:
    clause = each.link.new or each.link.old
    return ChangedClause(
        became=each.link.kind,
        level=clause.level if clause is not None else 1,
        old=_side(each.link.old, old),
        new=_side(each.link.new, new),
        kinds=list(dict.fromkeys(change.kind.value for change in each.changes if not change.requirement)),
        obligations=list(dict.fromkeys(change.requirement for change in each.changes if change.requirement)),
        rows=[[list(before), list(after)] for before, after in side_by_side(each, weights)],
    )


def _side(clause: Clause | None, document: LibraryDocument) -> ClauseSide | None:
    if clause is None:
        return None
    return ClauseSide(
        label=clause.label if clause.label != document.record.id else document.record.title,
        citation=cited_clause(clause, document.record),
        passage=_passage_at(document.chunks, clause.span.start),
    )


# ---- what traces to what, what is said of each obligation, what contradicts what


def run_review(
    library: SharedLibrary,
    request: Mapping[str, Any],
    call: Call,
    linker: Callable[[], Proposer],
    finder: Callable[[], EvidenceSearch],
) -> dict[str, Any]:
    """Do what a job of `SharedLibrary.review` says.

    Args:
        library: as whoever asked sees it.
        request: the job's.
        call: takes progress, and says whether to stop.
        linker: makes what proposes links.
        finder: makes what finds evidence.
    """
    with call.watched("The job was cancelled."):
        if request["kind"] == "conflicts":
            named = request["documents"]
            current, omitted = ([], "") if named else current_of(library.records(request["collection"]))
            ids = named or [each.id for each in current]
            return conflicts_among(map(library.find, ids), len(ids), call.progress, omitted).sent()
        one, other = (library.find(each) for each in request["documents"])
        decided = library.decisions(request["kind"], *request["documents"])
        if request["kind"] == "trace":
            call.progress(0, 100, "every requirement is compared with every other")
            return trace_between(one, other, linker(), decided.links()).sent()
        call.progress(0, 100, "every sentence is compared with every obligation")
        records = [each for name in {one.collection, other.collection} for each in library.records(name)]
        return check_between(one, other, records, finder(), decided.marks()).sent()


def trace_between(
    source: LibraryDocument, target: LibraryDocument, propose: Proposer, decided: Mapping[tuple[str, str], bool]
) -> TraceAnswer:
    """Trace the requirements of one document to those of another; clauses where one has none.

    Args:
        source, target: the documents.
        propose: rates pairs.
        decided: what a person accepted or rejected, by ids.

    Raises:
        InvalidInputError: one has no text, or more items than are rated at once.
    """
    sources, targets = _items(source), _items(target, met_by=True)
    found = trace([each for each, _ in sources], [each for each, _ in targets], propose, decided)
    places = ({each.id: place for each, place in sources}, {each.id: place for each, place in targets})
    items = ({each.id: each for each, _ in sources}, {each.id: each for each, _ in targets})
    return TraceAnswer(
        source=TracedDocument.of(_describe(source), items=len(sources)),
        target=TracedDocument.of(_describe(target), items=len(targets)),
        threshold=round(found.threshold, 4),
        warning=" ".join(filter(None, warnings_of(found))),
        summary=dict(Counter(link.verdict.value for link in found.links)),
        links=[_link(link, *places, accepted=(link.source.id, link.target.id) in decided) for link in found.links],
        rejected=[
            RejectedLink(source=_item(items[0][one], places[0]), target=_item(items[1][two], places[1]))
            for (one, two), accepted in decided.items()
            if not accepted and one in items[0] and two in items[1]
        ],
        gaps={
            "from": [_item(each, places[0]) for each in found.untraced_sources],
            "to": [_item(each, places[1]) for each in found.untraced_targets],
        },
    )


def check_between(
    document: LibraryDocument,
    standard: LibraryDocument,
    records: Sequence[DocumentRecord],
    seek: EvidenceSearch,
    marks: Sequence[RowMark],
) -> CheckAnswer:
    """Tell what a document says of each obligation of another; as `check_against` and `standard_of`."""
    name = standard.record.title or standard.record.file_name
    found = check_against(standard_of(name, [_reading(standard)]), [_reading(document)], seek, records, marks)
    return CheckAnswer(
        document=_describe(document),
        standard=_describe(standard),
        warning="" if found.related else UNRELATED,
        summary=summary_of(found),
        rows=[_checked_row(each, document, standard) for each in found.rows],
        editions=[f"{each.citation}: {each.found}: {each.asked}" for each in found.editions],
    )


def conflicts_among(
    documents: Iterable[LibraryDocument], count: int, progress: Progress, omitted: str = ""
) -> ConflictsAnswer:
    """Tell what contradicts or doubles what, and which terms are defined in two ways; as `conflicts_in`.

    `omitted` says how many older editions are not among the documents.
    """
    places: tuple[list[_Place], list[_Place]] = ([], [])

    def readings() -> Iterator[ReadDocument]:
        for each in documents:
            reading, description = _reading(each), _describe(each)
            places[0].extend((description, chunk.index) for _, chunk in groups_in(reading))
            places[1].extend(
                (description, _passage_at(each.chunks, definition.span.start)) for definition in reading.definitions
            )
            yield reading

    found, compared = conflicts_in(readings(), count, progress)
    return ConflictsAnswer(
        documents=count,
        omitted=omitted,
        compared=compared,
        summary=dict(Counter(each.kind.value for each in found)),
        total=len(found),
        conflicts=[_conflict(each, places[each.kind is ConflictKind.DEFINITION]) for each in found],
    )


def _conflict(each: Conflict, places: Sequence[_Place]) -> ListedConflict:
    def side(demand: Demand) -> ConflictSide:
        description, passage = places[demand.place]
        return ConflictSide.of(demand, **description.sent(), passage=passage)

    return ListedConflict.of(
        each, one=side(each.one), other=side(each.other), also_in=[side(other) for other in each.also_in]
    )


def _checked_row(row: CheckRow, document: LibraryDocument, standard: LibraryDocument) -> CheckedRow:
    obligation = row.obligation
    return CheckedRow.of(
        row,
        row=obligation.id,
        requirement=obligation.text,
        citation=obligation.citation,
        passage=_passage_with(standard, obligation.text),
        quotes=[QuotedEvidence.of(each, passage=_passage_with(document, each.quote)) for each in row.evidence],
        checks=[check_line(each) for each in row.checks],
        mark=row.mark or "",
    )


def _passage_with(document: LibraryDocument, words: str) -> int | None:
    place = document.text.find(words)
    return _passage_at(document.chunks, place) if place >= 0 else None


def _reading(document: LibraryDocument) -> ReadDocument:
    return ReadDocument(document.record.id, document.text, document.structure, document.chunks, document.record)


def _link(
    link: TraceLink, sources: dict[str, int | None], targets: dict[str, int | None], *, accepted: bool
) -> TracedLink:
    return TracedLink(
        verdict=link.verdict,
        probability=round(link.probability, 4),
        source=_item(link.source, sources, text=link.evidence.from_text),
        target=_item(link.target, targets, text=link.evidence.to_text),
        words=list(link.evidence.words),
        accepted=accepted,
    )


def _item(item: TraceItem, places: dict[str, int | None], *, text: str | None = None) -> TracedItem:
    title = item.title or item.text[:_LONGEST]
    return TracedItem.of(
        id=item.id, title=title, citation=item.citation, passage=places[item.id], text=text, keep=["text"]
    )


def _items(document: LibraryDocument, *, met_by: bool = False) -> list[tuple[TraceItem, int | None]]:
    """List what of a document is traced, each with the passage that it begins in."""
    reading = _reading(document)
    items = placed_items(reading, met_by=met_by)
    if len(items) > _MOST_ITEMS or not document.text.strip():
        problem = "has no text"
        if document.text.strip():
            problem = f"has {len(items):,} requirements or clauses, more than {_MOST_ITEMS}"
        name = document.record.title or document.record.file_name
        raise InvalidInputError(f"{name} {problem}.", suggestion="Use `knowledge trace` on the command line.")
    return [
        (replace(item, citation=reading.cited(span)), _passage_at(document.chunks, span.start)) for item, span in items
    ]
