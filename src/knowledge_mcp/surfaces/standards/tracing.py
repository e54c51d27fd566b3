"""The tools that compare documents, beyond the specification: links, evidence, conflicts.

Their runs outlive the call that began them: they are jobs, found by what was asked, whoever asks again.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar, cast

from pydantic import Field

from knowledge_mcp.engine.core.editions import current_of
from knowledge_mcp.engine.jobs.jobs import RESULT, Jobs, error_of
from knowledge_mcp.engine.jobs.journal import Job, JobState
from knowledge_mcp.model.call import Call, Progress
from knowledge_mcp.model.collection import DocumentRecord
from knowledge_mcp.model.errors import CancelledError, InvalidInputError, NotFoundError
from knowledge_mcp.model.rights import FULL_RIGHTS, Rights
from knowledge_mcp.ports import Knowledge
from knowledge_mcp.support.wording import how_many
from knowledge_mcp.surfaces.arguments import WHOLE, Text, one_or_list
from knowledge_mcp.surfaces.contract import Response, Tool, page_of
from knowledge_mcp.surfaces.following import watch
from knowledge_mcp.surfaces.standards.evidence_shapes import StandardsRequest

if TYPE_CHECKING:
    from knowledge_mcp.engine.knowledge import LocalKnowledge
    from knowledge_mcp.engine.tracing.checking import CheckRow
    from knowledge_mcp.engine.tracing.conflicts import Conflict
    from knowledge_mcp.engine.tracing.decisions import Reviews
    from knowledge_mcp.engine.tracing.links import TraceItem, TraceLink

PATIENCE = 45.0
"""Seconds after which a caller learns that a run is still in progress: many clients time out after a minute."""

_waiting = Counter[str]()
"""How many callers wait for each job."""
_waiting_lock = threading.Lock()


@dataclass(frozen=True, slots=True)
class _RunProgress:
    """Return the progress of a run: its job, hundredths, and a message."""

    job_id: str
    done: float
    words: str


def _outcome_of_job(
    jobs: Jobs, request: Mapping[str, Any], records: Sequence[DocumentRecord], call: Call
) -> dict[str, Any] | _RunProgress:
    """Return what came of a request over documents, started now unless it is known; how far it is after a while.

    A caller that gives up ends the run, unless another one waits for it. The next call starts a failed one again.

    Raises:
        CancelledError: the caller gave up, or somebody cancelled the job.
        KnowledgeError: as the work says.
    """
    job = jobs.once(request, list(records))
    due = time.monotonic() + PATIENCE

    def ended(seconds: float) -> bool:
        nonlocal job
        if not job.state.is_final:
            job = jobs.wait(job.id, seconds)
        return job.state.is_final or time.monotonic() >= due

    def give_up() -> CancelledError:
        with _waiting_lock:
            alone = _waiting[job.id] == 1
        if alone:
            jobs.cancel(job.id)
        return CancelledError("The caller cancelled.")

    with _waiting_lock:
        _waiting[job.id] += 1
    try:
        watch(ended, lambda: _state(job), call, give_up=give_up, failed=lambda: job.state is not JobState.DONE)
    finally:
        with _waiting_lock:
            _waiting[job.id] -= 1
            if not _waiting[job.id]:
                del _waiting[job.id]
    if not job.state.is_final:
        return _RunProgress(job.id, *_state(job))
    if job.state is not JobState.DONE:
        raise error_of(job)
    try:
        return jobs.result(job.id)
    except NotFoundError:
        jobs.forget(job.id)
        raise


def _state(job: Job) -> tuple[float, str]:
    return (100.0 * min(job.done / job.total, 1.0) if job.total else 0.0), job.message


R = TypeVar("R", bound=Response)
_LONGEST = 300
"""Characters of a text that are shown; its citation leads to all of it."""
_PAGE = 50
_EVERY = "*"

Cursor = Annotated[int, Field(ge=0, le=10_000_000), WHOLE]


class TraceRequest(StandardsRequest):
    """Arguments of `knowledge_trace`."""

    SUBJECT = "source"

    source: Text = Field(alias="from", description="Id, designation or title.")
    target: Text = Field(alias="to", description=f"The same; {_EVERY} for all others.")
    gaps: bool = Field(default=False, description="List what has no link.")
    cursor: Cursor = Field(default=0, description="next_cursor of the previous answer.")


class CheckRequest(StandardsRequest):
    """Arguments of `knowledge_check`."""

    SUBJECT = "document"

    document: Text = Field(description="Id, designation or title.")
    standard: Text = Field(description="The same.")
    verdict: Literal["evidence found", "partial", "none found"] | None = Field(
        default=None, description="Only rows with it."
    )
    cursor: Cursor = Field(default=0, description="next_cursor of the previous answer.")


class ConflictsRequest(StandardsRequest):
    """Arguments of `knowledge_conflicts`."""

    documents: Annotated[list[Text], one_or_list("documents"), Field(min_length=1, max_length=200)] | None = Field(
        default=None, description="Ids or titles; default: all."
    )
    kind: Literal["contradiction", "limit", "force", "duplicate", "definition"] | None = Field(
        default=None, description="Only pairs of it."
    )
    cursor: Cursor = Field(default=0, description="next_cursor of the previous answer.")


class LinkFound(Response):
    """One link."""

    source: str = Field(alias="from")
    target: str = Field(alias="to")
    verdict: str = Field(description="declared, likely, uncertain, or mentioned: named, but not as met.")
    probability: float
    words: str = Field(default="", description="What both have in common.")
    from_text: str = ""
    to_text: str = ""
    from_citation: str = ""
    to_citation: str = ""


class GapFound(Response):
    """One item without a declared or likely link."""

    side: str = Field(description="from or to.")
    id: str
    title: str = ""
    citation: str = ""


class _Paged(Response):
    """What the answers have in common."""

    total: int = 0
    message: str = Field(default="", description="Notes on the result, or the progress if it is not done yet.")
    running: bool = Field(default=False, description="True while it is running: call again with the same arguments.")
    next_cursor: int = 0


class TraceResponse(_Paged):
    """Answer of `knowledge_trace`."""

    summary: dict[str, int] = Field(
        default={}, description="Number of links by verdict; items per side with a declared link, and with none."
    )
    links: list[LinkFound] = Field(default=[], description="In the order of `from`, the best link of each item first.")
    gaps: list[GapFound] = Field(default=[])


class RowChecked(Response):
    """One obligation of the standard."""

    row: str
    requirement: str
    citation: str
    kind: str = Field(default="", description="conditional, informative or not-applicable; absent for obligations.")
    condition: str = ""
    note: str = Field(default="", description="A person's note.")
    verdict: str = Field(description="evidence found, partial or none found.")
    quote: str = Field(default="", description="The best evidence, word for word.")
    quote_citation: str = ""
    more_quotes: int = 0
    checks: list[str] = Field(default=[], description="Comparison of limits, sections, terms and editions.")


class CheckResponse(_Paged):
    """Answer of `knowledge_check`."""

    summary: dict[str, int] = Field(default={}, description="Number of rows by kind, and of obligations by verdict.")
    rows: list[RowChecked] = Field(default=[])
    editions: list[str] = Field(
        default=[], description="References to editions that are not current; on the first page only."
    )


class ConflictPair(Response):
    """Two sentences that do not go together, or say the same."""

    kind: str = Field(description="contradiction, limit, force, duplicate or definition.")
    why: str
    one: str
    one_citation: str
    other: str
    other_citation: str
    also_in: int = Field(default=0, description="Other places that say the same as one of the two.")


class ConflictsResponse(_Paged):
    """Answer of `knowledge_conflicts`."""

    summary: dict[str, int] = Field(default={})
    conflicts: list[ConflictPair] = Field(default=[])


# ---- runs


@dataclass(frozen=True, slots=True)
class _Embedding:
    """Embed through a knowledge base, and report progress."""

    knowledge: Knowledge
    progress: Progress

    def __call__(self, texts: Sequence[str]) -> Any:
        from knowledge_mcp.ranking.linking import embed_as_matrix

        done = 0

        def embed(part: Sequence[str]) -> Sequence[bytes]:
            nonlocal done
            vectors = self.knowledge.embed(part)
            done += len(part)
            self.progress(done, len(texts), f"{done} of {len(texts)} texts embedded")
            return vectors

        return embed_as_matrix(embed)(texts)


def run_review(knowledge: Knowledge, request: Mapping[str, Any], call: Call) -> dict[str, Any]:
    """Do what a job of one of these tools says, with the rights of whoever asked; the work of `Jobs`."""
    if "read" in request:
        rights = Rights(tuple(request["read"]), tuple(request["groups"]))
        knowledge = cast("LocalKnowledge", knowledge).seen_by(rights)
    return {RESULT: _run_tool(knowledge, request, call)}


def _run_tool(knowledge: Knowledge, request: Mapping[str, Any], call: Call) -> dict[str, Any]:
    with call.watched("Nobody is waiting for the result."):
        return _WORK[request["tool"]](knowledge, request, call.progress)


def _outcome(
    knowledge: Knowledge, request: Mapping[str, Any], records: Sequence[DocumentRecord], call: Call
) -> dict[str, Any] | _RunProgress:
    """Return what came of a request over documents as they are now; it is a job where jobs are kept."""
    reviews = _reviews(knowledge)
    if reviews is None:
        return _run_tool(knowledge, request, call)
    rights: Rights = getattr(knowledge, "rights", FULL_RIGHTS)
    restriction = {} if rights.are_full else {"read": list(rights.read), "groups": list(rights.groups)}
    return _outcome_of_job(reviews.jobs, {**request, **restriction}, records, call)


def _reviews(knowledge: Knowledge) -> Reviews | None:
    return getattr(knowledge, "reviews", None)


def _still_running(response: type[R], run: _RunProgress) -> R:
    state = f"{run.words}. " if run.words else ""
    message = f"{state}Job {run.job_id} is still running; call again with the same arguments for the result."
    return response.of(running=True, message=message)


# ---- trace


def trace_documents(knowledge: Knowledge, request: TraceRequest, call: Call | None = None) -> TraceResponse:
    """Answer `knowledge_trace`."""
    from knowledge_mcp.engine.changes.comparing import document_named
    from knowledge_mcp.surfaces.matrix import UNRELATED_SETS

    records = knowledge.documents()
    source = document_named(records, request.source)
    is_all = request.target.strip() == _EVERY
    current, left_out = current_of(records) if is_all else ([], "")
    targets = [each for each in current if each != source] if is_all else [document_named(records, request.target)]
    if source in targets:
        raise InvalidInputError(f"'{source.id}' would be traced to itself.", suggestion="Name two documents.")
    reviews = _reviews(knowledge)
    decided = [
        [one, other if len(targets) == 1 else f"{each.id}: {other}", yes]
        for each in targets
        for (one, other), yes in (reviews.decisions("trace", source.id, each.id).links() if reviews else {}).items()
    ]
    job_request = {"tool": "trace", "from": source.id, "to": [each.id for each in targets], "decided": decided}
    found = _outcome(knowledge, job_request, [source, *targets], call or Call())
    if isinstance(found, _RunProgress):
        return _still_running(TraceResponse, found)
    warnings = [
        "" if found["related"] else UNRELATED_SETS,
        found.get("lost", ""),
        found.get("doubts", ""),
        found.get("left_out", ""),
    ]  # a result of before has none
    message = " ".join(filter(None, (*warnings, left_out)))
    name, kind = ("gaps", GapFound) if request.gaps else ("links", LinkFound)
    answer = _page_answer(TraceResponse, name, kind, found, request.cursor, message=message)
    return answer.made_from(each.id for each in (source, *targets))


def _run_trace(knowledge: Knowledge, request: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    from knowledge_mcp.engine.tracing.links import Verdict, trace
    from knowledge_mcp.lexical.analyser import EnglishAnalyser
    from knowledge_mcp.ranking.linking import Linker
    from knowledge_mcp.surfaces.matrix import coverage_of, doubts, items_left_out, lost_links

    linker = Linker(EnglishAnalyser().document_terms, _Embedding(knowledge, progress))
    decided = {(one, other): yes for one, other, yes in request["decided"]}
    sources, targets = _items(knowledge, [request["from"]]), _items(knowledge, request["to"], met_by=True)
    found = trace(sources, targets, linker, decided)
    counts = Counter(link.verdict for link in found.links)
    verdicts = {verdict.value: counts[verdict] for verdict in Verdict if counts[verdict]}
    verdicts |= {f"{side}_with_declared": count["declared"] for side, count in coverage_of(found).items()}
    gaps = [("from", each) for each in found.untraced_sources] + [("to", each) for each in found.untraced_targets]
    return {
        "summary": verdicts
        | {"without_link_from": len(found.untraced_sources), "without_link_to": len(found.untraced_targets)},
        "related": found.related,
        "lost": lost_links(found),
        "doubts": doubts(found),
        "left_out": items_left_out(found),
        "links": [_link(each).sent() for each in found.links],
        "gaps": [GapFound.of(each, side=side, id=each.label).sent() for side, each in gaps],
    }


def _items(knowledge: Knowledge, documents: Sequence[str], *, met_by: bool = False) -> list[TraceItem]:
    """List the items of documents; of several, each id with its document before it."""
    from knowledge_mcp.engine.tracing.items import items_in
    from knowledge_mcp.engine.tracing.readings import read_ingested

    found = [(name, item) for name in documents for item in items_in(read_ingested(knowledge, name), met_by=met_by)]
    if len(documents) == 1:
        return [item for _, item in found]
    return [replace(item, id=f"{name}: {item.id}", name=item.id) for name, item in found]


def _link(link: TraceLink) -> LinkFound:
    return LinkFound.of(
        link,
        source=link.source.label,
        target=link.target.label,
        probability=round(link.probability, 2),
        words=", ".join(link.evidence.words),
        from_text=link.evidence.from_text[:_LONGEST],
        to_text=link.evidence.to_text[:_LONGEST],
        from_citation=link.citations[0],
        to_citation=link.citations[1],
    )


# ---- check


def check(knowledge: Knowledge, request: CheckRequest, call: Call | None = None) -> CheckResponse:
    """Answer `knowledge_check`."""
    from knowledge_mcp.engine.changes.comparing import document_named
    from knowledge_mcp.surfaces.checklist import UNRELATED

    records = knowledge.documents()
    document, standard = (document_named(records, each) for each in (request.document, request.standard))
    if document.id == standard.id:
        raise InvalidInputError(f"'{document.id}' cannot be compared with itself.", suggestion="Choose two documents.")
    reviews = _reviews(knowledge)
    marks = reviews.decisions("check", document.id, standard.id).marks() if reviews else []
    job_request = {
        "tool": "check",
        "document": document.id,
        "standard": standard.id,
        "marks": [[each.row, each.text, each.kind.value if each.kind else "", each.note] for each in marks],
    }
    found = _outcome(knowledge, job_request, records, call or Call())
    if isinstance(found, _RunProgress):
        return _still_running(CheckResponse, found)
    chosen = {**found, "rows": [row for row in found["rows"] if request.verdict in {None, row["verdict"]}]}
    editions: list[str] = [] if request.cursor else found["editions"][:_PAGE]
    message = "" if found["related"] else UNRELATED
    answer = _page_answer(CheckResponse, "rows", RowChecked, chosen, request.cursor, editions=editions, message=message)
    return answer.made_from([document.id, standard.id])


def _run_check(knowledge: Knowledge, request: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    from knowledge_mcp.engine.tracing.decisions import RowMark, as_mark_kind
    from knowledge_mcp.engine.tracing.readings import read_ingested
    from knowledge_mcp.lexical.analyser import EnglishAnalyser
    from knowledge_mcp.ranking.linking import EvidenceFinder
    from knowledge_mcp.surfaces.checklist import summary_of
    from knowledge_mcp.surfaces.comparing import check_against, standard_of

    found = check_against(
        standard_of(f"'{request['standard']}'", [read_ingested(knowledge, request["standard"])]),
        [read_ingested(knowledge, request["document"])],
        EvidenceFinder(EnglishAnalyser().document_terms, _Embedding(knowledge, progress)),
        knowledge.documents(),
        [RowMark(row, text, as_mark_kind(kind), note) for row, text, kind, note in request["marks"]],
    )
    return {
        "summary": summary_of(found),
        "related": found.related,
        "rows": [_row(each).sent() for each in found.rows],
        "editions": [f"{each.found}: {each.asked} ({each.citation})" for each in found.editions],
    }


def _row(row: CheckRow) -> RowChecked:
    from knowledge_mcp.surfaces.checklist import check_line

    obligation, best = row.obligation, row.evidence[0] if row.evidence else None
    return RowChecked.of(
        row,
        row=obligation.id,
        requirement=obligation.text[:_LONGEST],
        citation=obligation.citation,
        kind=row.kind if obligation.condition or row.kind != "obligation" else "",
        condition=obligation.condition[:_LONGEST],
        note=row.note[:_LONGEST],
        quote=best.quote if best is not None else "",
        quote_citation=best.citation if best is not None else "",
        more_quotes=max(0, len(row.evidence) - 1),
        checks=[check_line(each)[:_LONGEST] for each in row.checks],
    )


# ---- conflicts


_ADVICE = "Advice only: contradictions between differently worded sentences are not found."


def conflicts_found(knowledge: Knowledge, request: ConflictsRequest, call: Call | None = None) -> ConflictsResponse:
    """Answer `knowledge_conflicts`."""
    from knowledge_mcp.engine.changes.comparing import document_named

    records = knowledge.documents()
    named = list(dict.fromkeys(document_named(records, each) for each in request.documents or ()))
    chosen, left_out = (named, "") if named else current_of(records)
    job_request = {"tool": "conflicts", "documents": [each.id for each in chosen]}
    found = _outcome(knowledge, job_request, chosen, call or Call())
    if isinstance(found, _RunProgress):
        return _still_running(ConflictsResponse, found)
    none = "" if found["conflicts"] else f"None found among {how_many(found['compared'], 'requirement')}. "
    message = f"{none}{_ADVICE} {left_out}".strip()
    pairs = {**found, "conflicts": [each for each in found["conflicts"] if request.kind in {None, each["kind"]}]}
    answer = _page_answer(ConflictsResponse, "conflicts", ConflictPair, pairs, request.cursor, message=message)
    return answer.made_from(each.id for each in chosen)


def _run_conflicts(knowledge: Knowledge, request: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    from knowledge_mcp.engine.tracing.readings import read_ingested
    from knowledge_mcp.surfaces.comparing import conflicts_in

    documents: Sequence[str] = request["documents"]
    found, compared = conflicts_in((read_ingested(knowledge, name) for name in documents), len(documents), progress)
    return {
        "compared": compared,
        "summary": dict(Counter(each.kind.value for each in found)),
        "conflicts": [_pair(each).sent() for each in found],
    }


def _pair(each: Conflict) -> ConflictPair:
    return ConflictPair.of(
        each,
        one=each.one.text[:_LONGEST],
        one_citation=each.one.citation,
        other=each.other.text[:_LONGEST],
        other_citation=each.other.citation,
        also_in=len(each.also_in),
    )


_WORK: Mapping[str, Callable[[Knowledge, Mapping[str, Any], Progress], dict[str, Any]]] = {
    "trace": _run_trace,
    "check": _run_check,
    "conflicts": _run_conflicts,
}


# ---- pages


def _page_answer(
    answer: type[R], name: str, kind: type[Response], found: Mapping[str, Any], cursor: int, **fields: Any
) -> R:
    """Build an answer with a page of what was found: as many as fit, and how many there are."""
    page, next_cursor = page_of(found[name], kind.model_validate, cursor=cursor, limit=_PAGE)
    fields |= {name: page, "total": len(found[name]), "next_cursor": next_cursor}
    return answer.of(summary=found["summary"], keep=[name, "total"], **fields)


TRACING_TOOLS = (
    Tool(
        "knowledge_trace",
        "Link the items of two documents",
        "Link each requirement of a document to what meets, refines or tests it in another: declared, then "
        "proposed links with probability.",
        trace_documents,
        items="links",
    ),
    Tool(
        "knowledge_check",
        "Check a document against a standard",
        "For each obligation of a standard, quote a document's best evidence, with a verdict and checks. A person "
        "decides.",
        check,
        items="rows",
    ),
    Tool(
        "knowledge_conflicts",
        "Find conflicting requirements",
        "List requirements that contradict or duplicate each other, and terms defined in two ways.",
        conflicts_found,
        items="conflicts",
    ),
)
"""The three tools, in the order in which they are listed."""
