"""The tools for editions, beyond the specification: what changed from one to the next, and what that touches."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from knowledge_mcp.engine.core.editions import edition_of_record
from knowledge_mcp.model.collection import DocumentRecord
from knowledge_mcp.model.errors import NotFoundError
from knowledge_mcp.ports import Knowledge
from knowledge_mcp.support.wording import how_many
from knowledge_mcp.surfaces.answers import ROOM_FOR_RESULTS, fitting_count
from knowledge_mcp.surfaces.arguments import UNSAID, WHOLE, Text, one_or_list
from knowledge_mcp.surfaces.contract import Response, Tool, page_of
from knowledge_mcp.surfaces.redline import KINDS, checked_kinds, count_changes, narrow, select, weight_of
from knowledge_mcp.surfaces.standards.evidence_shapes import StandardsRequest

if TYPE_CHECKING:
    from knowledge_mcp.engine.changes.comparing import EditionPair
    from knowledge_mcp.engine.changes.differences import ClauseChange
    from knowledge_mcp.engine.changes.impact import Touched
    from knowledge_mcp.engine.changes.kinds import TextChange

_LONGEST = 400
"""Characters of a sentence that are shown; both citations lead to all of it."""

_DEMANDS = "requirements_"
_KINDS = (
    ", ".join(kind for kind in KINDS if not kind.startswith(_DEMANDS))
    + f"; {_DEMANDS} with "
    + ", ".join(kind.removeprefix(_DEMANDS) for kind in KINDS if kind.startswith(_DEMANDS))
)
"""All kinds, with the common beginning of several once: assistants pay for each word of a description."""
Name = Annotated[Text, Field(min_length=1, max_length=200)]


class _PairRequest(StandardsRequest):
    """Which two editions."""

    SUBJECT = "document"

    document: Text = Field(description="Id, designation or title.")
    old: Name | None = Field(default=None, alias="from", description="Older edition; default: previous.")
    new: Name | None = Field(default=None, alias="to", description="Newer edition; default: current.")
    limit: Annotated[int, Field(ge=1, le=200), WHOLE] = Field(default=50, description="Most entries.")
    cursor: Annotated[int, Field(ge=0, le=100_000), UNSAID, WHOLE] = Field(
        default=0, description="next_cursor of the previous answer."
    )


class ChangesRequest(_PairRequest):
    """Arguments of `knowledge_changes`."""

    FILTERS = frozenset({"clause", "kinds"})

    clause: Annotated[Text, Field(min_length=1, max_length=100), UNSAID] | None = Field(
        default=None, description="Old or new number."
    )
    kinds: Annotated[list[Text], one_or_list("kinds"), Field(min_length=1, max_length=len(KINDS)), UNSAID] | None = (
        Field(default=None, description=f"{_KINDS}.")
    )


class ImpactRequest(_PairRequest):
    """Arguments of `knowledge_impact`."""

    ELSEWHERE = frozenset({"document", "from", "to"})


class EditionLabel(Response):
    """One edition."""

    document_id: str
    document_title: str
    edition: str = ""


class ChangeInside(Response):
    """One change inside a clause."""

    kind: str = Field(description="force, number, condition, definition, property, reference or words.")
    before: str = Field(default="", alias="from")
    after: str = Field(default="", alias="to")
    requirement: str = Field(
        default="",
        description="added, withdrawn, rewritten, moved, split or merged; by a condition: narrowed or widened.",
    )
    elsewhere: str = Field(default="", description="Clause that it moved from or to, or that has a part of it.")
    row: str = Field(default="", description="Identifier or first cell of its table row.")
    column: str = ""
    old_text: str = ""
    new_text: str = ""


class ClauseChanged(Response):
    """Outcome for one clause."""

    became: str = Field(description="edited, renamed, renumbered, moved, split, merged, added, removed or same.")
    old: str = Field(default="", description="Citation in the older edition.")
    new: str = Field(default="", description="Citation in the newer edition.")
    changes: list[ChangeInside] = Field(default=[])
    more: int = Field(default=0, description="Number of changes in this clause that are not listed.")


class ChangesResponse(Response):
    """Answer of `knowledge_changes`."""

    old: EditionLabel
    new: EditionLabel
    summary: dict[str, int] = Field(description="Number of clauses by outcome, and of changes by kind.")
    changes: list[ClauseChanged] = Field(description="Most important first.")
    total: int
    message: str = ""
    next_cursor: int = 0


class PlaceTouched(Response):
    """A place that refers to what changed."""

    document_id: str
    kind: str = Field(description="requirement, definition, clause or code.")
    identifier: str = ""
    text: str
    citation: str
    reference: str
    dated: str = Field(default="", description="Edition that it names; absent if it follows the current one.")
    clause: str = Field(default="", description="Clause that it names; absent if it names the document as a whole.")
    change: ClauseChanged | None = Field(default=None, description="What happened to that clause.")


class ImpactResponse(Response):
    """Answer of `knowledge_impact`."""

    old: EditionLabel
    new: EditionLabel
    summary: dict[str, int]
    touched: list[PlaceTouched]
    total: int
    untouched: int = Field(default=0, description="References to clauses that did not change.")
    message: str = ""
    degraded: list[str] = Field(default=[])
    next_cursor: int = 0


def changes(knowledge: Knowledge, request: ChangesRequest) -> ChangesResponse:
    """Answer `knowledge_changes`."""
    kinds = checked_kinds(request.kinds or ())
    pair, found = _compare(knowledge, request)
    if request.clause is not None and not any(_is_numbered(each, request.clause) for each in found):
        raise NotFoundError(
            f"Neither edition has a clause '{request.clause}'.",
            suggestion="knowledge_outline lists the clauses of a document with their numbers.",
        )
    selected = [each for each in select(found, kinds) if request.clause is None or _is_numbered(each, request.clause)]
    selected = narrow(sorted(selected, key=weight_of), kinds)
    page, next_cursor = page_of(
        selected, lambda each: _changed_clause(each, pair), cursor=request.cursor, limit=request.limit
    )
    message = "" if selected else _explain_nothing(found, request)
    return ChangesResponse.of(
        old=_edition(pair.old),
        new=_edition(pair.new),
        summary=count_changes(found),
        changes=page,
        total=len(selected),
        message=message,
        next_cursor=next_cursor,
    )


def impact(knowledge: Knowledge, request: ImpactRequest) -> ImpactResponse:
    """Answer `knowledge_impact`."""
    from knowledge_mcp.engine.changes.impact import impact_of

    pair, found = _compare(knowledge, request)
    reached = impact_of(knowledge, pair, found)
    page, next_cursor = page_of(
        reached.touched, lambda each: _place(each, pair), cursor=request.cursor, limit=request.limit
    )
    message = "" if reached.touched else "No other document and no indexed code refers to what changed."
    return ImpactResponse.of(
        reached,
        old=_edition(pair.old),
        new=_edition(pair.new),
        summary=count_changes(found),
        touched=page,
        total=len(reached.touched),
        message=message,
        next_cursor=next_cursor,
    )


def _compare(knowledge: Knowledge, request: _PairRequest) -> tuple[EditionPair, list[ClauseChange]]:
    from knowledge_mcp.engine.changes.comparing import edition_pair, ingested_part
    from knowledge_mcp.surfaces.comparing import comparisons

    pair = edition_pair(knowledge.documents(), request.document, request.old or "", request.new or "")
    return pair, comparisons().of(pair, partial(ingested_part, knowledge)).changes


def _is_numbered(each: ClauseChange, clause: str) -> bool:
    """Return whether a clause has a number, or is below the clause with it, in either edition."""
    number = clause.strip().rstrip(".")
    numbers = [side.number for side in (each.link.old, each.link.new) if side is not None]
    return any(one == number or one.startswith((f"{number}.", f"{number}(")) for one in numbers)


def _changed_clause(each: ClauseChange, pair: EditionPair) -> ClauseChanged:
    from knowledge_mcp.engine.changes.comparing import cited_clause

    inside = [_inside(change) for change in each.changes]
    count = max(1, fitting_count([one.sent() for one in inside], ROOM_FOR_RESULTS // 4))
    return ClauseChanged.of(
        became=each.link.kind,
        old=cited_clause(each.link.old, pair.old) if each.link.old is not None else "",
        new=cited_clause(each.link.new, pair.new) if each.link.new is not None else "",
        changes=inside[:count],
        more=max(0, len(inside) - count),
    )


def _inside(change: TextChange) -> ChangeInside:
    return ChangeInside.of(
        change,
        before=change.before[:_LONGEST],
        after=change.after[:_LONGEST],
        old_text=change.old_text[:_LONGEST] if change.old_text != change.before else "",
        new_text=change.new_text[:_LONGEST] if change.new_text != change.after else "",
    )


def _place(each: Touched, pair: EditionPair) -> PlaceTouched:
    change = None if each.change is None else _changed_clause(each.change, pair)
    return PlaceTouched.of(each, text=each.text[:_LONGEST], change=change)


def _edition(record: DocumentRecord) -> EditionLabel:
    return EditionLabel.of(document_id=record.id, document_title=record.title, edition=edition_of_record(record))


def _explain_nothing(found: Sequence[ClauseChange], request: ChangesRequest) -> str:
    if not select(found):
        return f"Nothing changed: {how_many(len(found), 'clause is', 'clauses are')} the same."
    is_narrowed = request.clause is not None or request.kinds is not None
    return "There are no changes in this clause or of these kinds." if is_narrowed else "Nothing changed."


CHANGE_TOOLS = (
    Tool(
        "knowledge_changes",
        "Show what changed between editions",
        "List what changed between two editions of a document, most important first: force (should to shall), "
        "limits, definitions, requirements, references, whole clauses; with both citations.",
        changes,
        items="changes",
        view=True,
    ),
    Tool(
        "knowledge_impact",
        "Show what a new edition affects",
        "List passages of other documents, and lines of indexed code, that refer to what a new edition changed, "
        "with the change and citations.",
        impact,
        items="touched",
    ),
)
"""The two tools, in the order in which they are listed."""
