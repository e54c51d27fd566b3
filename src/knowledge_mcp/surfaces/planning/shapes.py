"""Arguments of the planning tools: the specified ones by their names, and what is added."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from knowledge_mcp.engine.planning.values import PlanningIngestRequest, explain
from knowledge_mcp.model.errors import KnowledgeError
from knowledge_mcp.surfaces.answers import CUT_FROM, MAX_DETAILS, NOT_CUT, Truncation
from knowledge_mcp.surfaces.arguments import WHOLE, Question, Text, one_or_list
from knowledge_mcp.surfaces.contract import JobProgress, Request, Response

_TYPES = (
    "transport_assessment, design_access_statement, site_plan, floor_plan, elevation, planning_statement, "
    "environmental_statement, noise_assessment, flood_risk_assessment, ecology_report, heritage_statement, "
    "arboricultural_report, other"
)


_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


def _on_one_line(reference: str) -> str:
    if _CONTROL.search(reference.strip()):
        raise ValueError("contains a line break or another control character")
    return reference


ApplicationRef = Annotated[Text, Field(min_length=1, max_length=100), AfterValidator(_on_one_line)]
DocumentId = Annotated[Text, Field(min_length=1, max_length=200, description="Document id, e.g. 25_01178_REM_a1b2c3.")]
TypeName = Annotated[Text, Field(min_length=1, max_length=60, pattern=r"^[a-z0-9_]+$")]
DocumentTypes = Annotated[
    list[TypeName],
    one_or_list("types"),
    Field(min_length=1, max_length=50, description=f"Only documents of these types: {_TYPES}."),
]


class IngestDocumentRequest(Request):
    """Arguments of `ingest_document` (B-FR-001)."""

    SUBJECT = "file_path"

    file_path: Annotated[Text, Field(min_length=1, max_length=4096)] = Field(
        description="Absolute path of the file: PDF, image (.png, .jpg, .tiff, .bmp), or office, web or text document."
    )
    application_ref: ApplicationRef = Field(description="Planning application, e.g. 25/01178/REM.")
    document_type: TypeName | None = Field(
        default=None,
        description="Type of the document, e.g. transport_assessment. Default: detected from its name and text.",
    )
    wait: bool = Field(default=True, description="false returns a job_id at once; call ingest_status for the result.")
    force_ocr: bool = Field(default=False, description="Read every page by OCR, and read image-based documents too.")
    ocr_language: Annotated[str, Field(pattern=r"^[A-Za-z_]{3,20}(\+[A-Za-z_]{3,20}){0,4}$")] | None = Field(
        default=None, description="Languages of scanned pages, as Tesseract codes, e.g. eng or eng+cym."
    )

    def ingest_request(self) -> PlanningIngestRequest:
        """Return what is asked of the engine."""
        return PlanningIngestRequest(
            file_path=self.file_path,
            application_ref=self.application_ref.strip(),
            document_type=self.document_type,
            force_ocr=self.force_ocr,
            ocr_language=self.ocr_language,
        )


class PlanningSearchRequest(Request):
    """Arguments of `search_application_docs` (B-FR-002)."""

    SUBJECT = "query"
    FILTERS = frozenset({"application_ref", "document_types"})

    query: Question
    application_ref: ApplicationRef | None = Field(default=None, description="Only this application's documents.")
    document_types: DocumentTypes | None = None
    max_results: Annotated[int, Field(ge=1, le=100), WHOLE] = Field(
        default=10, description="Maximum number of results to return."
    )
    mode: Literal["hybrid", "semantic", "keyword"] = Field(
        default="hybrid", description="hybrid: by meaning and words; semantic: by meaning only; keyword: by words only."
    )


class DocumentTextRequest(Request):
    """Arguments of `get_document_text` (B-FR-003)."""

    SUBJECT = "document_id"

    document_id: DocumentId
    offset: Annotated[int, Field(ge=0, le=1_000_000_000), WHOLE] = Field(
        default=0, description="Start at this character."
    )
    max_chars: Annotated[int, Field(ge=1000, le=1_000_000), WHOLE] | None = Field(
        default=None, description="Return at most this many characters; continue at next_offset."
    )


class ListDocumentsRequest(Request):
    """Arguments of `list_ingested_documents` (B-FR-004)."""

    SUBJECT = "application_ref"

    application_ref: ApplicationRef = Field(description="Planning application, e.g. 25/01178/REM.")
    document_types: DocumentTypes | None = None
    name_contains: Annotated[Text, Field(min_length=1, max_length=200)] | None = Field(
        default=None, description="Only documents whose file name contains this text, ignoring case."
    )
    offset: Annotated[int, Field(ge=0, le=1_000_000), WHOLE] = Field(default=0, description="Skip this many documents.")
    limit: Annotated[int, Field(ge=1, le=1000), WHOLE] | None = Field(
        default=None, description="Maximum number of documents to return; continue at next_offset."
    )


class ListApplicationsRequest(Request):
    """Arguments of `list_applications`."""

    ref_contains: Annotated[Text, Field(min_length=1, max_length=100)] | None = Field(
        default=None, description="Only applications whose reference contains this text, ignoring case."
    )
    offset: Annotated[int, Field(ge=0, le=1_000_000), WHOLE] = Field(
        default=0, description="Skip this many applications."
    )
    limit: Annotated[int, Field(ge=1, le=1000), WHOLE] = Field(
        default=200, description="Maximum number of applications to return; continue at next_offset."
    )


class DeleteRequest(Request):
    """Arguments of `delete_document`."""

    SUBJECT = "document_id"

    document_id: DocumentId


class JobRequest(Request):
    """Arguments of `ingest_status` and `cancel_ingest`."""

    SUBJECT = "job_id"

    job_id: Annotated[Text, Field(min_length=1, max_length=64)] = Field(
        description="From ingest_document with wait=false."
    )


class ErrorAnswer(BaseModel):
    """Describe a failure to whoever asked."""

    model_config = ConfigDict(defer_build=True)

    status: Literal["error"]
    error_type: str = Field(
        description="file_not_found, unsupported_file_type, extraction_failed, no_content, no_chunks, "
        "document_not_found, job_not_found, path_not_allowed, cancelled, invalid_input, or the kind of "
        "internal failure."
    )
    message: str = Field(description="What went wrong, in one sentence.")
    suggestion: str = Field(default="", description="What to do next.")
    details: str = ""


def render_error(error: KnowledgeError) -> dict[str, Any]:
    """Convert an error to this surface's format; additional fields are present only if they have a value."""
    fields = explain(error) | ({"details": error.details} if error.details else {})
    return {name: value[:MAX_DETAILS] for name, value in fields.items()}


Method = Literal["text_layer", "ocr", "mixed"]


class PageRun(Response):
    """Result for consecutive pages with the same outcome."""

    first: int
    last: int
    method: str = Field(
        description="text_layer, ocr, blank, none if the page could not be read, skipped if the document was."
    )
    image_ratio: float = Field(default=0.0, description="Share of the page covered by images.")
    confidence: float = Field(default=0.0, description="Mean confidence of the OCR, 0 to 100.")
    drawing: bool = False
    reason: str = ""


class IngestDocumentResponse(Response):
    """Answer of `ingest_document`."""

    status: Literal["success", "already_ingested", "skipped", "accepted"]
    document_id: str = ""
    chunks_created: int = 0
    extraction_method: Method = "text_layer"
    contains_drawings: bool = False
    total_chars: int = 0
    total_words: int = 0
    reason: str = Field(default="", description="image_based: why it was skipped.")
    image_ratio: float = Field(default=0.0, description="Average share of the pages covered by images.")
    total_pages: int = 0
    message: str = ""
    job_id: str = Field(default="", description="With wait=false: pass it to ingest_status.")
    document_type: str = ""
    document_type_confidence: float = 0.0
    document_type_reason: str = ""
    pages: list[PageRun] = Field(default=[], description="Result for each page.")
    warnings: list[str] = Field(default=[], description="What is missing or doubtful.")
    replaced: list[str] = Field(default=[], description="Earlier versions that it replaced.")


class SearchResultMetadata(Response):
    """Where a passage comes from (B-FR-002)."""

    application_ref: str
    document_id: str
    source_file: str
    document_type: str
    page_numbers: str = Field(description="Pages, separated by commas.")
    chunk_index: int
    total_chunks: int
    extraction_method: Method
    char_count: int
    word_count: int


class PlanningSearchResult(Response):
    """One passage."""

    chunk_id: str
    text: str
    relevance_score: float = Field(
        ge=0.0, le=1.0, description="With mode=semantic the cosine of question and passage; otherwise words count too."
    )
    metadata: SearchResultMetadata
    cosine: float = Field(default=0.0, description="Cosine of question and passage, if it was found by meaning.")
    cut_from: str = Field(default="", description=CUT_FROM)


class PlanningSearchResponse(Response):
    """Answer of `search_application_docs`."""

    status: Literal["success"]
    query: str
    results_count: int
    results: list[PlanningSearchResult]
    message: str = Field(default="", description="Why there are no results, or a note on the results.")
    degraded: list[str] = Field(default=[], description="What failed, and why.")
    truncated: Truncation = NOT_CUT


class DocumentTextResponse(Response):
    """Answer of `get_document_text`."""

    status: Literal["success"]
    document_id: str
    file_path: str
    document_type: str
    chunk_count: int
    text: str = Field(description="Each passage once, in order.")
    total_chars: int = 0
    next_offset: int = Field(default=0, description="Offset of the next part, if the text was cut.")


class ApplicationDocument(Response):
    """One document of an application (B-FR-004)."""

    document_id: str
    file_path: str
    document_type: str
    chunk_count: int
    ingested_at: str = Field(description="ISO 8601.")
    extraction_method: Method
    contains_drawings: bool
    pages: int = 0
    status: str = Field(default="ready", description="partial if text is known to be missing.")
    warnings: list[str] = Field(default=[])


class ListedApplication(Response):
    """One application that has documents."""

    application_ref: str
    document_count: int
    last_ingested_at: str = Field(description="ISO 8601.")


class ListApplicationsResponse(Response):
    """Answer of `list_applications`."""

    status: Literal["success"]
    application_count: int = Field(description="Number of matching applications, including those not on this page.")
    applications: list[ListedApplication]
    next_offset: int = Field(default=0, description="Offset of the next part, if the list was cut.")
    truncated: Truncation = NOT_CUT


class ListDocumentsResponse(Response):
    """Answer of `list_ingested_documents`."""

    status: Literal["success"]
    application_ref: str
    document_count: int = Field(description="Number of matching documents, including those not on this page.")
    documents: list[ApplicationDocument]
    message: str = Field(default="", description="Why there are no documents.")
    next_offset: int = Field(default=0, description="Offset of the next part, if the list was cut.")
    truncated: Truncation = NOT_CUT


class DeleteResponse(Response):
    """Answer of `delete_document`."""

    status: Literal["success"]
    document_id: str
    chunks_deleted: int


class JobResponse(Response):
    """Answer of `ingest_status` and `cancel_ingest`."""

    status: Literal["success"]
    job_id: str
    state: Literal["queued", "running", "done", "failed", "cancelled"]
    progress: JobProgress
    file_path: str
    application_ref: str
    created_at: str
    updated_at: str
    result: IngestDocumentResponse | ErrorAnswer | None = Field(
        default=None, description="The answer of ingest_document, once the ingest is done or has failed."
    )
