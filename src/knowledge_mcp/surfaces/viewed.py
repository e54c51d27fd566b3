"""What is shown of documents: the outline, what changed, what traces to what or contradicts it."""

from __future__ import annotations

from typing import Annotated

from pydantic import ConfigDict, Field

from knowledge_mcp.surfaces.contract import Response


class ViewAnswer(Response):
    """Base of what is shown; only fields that were set are sent."""

    model_config = ConfigDict(extra="ignore")


class ListedSection(ViewAnswer):
    """One section.

    `words` are the first of one without a title; `passage` is the index of the one that it begins in, `page` null
    where the format has none.
    """

    level: int
    number: str
    title: str
    words: str
    page: int | None
    passage: int | None


class OutlineAnswer(ViewAnswer):
    """The sections of a document in order."""

    doc_id: str
    sections: list[ListedSection]


class NamedDocument(ViewAnswer):
    """A document by its names."""

    doc_id: str
    title: str
    edition: str
    collection: str


class ClauseSide(ViewAnswer):
    """A clause in one document; `passage` is the index of the one that it begins in."""

    label: str
    citation: str
    passage: int | None


class ChangedClause(ViewAnswer):
    """Outcome for a clause; `rows` has its sentences side by side, in pieces that are marked as changed or not."""

    became: str
    level: int
    old: ClauseSide | None
    new: ClauseSide | None
    kinds: list[str]
    obligations: list[str]
    rows: list[list[list[tuple[str, bool]]]]


class ChangesAnswer(ViewAnswer):
    """What changed between two documents; `total` counts the clauses with changes of the kinds that were asked for.

    `summary` counts all clauses by outcome and all changes by kind, independent of the request.
    """

    old: NamedDocument
    new: NamedDocument
    summary: dict[str, int]
    total: int
    clauses: list[ChangedClause]


class TouchedPlace(ViewAnswer):
    """A place that refers to what changed: to which clause of which edition, as far as it says, and what became of it.

    `dated` is the edition that it names, empty where it follows the current one; `became` and `kinds` are empty where
    no clause is named, so that the whole edition counts. `passage` is the index of the one that it stands in.
    """

    doc_id: str
    kind: str
    identifier: str
    text: str
    citation: str
    passage: int
    reference: str
    dated: str
    clause: str
    became: str
    kinds: list[str]


class ImpactAnswer(ViewAnswer):
    """Places of other documents that refer to what changed; `untouched` counts references to clauses that did not."""

    old: NamedDocument
    new: NamedDocument
    total: int
    untouched: int
    degraded: list[str]
    places: list[TouchedPlace]


class TracedDocument(NamedDocument):
    """One side of a trace, and how many items it has."""

    items: int


class TracedItem(ViewAnswer):
    """A requirement or clause; `text` is the sentence that speaks for the link, left out of gaps."""

    id: str
    title: str
    citation: str
    passage: int | None
    text: str = ""


class TracedLink(ViewAnswer):
    """A link, how sure it is, the words that both sides share, and whether a person accepted it."""

    verdict: str
    probability: float
    source: Annotated[TracedItem, Field(alias="from")]
    target: Annotated[TracedItem, Field(alias="to")]
    words: list[str]
    accepted: bool = False


class RejectedLink(ViewAnswer):
    """A link that a person rejected."""

    source: Annotated[TracedItem, Field(alias="from")]
    target: Annotated[TracedItem, Field(alias="to")]


class TraceAnswer(ViewAnswer):
    """What of one document belongs to what of another; `gaps` lists what has no declared or likely link.

    `warning` says where the two have next to nothing to do with each other; `rejected` what a person did not want.
    """

    source: Annotated[TracedDocument, Field(alias="from")]
    target: Annotated[TracedDocument, Field(alias="to")]
    threshold: float
    warning: str
    summary: dict[str, int]
    links: list[TracedLink]
    gaps: dict[str, list[TracedItem]]
    rejected: list[RejectedLink] = Field(default=[])


class QuotedEvidence(ViewAnswer):
    """Words of the document, verbatim."""

    quote: str
    citation: str
    passage: int | None


class CheckedRow(ViewAnswer):
    """One obligation: what it counts as, what was found, and what a person said of it."""

    row: str
    requirement: str
    citation: str
    passage: int | None
    kind: str
    verdict: str
    quotes: list[QuotedEvidence]
    checks: list[str]
    mark: str
    note: str


class CheckAnswer(ViewAnswer):
    """What a document says of each obligation of another; whether that is enough, a person decides."""

    document: NamedDocument
    standard: NamedDocument
    warning: str
    summary: dict[str, int]
    rows: list[CheckedRow]
    editions: list[str]


class ConflictSide(NamedDocument):
    """A sentence as printed, or what a term is said to mean; `id` is the requirement's, or the term."""

    id: str
    text: str
    citation: str
    passage: int | None


class ListedConflict(ViewAnswer):
    """Two that do not go together, or say the same, and what differs; `also_in` has more places that say either."""

    kind: str
    why: str
    one: ConflictSide
    other: ConflictSide
    also_in: list[ConflictSide]


class ConflictsAnswer(ViewAnswer):
    """Pairs that may contradict or double each other; it is advice: other words for the same are not recognised.

    `documents` and `compared` count what was looked at, documents and sentences with force; `summary` counts all that
    was found, by kind; `total` those of the kinds that were asked for. Of a whole collection, the current editions are
    compared; `omitted` says how many older ones are not.
    """

    documents: int
    omitted: str = ""
    compared: int
    summary: dict[str, int]
    total: int
    conflicts: list[ListedConflict]
