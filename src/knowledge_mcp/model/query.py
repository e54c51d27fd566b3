"""Questions to the engine and its answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

from knowledge_mcp.model.chunk import Chunk, Definition, Statement
from knowledge_mcp.model.collection import DocumentRecord, EmbeddingSpace, StoreStatistics
from knowledge_mcp.model.ingest import SourceStatus

ChunkKey = Literal["id", "document", "term", "content"]
"""What chunks are read by: their own ids, the ids of documents, keys of terms that they define, content hashes."""

FilterField = Literal["chunk_id", "document_id", "document_type", "chunk_type", "normative", "clause_number"]
"""Fields of a chunk that a filter may name (A-REQ-SEARCH-003), and its id."""


@dataclass(frozen=True, slots=True)
class Equals:
    """Keep chunks whose field equals the value; `normative` takes a bool, all others a string."""

    field: FilterField
    value: str | bool


@dataclass(frozen=True, slots=True)
class In:
    """Keep chunks whose field is one of the values; an empty tuple keeps none."""

    field: FilterField
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NotIn:
    """Keep chunks whose document is none of these; an empty tuple keeps all.

    Where they are `absent`, words are weighed as if these documents were not stored at all: no score discloses them.
    """

    field: Literal["document_id"]
    values: tuple[str, ...] | frozenset[str]
    absent: bool = False


@dataclass(frozen=True, slots=True)
class Prefix:
    """Keep chunks whose clause number is the value or lies below it.

    "5.3" keeps 5.3, 5.3.1 and 5.3.1.2, not 5.30; "A" keeps A and A.1. A trailing dot is ignored.
    """

    field: Literal["clause_number"]
    value: str


@dataclass(frozen=True, slots=True)
class And:
    """Keep chunks that every part keeps; no part keeps all."""

    parts: tuple[Filter, ...]


Filter = Equals | In | NotIn | Prefix | And


class SearchMode(StrEnum):
    """How chunks are ranked."""

    SEMANTIC = "semantic"
    HYBRID = "hybrid"
    KEYWORD = "keyword"


MOST_OFFSET = 1000
"""Hits that may be passed over: each page searches for all before it again, and whoever wants more can ask narrower."""


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """Ask for the best chunks.

    Attributes:
        text: the question, 1..2000 characters.
        limit: most hits to return, 1..100.
        mode: hybrid unless said otherwise.
        weight: share of the dense leg in weighted rank fusion, 0..1; 1 is exactly the dense leg, 0 exactly the lexical
            one; None leaves it to the engine, which may blend scores, and puts what is asked for by name first.
        filter: which chunks may be found, None for all.
        offset: hits to pass over, 0..1000, to go on where an answer before ended.
        fold: whether hits that repeat a better one are folded into it.
        per_document: most hits of one document, None for no limit.
        edition: whose editions may be found: empty for the current ones, `all`, an edition ("2018", "Rev. 5"), or
            `as of` a date ("as of 2020-05").
        where: names and values that the metadata of the documents must have; `tags` and `date` look at more than one.
        collections: which are searched in place of the knowledge base's own; `*` for all that may be read.
    """

    text: str
    limit: int = 10
    mode: SearchMode = SearchMode.HYBRID
    weight: float | None = None
    filter: Filter | None = None
    offset: int = 0
    fold: bool = False
    per_document: int | None = None
    edition: str = ""
    where: tuple[tuple[str, str], ...] = ()
    collections: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Wording:
    """Pair a phrase that a question says with what documents may say instead.

    Attributes:
        said: the phrase, as the list of synonyms writes it.
        instead: other phrases, none of which the question says.
    """

    said: str
    instead: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LegHit:
    """Name one chunk found by one leg; score is the leg's raw one (cosine, or BM25), larger is better."""

    chunk_id: str
    score: float


@dataclass(frozen=True, slots=True)
class LegResults:
    """Hold what each leg of a store found, best first; equal scores are ordered by chunk id.

    Attributes:
        dense, lexical: None where the leg was not asked for.
        dense_error, lexical_error: why a leg that was asked for gave nothing; empty when it worked.
    """

    dense: tuple[LegHit, ...] | None
    lexical: tuple[LegHit, ...] | None
    dense_error: str = ""
    lexical_error: str = ""


@dataclass(frozen=True, slots=True)
class LegScore:
    """Tell a hit's rank from 1 and raw score in one leg."""

    rank: int
    score: float


@dataclass(frozen=True, slots=True)
class Hit:
    """Pair a chunk with why it was found.

    Attributes:
        chunk: the passage.
        score: 0..1.
        citation: as an engineer would paste it: title, edition, clause and title, page.
        dense, lexical: rank and raw score in each leg, None where that leg did not find it.
        also_in: citations of further hits that say the same and were folded into this one.
        collection: where it stands, given where several were searched.
        record: of its document, as the citation was made from it; None where it has just gone.
    """

    chunk: Chunk
    score: float
    citation: str
    dense: LegScore | None = None
    lexical: LegScore | None = None
    also_in: tuple[str, ...] = ()
    collection: str = ""
    record: DocumentRecord | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class SearchAnswer:
    """Answer a search.

    Attributes:
        hits: best first.
        mode: the mode that was really used.
        searched_documents: documents in the collection.
        more: whether hits follow after these, as far as was looked.
        degraded: what failed on the way and why, one sentence each; empty when all went well.
        answerability: estimate, 0..1, that one of the ten best hits answers the question; None where the kind of search
            or the embedding space is not one that it was calibrated on.
        also_asked: phrases that were asked for beside the question's own words, which the documents do not use.
        notes: what to know of the answer that is no failure, one sentence each: that no passage says the quoted words
            together, or a word, or an identifier.
        editions: of which documents there are other editions than those that answered, one sentence each.
    """

    hits: tuple[Hit, ...]
    mode: SearchMode
    searched_documents: int
    degraded: tuple[str, ...] = ()
    more: bool = False
    answerability: float | None = None
    also_asked: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    editions: tuple[str, ...] = ()

    @property
    def note(self) -> str:
        """What to know of the answer, in one text."""
        return " ".join(self.notes)


@dataclass(frozen=True, slots=True)
class DefinitionHit:
    """Pair a definition with the chunk it stands in."""

    definition: Definition
    chunk: Chunk
    citation: str


@dataclass(frozen=True, slots=True)
class LookupAnswer:
    """Answer a term look-up; `similar_terms` is filled only when nothing was found (clarification 3).

    `editions` is as in `SearchAnswer`.
    """

    term: str
    definitions: tuple[DefinitionHit, ...]
    similar_terms: tuple[str, ...] = ()
    degraded: tuple[str, ...] = ()
    editions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RequirementQuery:
    """Ask for mandatory statements on a topic.

    Attributes:
        topic: 1..1000 characters.
        standard: part of a document's id or title, 1..100 characters, None for all.
        limit: 1..50.
        edition: as in `SearchQuery`.
        offset: how many hits to leave out at the beginning, 0..1000.
    """

    topic: str
    standard: str | None = None
    limit: int = 10
    edition: str = ""
    offset: int = 0


@dataclass(frozen=True, slots=True)
class RequirementHit:
    """Pair a mandatory statement with the chunk it stands in; score 0..1; `also_in` as in `Hit`."""

    statement: Statement
    chunk: Chunk
    score: float
    citation: str
    also_in: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RequirementAnswer:
    """Answer a requirements query, best first; what `SearchAnswer` has too is as there.

    Attributes:
        said: whether any hit, its passage included, says a word of the topic; True where there is no hit.
        more: whether hits follow after these.
    """

    hits: tuple[RequirementHit, ...]
    documents: tuple[str, ...] | None
    degraded: tuple[str, ...] = ()
    also_asked: tuple[str, ...] = ()
    answerability: float | None = None
    said: bool = True
    editions: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    more: bool = False


@dataclass(frozen=True, slots=True)
class Check:
    """Tell whether one dependency is up, how long its answer took, and what it said."""

    up: bool
    latency_ms: int
    message: str


@dataclass(frozen=True, slots=True)
class HealthReport:
    """Tell the state of every dependency at one moment (clarification 7)."""

    status: Literal["healthy", "degraded", "unhealthy"]
    vector_store: Check
    embedding_service: Check
    timestamp: str


@dataclass(frozen=True, slots=True)
class Stats:
    """Count what the knowledge base holds and say what it runs on, and which collections may be searched beside it."""

    statistics: StoreStatistics
    documents: tuple[DocumentRecord, ...]
    backend: str
    status: Literal["healthy", "degraded", "unavailable"]
    hybrid_enabled: bool
    space: EmbeddingSpace
    notes: tuple[str, ...] = ()
    sources: tuple[SourceStatus, ...] = ()
    collections: tuple[str, ...] = ()
