"""Arguments of the planning tools: the specified ones by their names, and what is added."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from knowledge_mcp.engine.filing_values import FilingRequest
from knowledge_mcp.surfaces.arguments import WHOLE, Text, one_or_list
from knowledge_mcp.surfaces.contract import Request

__all__ = [
    "DeleteRequest",
    "DocumentTextRequest",
    "IngestRequest",
    "JobRequest",
    "ListRequest",
    "SearchRequest",
]

_TYPES = (
    "transport_assessment, design_access_statement, site_plan, floor_plan, elevation, planning_statement, "
    "environmental_statement, noise_assessment, flood_risk_assessment, ecology_report, heritage_statement, "
    "arboricultural_report, other"
)


ApplicationRef = Annotated[Text, Field(min_length=1, max_length=100)]
DocumentId = Annotated[Text, Field(min_length=1, max_length=200, description="Document id, e.g. 25_01178_REM_a1b2c3.")]
TypeName = Annotated[Text, Field(min_length=1, max_length=60, pattern=r"^[a-z0-9_]+$")]
DocumentTypes = Annotated[
    list[TypeName],
    one_or_list("types"),
    Field(min_length=1, max_length=50, description=f"Only documents of these types: {_TYPES}."),
]


class IngestRequest(Request):
    """Arguments of `ingest_document` (B-FR-001)."""

    file_path: Annotated[Text, Field(min_length=1, max_length=4096)] = Field(
        description="Absolute path of the file: .pdf, .png, .jpg, .jpeg, .tiff, .tif or .bmp."
    )
    application_ref: ApplicationRef = Field(description="Planning application, e.g. 25/01178/REM.")
    document_type: TypeName | None = Field(
        default=None,
        description="Type of the document, e.g. transport_assessment; where it is not given, name and words tell it.",
    )
    wait: bool = Field(
        default=True, description="false answers at once with a job_id; ask ingest_status what became of it."
    )
    force_ocr: bool = Field(
        default=False, description="Read every page by text recognition, and image-based documents too."
    )
    ocr_language: Annotated[str, Field(pattern=r"^[A-Za-z_]{3,20}(\+[A-Za-z_]{3,20}){0,4}$")] | None = Field(
        default=None, description="Languages of scanned pages as Tesseract names them, e.g. eng or eng+cym."
    )

    def filing(self) -> FilingRequest:
        """Return what is asked of the engine."""
        return FilingRequest(
            file_path=self.file_path,
            application_ref=self.application_ref.strip(),
            document_type=self.document_type,
            force_ocr=self.force_ocr,
            ocr_language=self.ocr_language,
        )

    def subject(self) -> str:
        """Return the path."""
        return self.file_path


class SearchRequest(Request):
    """Arguments of `search_application_docs` (B-FR-002)."""

    query: Annotated[Text, Field(min_length=1, max_length=2000)] = Field(
        description="What to find, as a question or in a few words."
    )
    application_ref: ApplicationRef | None = Field(default=None, description="Only this application's documents.")
    document_types: DocumentTypes | None = None
    max_results: Annotated[int, Field(ge=1, le=100), WHOLE] = Field(default=10, description="Most results to return.")

    def filters(self) -> dict[str, Any]:
        """List the filters that were given."""
        given: dict[str, Any] = {}
        if self.application_ref is not None:
            given["application_ref"] = self.application_ref
        if self.document_types is not None:
            given["document_types"] = list(self.document_types)
        return given

    def subject(self) -> str:
        """Return the query."""
        return self.query


class DocumentTextRequest(Request):
    """Arguments of `get_document_text` (B-FR-003)."""

    document_id: DocumentId
    offset: Annotated[int, Field(ge=0, le=1_000_000_000), WHOLE] = Field(
        default=0, description="Begin at this character."
    )
    max_chars: Annotated[int, Field(ge=1000, le=1_000_000), WHOLE] | None = Field(
        default=None, description="Return at most so many characters; next_offset tells where to go on."
    )

    def subject(self) -> str:
        """Return the id."""
        return self.document_id


class ListRequest(Request):
    """Arguments of `list_ingested_documents` (B-FR-004)."""

    application_ref: ApplicationRef = Field(description="Planning application, e.g. 25/01178/REM.")
    document_types: DocumentTypes | None = None
    name_contains: Annotated[Text, Field(min_length=1, max_length=200)] | None = Field(
        default=None, description="Only documents whose file name contains this, upper and lower case alike."
    )
    offset: Annotated[int, Field(ge=0, le=1_000_000), WHOLE] = Field(
        default=0, description="Leave out so many documents."
    )
    limit: Annotated[int, Field(ge=1, le=1000), WHOLE] | None = Field(
        default=None, description="Most documents to return; next_offset tells where to go on."
    )

    def subject(self) -> str:
        """Return the application."""
        return self.application_ref


class DeleteRequest(Request):
    """Arguments of `delete_document`."""

    document_id: DocumentId

    def subject(self) -> str:
        """Return the id."""
        return self.document_id


class JobRequest(Request):
    """Arguments of `ingest_status` and `cancel_ingest`."""

    job_id: Annotated[Text, Field(min_length=1, max_length=64)] = Field(
        description="As ingest_document gave it with wait=false."
    )

    def subject(self) -> str:
        """Return the id."""
        return self.job_id
