"""The convert tools: from a request to the service where files are converted, and back to an answer."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from knowledge_mcp.engine.convert.conversion import ConversionService
from knowledge_mcp.model.call import Call
from knowledge_mcp.model.errors import CancelledError, InvalidInputError
from knowledge_mcp.model.library import COLLECTION_NAME, DEFAULT_COLLECTION
from knowledge_mcp.surfaces.arguments import WHOLE, Text
from knowledge_mcp.surfaces.contract import Request, Response, Surface, Tool
from knowledge_mcp.surfaces.following import follow

Uri = Annotated[
    Text,
    Field(min_length=1, max_length=4096, description="The file, as file:///path/to/document.pdf or its absolute path."),
]


class ConvertRequest(Request):
    """Arguments of `convert_to_text` (D-REQ-1)."""

    SUBJECT = "uri"
    FILTERS = frozenset({"pages"})

    uri: Uri
    pages: Annotated[str, Field(pattern=r"^[1-9]\d{0,5}(-[1-9]\d{0,5})?$")] | None = Field(
        default=None, description="Only these pages or slides, e.g. 12 or 12-20; omit for all."
    )
    offset: Annotated[int, Field(ge=0, le=1_000_000_000), WHOLE] = Field(
        default=0, description="Start at this character of the text."
    )
    max_chars: Annotated[int, Field(ge=1000, le=1_000_000), WHOLE] | None = Field(
        default=None, description="Return at most this many characters; continue at next_offset."
    )

    def page_range(self) -> tuple[int, int] | None:
        """Return first and last page, None for all.

        Raises:
            InvalidInputError: the last comes before the first.
        """
        if self.pages is None:
            return None
        first, _, last = self.pages.partition("-")
        found = (int(first), int(last or first))
        if found[1] < found[0]:
            raise InvalidInputError(f"The last page is before the first: {self.pages}", suggestion="Write 12-20.")
        return found


class ConvertAndIngestRequest(Request):
    """Arguments of `convert_and_ingest` (D-REQ-1A)."""

    SUBJECT = "uri"

    uri: Uri
    collection: Annotated[str, Field(pattern=f"^{COLLECTION_NAME}$")] = Field(
        default=DEFAULT_COLLECTION, description="Collection to add the document to; it is created if it does not exist."
    )
    force: bool = Field(default=False, description="Ingest again even if the document is unchanged.")

    def filters(self) -> dict[str, Any]:
        """List the collection."""
        return {"collection": self.collection}


class ConvertResponse(Response):
    """Answer of `convert_to_text`."""

    status: Literal["converted"]
    text: str = Field(description="Markdown; a line `<!-- page 3 -->` precedes the content of page or slide 3.")
    title: str
    filename: str
    media_type: str
    pages: int = Field(default=0, description="Pages or slides of the whole document; absent if it has none.")
    total_chars: int = Field(description="Characters of the whole text, or of the requested pages.")
    next_offset: int = Field(default=0, description="Offset of the next part; absent at the end.")
    metadata: dict[str, str] = Field(default={}, description="The document's own metadata.")
    warnings: list[str] = Field(default=[], description="What is missing or doubtful.")


class ConvertAndIngestResponse(Response):
    """Answer of `convert_and_ingest` (D-REQ-1A)."""

    status: Literal["ingested"]
    doc_id: str = Field(description="Pass it to get_document of the remote RAG server.")
    chunks: int = Field(description="Number of passages that can be found.")
    collection: str
    title: str
    source: str
    pages: int = Field(default=0, description="Pages or slides; absent if the document has none.")
    unchanged: bool = Field(default=False, description="The same document had already been ingested.")
    replaced: bool = Field(default=False, description="An earlier version of it was replaced.")
    warnings: list[str] = Field(default=[], description="What is missing or doubtful.")


def convert_to_text(service: ConversionService, request: ConvertRequest, call: Call | None = None) -> ConvertResponse:
    """Answer `convert_to_text`."""
    pages = request.page_range()
    converted = follow(
        lambda report, cancelled: service.convert(request.uri, pages=pages, on_progress=report, cancelled=cancelled),
        call or Call(),
        give_up=_cancelled,
    )
    text = converted.text
    if request.offset >= len(text):
        raise InvalidInputError(
            f"The text has only {len(text)} characters; offset {request.offset} is beyond its end.",
            suggestion="Start at next_offset of the previous answer, or at 0.",
        )
    end = len(text) if request.max_chars is None else request.offset + request.max_chars
    return ConvertResponse.of(
        converted,
        status="converted",
        text=text[request.offset : end],
        total_chars=len(text),
        next_offset=end if end < len(text) else 0,
        metadata=dict(converted.metadata),
    ).made_from([request.uri])


def convert_and_ingest(
    service: ConversionService, request: ConvertAndIngestRequest, call: Call | None = None
) -> ConvertAndIngestResponse:
    """Answer `convert_and_ingest`."""
    deposited = follow(
        lambda report, cancelled: service.convert_and_ingest(
            request.uri, request.collection, force=request.force, on_progress=report, cancelled=cancelled
        ),
        call or Call(),
        give_up=_cancelled,
    )
    return ConvertAndIngestResponse.of(deposited, status="ingested", doc_id=deposited.document_id)


def _cancelled() -> CancelledError:
    return CancelledError("The conversion was cancelled.")


TOOLS = (
    Tool(
        "convert_to_text",
        "Convert a file to text",
        "Convert a file on this machine to Markdown: PDF, DOCX, PPTX, XLSX, images (by OCR), HTML, CSV, JSON, XML "
        "and more. Headings, lists and tables are kept, and a line `<!-- page 3 -->` precedes the content of page "
        "or slide 3. Nothing is uploaded or indexed. For a long document, pass pages, or pass max_chars and "
        "continue at next_offset.",
        convert_to_text,
    ),
    Tool(
        "convert_and_ingest",
        "Convert a file and ingest it",
        "Convert a file on this machine to text locally, and send the text to the RAG API, which makes it "
        "searchable in the collection. Ingesting an unchanged file again changes nothing; a changed file replaces "
        "its earlier version. Needs RAG_API_URL and RAG_API_KEY.",
        convert_and_ingest,
        writes=True,
    ),
)
"""All tools of the surface, in the order in which they are listed."""

SURFACE = Surface(
    name="convert",
    instructions=(
        "Converts documents on this machine to text. Use convert_to_text to read a file (PDF, Word, PowerPoint, "
        "Excel, images, HTML, CSV, JSON, XML, Markdown) as Markdown; lines `<!-- page 3 -->` mark where a page "
        "begins, so that you can cite it. Use convert_and_ingest to convert a file and send its text to the RAG "
        "API, where it becomes searchable. Nothing is indexed or searched here; use the tool search of the remote "
        "RAG server."
    ),
    tools=TOOLS,
)
