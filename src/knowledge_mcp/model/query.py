"""Queries to the engine and its answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

from knowledge_mcp.model.chunk import Chunk, Definition, Statement
from knowledge_mcp.model.collection import DocumentRecord, EmbeddingSpace, StoreStatistics
from knowledge_mcp.model.ingest import SourceStatus

ChunkKey = Literal["id", "document", "term", "content"]
"""What chunks are read by: their own ids, document ids, keys of the terms that they define, content hashes."""

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

    With `absent`, words are weighted as if these documents were not stored at all, so that no score discloses them.
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
    """Keep chunks that pass every part; without parts, keep all."""

    parts: tuple[Filter, ...]


Filter = Equals | In | NotIn | Prefix | And


class SearchMode(StrEnum):
    """How chunks are ranked."""

    SEMANTIC = "semantic"
    HYBRID = "hybrid"
    KEYWORD = "keyword"


MOST_OFFSET = 1000
"""Maximum offset: each page searches again for all hits before it; a narrower query is better."""


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """Ask for the best chunks.

    Attributes:
        text: the question, 1..2000 characters.
        limit: maximum number of hits, 1..100.
        mode: hybrid by default.
        weight: share of the dense leg in weighted rank fusion, 0..1; 1 is exactly the dense leg, 0 exactly the lexical
            leg; None lets the engine decide, which may blend scores, and puts hits first that the query names.
        filter: which chunks may be found, None for all.
        offset: hits to skip, 0..1000, to continue after a previous answer.
        fold: whether hits that repeat a better one are folded into it.
        per_document: maximum hits of one document, None for no limit.
        edition: which editions may be found: empty for the current ones, `all`, an edition ("2018", "Rev. 5"), or `as
            of` a date ("as of 2020-05").
        where: names and values that the documents' metadata must have; `tags` and `date` read more than one name.
        collections: those to search instead of the knowledge base's own; `*` for all that may be read.
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
    """A phrase of the question with its synonyms.

    Attributes:
        phrase: as the list of synonyms writes it.
        synonyms: other phrases, none of which is in the question.
    """

    phrase: str
    synonyms: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LegHit:
    """A chunk found by one leg; score is the leg's raw score (cosine, or BM25), larger is better."""

    chunk_id: str
    score: float


@dataclass(frozen=True, slots=True)
class LegResults:
    """What each leg of a store found, best first; equal scores are ordered by chunk id.

    Attributes:
        dense, lexical: None if the leg was not asked for.
        dense_error, lexical_error: why a leg that was asked for gave nothing; empty if it worked.
    """

    dense: tuple[LegHit, ...] | None
    lexical: tuple[LegHit, ...] | None
    dense_error: str = ""
    lexical_error: str = ""


@dataclass(frozen=True, slots=True)
class LegScore:
    """A hit's rank (from 1) and raw score in one leg."""

    rank: int
    score: float


@dataclass(frozen=True, slots=True)
class Hit:
    """A chunk with its score, its ranks and its citation.

    Attributes:
        chunk: the passage.
        score: 0..1.
        citation: as you would paste it: title, edition, clause and title, page; empty until the hit is to be shown.
        dense, lexical: rank and raw score in each leg, None if that leg did not find it.
        also_in: citations of hits with the same text that were folded into this one.
        collection: its collection, given if several were searched.
        record: of its document, from which the citation was made; None if it has just been deleted.
    """

    chunk: Chunk
    score: float
    citation: str = ""
    dense: LegScore | None = None
    lexical: LegScore | None = None
    also_in: tuple[str, ...] = ()
    collection: str = ""
    record: DocumentRecord | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class SearchAnswer:
    """The answer to a search.

    Attributes:
        hits: best first.
        mode: the mode that was actually used.
        searched_documents: documents in the collection.
        more: whether more hits follow, as far as the search looked.
        degraded: what failed and why, one sentence each; empty if all went well.
        answerability: estimated probability, 0..1, that one of the ten best hits answers the question; None if the kind
            of search or the embedding space is not one that it was calibrated for.
        also_asked: synonyms that were searched in addition, for words that the documents do not use.
        notes: facts about the answer that are not failures, one sentence each: no passage contains the quoted words
            together, or a word, or an identifier.
        editions: documents with other editions than the one that answered, one sentence each.
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
        """Return all notes as one text."""
        return " ".join(self.notes)


@dataclass(frozen=True, slots=True)
class DefinitionHit:
    """A definition with the chunk that contains it."""

    definition: Definition
    chunk: Chunk
    citation: str


@dataclass(frozen=True, slots=True)
class LookupAnswer:
    """The answer to a term look-up; `similar_terms` is filled only if nothing was found (clarification 3).

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
        offset: hits to skip, 0..1000.
    """

    topic: str
    standard: str | None = None
    limit: int = 10
    edition: str = ""
    offset: int = 0


@dataclass(frozen=True, slots=True)
class RequirementHit:
    """A mandatory statement with the chunk that contains it; score 0..1; `also_in` as in `Hit`."""

    statement: Statement
    chunk: Chunk
    score: float
    citation: str
    also_in: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RequirementAnswer:
    """The answer to a requirements query, best first; fields shared with `SearchAnswer` mean the same.

    Attributes:
        said: whether any hit, including its passage, contains a word of the topic; True without hits.
        more: whether more hits follow.
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
    """The state of one dependency: whether it is up, its response time, and its message."""

    up: bool
    latency_ms: int
    message: str


@dataclass(frozen=True, slots=True)
class HealthReport:
    """The state of every dependency at one moment (clarification 7)."""

    status: Literal["healthy", "degraded", "unhealthy"]
    vector_store: Check
    embedding_service: Check
    timestamp: str


@dataclass(frozen=True, slots=True)
class Stats:
    """What the knowledge base contains and runs on, and which other collections may be searched."""

    statistics: StoreStatistics
    documents: tuple[DocumentRecord, ...]
    backend: str
    status: Literal["healthy", "degraded", "unavailable"]
    hybrid_enabled: bool
    space: EmbeddingSpace
    notes: tuple[str, ...] = ()
    sources: tuple[SourceStatus, ...] = ()
    collections: tuple[str, ...] = ()
