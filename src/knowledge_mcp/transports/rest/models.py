"""What clients send to the REST service: strict, no unknown field, with an example each."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from knowledge_mcp.model.chunk import ChunkType
from knowledge_mcp.model.library import COLLECTION_NAME, DEFAULT_COLLECTION, Deposit
from knowledge_mcp.model.query import Filter, SearchMode, SearchQuery
from knowledge_mcp.surfaces.arguments import WHOLE, WITHOUT_LOGIN, Text, as_text, combine_filters

MAX_PAIRS = 64
MAX_NAME = 100
MAX_VALUE = 10_000
MAX_OFFSET = 2**31 - 1
MAX_LIMIT = 1000


def _form(pattern: str, words: str) -> tuple[AfterValidator, Any]:
    """Require a whole text to match, and say so in words; only the schema has the expression."""
    expression = re.compile(pattern)

    def check(text: str) -> str:
        if expression.fullmatch(text) is None:
            raise ValueError(words)
        return text

    return AfterValidator(check), Field(json_schema_extra={"pattern": f"^{pattern}$"})


CollectionName = Annotated[
    str,
    *_form(COLLECTION_NAME, "must be 1 to 63 letters, digits, `.`, `_` and `-`"),
    Field(description="1 to 63 letters, digits, `.`, `_` and `-`."),
]
_Text = Annotated[str, Field(max_length=MAX_VALUE)]
_Real = Annotated[float, Field(allow_inf_nan=False)]
_Value = _Text | bool | int | _Real
_Ident = Annotated[str, Field(min_length=1, max_length=200)]
_Kind = Literal[
    "definition", "requirement", "recommendation", "guidance", "example", "figure", "table", "overview", "reference",
    "annex",
]  # fmt: skip
_Filename = Annotated[
    str,
    *_form(r"[^/\\\x00-\x1f]*", "must be a file name, without a folder"),
    Field(max_length=255, description="File name of the document, with extension."),
]
_Words = Annotated[Text, Field(min_length=1, json_schema_extra={"pattern": r"\S"})]
_PAIRS: dict[str, Any] = {"maxProperties": MAX_PAIRS, "propertyNames": {"minLength": 1, "maxLength": MAX_NAME}}


def _parse_switch(value: object) -> object:
    """Parse a boolean in a query or a form; leave anything except `true` and `false` to be refused."""
    return {"true": True, "false": False}.get(value, value) if isinstance(value, str) else value


_Switch = Annotated[Literal[True, False], BeforeValidator(_parse_switch), Field(json_schema_extra={"type": "boolean"})]


class _Strict(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, hide_input_in_errors=True)


class Metadata(BaseModel):
    """Flat pairs to store with the document: texts, numbers, true or false.

    `source` is where the document came from, `title` its title.
    """

    model_config = ConfigDict(
        strict=True, extra="allow", frozen=True, hide_input_in_errors=True,
        json_schema_extra={**_PAIRS, "examples": [{"source": "https://wiki.example.com/x", "author": "Ada"}]},
    )  # fmt: skip
    __pydantic_extra__: dict[Annotated[str, Field(min_length=1, max_length=MAX_NAME)], _Value] = Field(init=False)  # pyright: ignore[reportIncompatibleVariableOverride] - pydantic's own way of typing extra fields

    def pairs(self) -> tuple[tuple[str, str], ...]:
        """Return the pairs as text; true and false in lower case.

        Raises:
            ValueError: there are too many.
        """
        if len(self.__pydantic_extra__) > MAX_PAIRS:
            raise ValueError(f"at most {MAX_PAIRS} pairs are allowed")
        return tuple((name, as_text(value)) for name, value in self.__pydantic_extra__.items())


class UrlMetadata(Metadata):
    """Metadata of an address: the file name to use, and any flat pairs."""

    model_config = ConfigDict(json_schema_extra={**_PAIRS, "examples": [{"filename": "guide.pdf", "team": "ops"}]})
    filename: _Filename | None = None


class IngestMetadata(Metadata):
    """Metadata of a text: its file name, its collection, and any flat pairs."""

    model_config = ConfigDict(
        json_schema_extra={
            **_PAIRS,
            "examples": [{"filename": "deploy.md", "collection": "project-alpha", "author": "Ada", "reviewed": True}],
        }
    )
    filename: _Filename | None = None
    collection: CollectionName = DEFAULT_COLLECTION


_Wait = Annotated[
    bool,
    Field(description="Whether to respond only when the document is searchable; otherwise respond at once with a job."),
]
_Force = Annotated[bool, Field(description="Read and embed again even if nothing changed.")]


class IngestRequest(_Strict):
    """A text or Markdown to ingest; a line `<!-- page 3 -->` says that what follows is on page 3."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "text": "# Deploying\n\nRoll out one replica at a time.",
                    "metadata": {"filename": "deploy.md", "collection": "project-alpha"},
                }
            ]
        }
    )
    text: _Words
    metadata: IngestMetadata = IngestMetadata()
    wait: _Wait = True
    force: _Force = False

    def deposit(self) -> Deposit:
        """Build the library's input."""
        about = self.metadata
        return Deposit(about.collection, about.filename or "", text=self.text, metadata=about.pairs(), force=self.force)


class IngestUrlRequest(_Strict):
    """An https address to fetch and ingest."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"url": "https://docs.example.com/guide.pdf", "collection": "default"}]}
    )
    url: Annotated[
        str,
        Field(max_length=2000),
        *_form(
            r"https://[^\s\x00-\x20]+", "must be an https address without blanks, such as https://example.com/doc.pdf"
        ),
        WITHOUT_LOGIN,
    ]
    collection: CollectionName = DEFAULT_COLLECTION
    metadata: UrlMetadata = UrlMetadata()
    wait: _Wait = True
    force: _Force = False

    def deposit(self) -> Deposit:
        """Build the library's input."""
        about = self.metadata
        return Deposit(self.collection, about.filename or "", url=self.url, metadata=about.pairs(), force=self.force)


class UploadFields(_Strict):
    """The fields of an upload in addition to the file."""

    collection: CollectionName = DEFAULT_COLLECTION
    metadata: Annotated[str, Field(max_length=1_000_000, description="A JSON object of flat pairs.")] = ""
    wait: _Switch = True
    force: _Switch = False


class SearchFilters(_Strict):
    """Which passages to search; all given conditions must match."""

    document_id: Annotated[_Ident | list[_Ident], Field(description="One id, or a list of ids.")] | None = None
    document_type: Annotated[str, Field(min_length=1, max_length=100)] | None = None
    chunk_type: _Kind | None = None
    normative: bool | None = None
    clause_number: (
        Annotated[str, Field(min_length=1, max_length=100, description="`5.3` finds 5.3, 5.3.1 …")] | None
    ) = None

    def filter(self) -> Filter | None:
        """Build the engine's filter; None if no condition is given."""
        ids = [self.document_id] if isinstance(self.document_id, str) else self.document_id
        return combine_filters(
            document_ids=ids,
            document_type=self.document_type,
            chunk_type=None if self.chunk_type is None else ChunkType(self.chunk_type),
            normative=self.normative,
            clause_number=self.clause_number,
        )


class SearchRequest(_Strict):
    """A question to one collection, or to all."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"query": "authentication approach", "collection": "default", "top_k": 5},
                {"query": "roll out", "mode": "keyword", "min_score": 0.2, "filters": {"normative": True}},
            ]
        }
    )
    query: Annotated[_Words, Field(max_length=2000)]
    collection: CollectionName = DEFAULT_COLLECTION
    top_k: Annotated[int, Field(ge=1, le=50), WHOLE] = 5
    mode: Annotated[
        Literal["hybrid", "semantic", "keyword"],
        Field(description="hybrid: by meaning and words; semantic: by meaning only; keyword: by words only."),
    ] = "hybrid"
    weight: (
        Annotated[float, Field(ge=0, le=1, description="Weight of meaning in rank fusion. Default: see HYBRID_FUSION.")]
        | None
    ) = None
    min_score: Annotated[float, Field(ge=0, le=1, description="Results below this score are omitted and counted.")] = (
        0.0
    )
    filters: SearchFilters | None = None
    everywhere: Annotated[
        bool, Field(description="Search all collections that the key may read; `collection` is ignored.")
    ] = False
    fold: Annotated[bool, Field(description="Merge results that repeat a better one into it, as `also_in`.")] = True

    def search(self) -> SearchQuery:
        """Build the engine's question."""
        condition = self.filters.filter() if self.filters is not None else None
        return SearchQuery(self.query, self.top_k, SearchMode(self.mode), self.weight, condition, fold=self.fold)


class PageQuery(BaseModel):
    """Which part of a list to return."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)
    limit: Annotated[int, Field(ge=1, le=MAX_LIMIT)] = 100
    offset: Annotated[int, Field(ge=0, le=MAX_OFFSET)] = 0


class DocumentsQuery(PageQuery):
    """Which documents of which collection to list."""

    collection: CollectionName = DEFAULT_COLLECTION
    name_contains: Annotated[
        str, Field(max_length=200, description="Part of the title, file name or source, ignoring case.")
    ] = ""


class DocumentQuery(BaseModel):
    """How much of a document to return: all passages unless a part is requested; the text only if requested."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)
    limit: Annotated[int, Field(ge=1, le=MAX_OFFSET)] | None = None
    offset: Annotated[int, Field(ge=0, le=MAX_OFFSET)] = 0
    text: _Switch = False
