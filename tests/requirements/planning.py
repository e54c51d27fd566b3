"""The requirements of B, the document store for planning applications."""

from __future__ import annotations

from tests.requirements.model import Priority, Requirement, Specification, Status, maker

_must = maker(Specification.PLANNING, Priority.MUST, Status.BUILT)
_nice = maker(Specification.PLANNING, Priority.NICE, Status.BUILT)

PLANNING: tuple[Requirement, ...] = (
    _must(
        "document-store-api:FR-001",
        "ingest_document takes a file for an application and says what became of it: success, known, skipped, error",
        "the file must lie under an allowed root, links resolved first",
    ),
    _must(
        "document-store-api:FR-002",
        "search_application_docs finds passages by meaning, within an application and document types if asked",
        "max(0, 1 - d/2) on squared distances of unit vectors is the cosine, and is computed so with mode=semantic; "
        "without it words count too, for meaning alone misses what a question names, and the cosine stands beside",
    ),
    _must(
        "document-store-api:FR-003",
        "get_document_text gives a document's whole text",
        "each passage once, in order: chunks joined by blank lines would repeat every overlap",
    ),
    _must("document-store-api:FR-004", "list_ingested_documents lists an application's documents, none being no error"),
    _must(
        "document-store-api:FR-005",
        "text comes from the text layer, else from OCR at 300 DPI; image-heavy files and renderings are distinguished",
        "liteparse and pypdfium2 instead of PyMuPDF; a scanned text document that reads well is read, not skipped "
        "(IMAGE_SKIP=strict for the letter of it), and vector drawings, unseen by the ratio, are found by their paths",
    ),
    _must(
        "document-store-api:FR-006",
        "text is split at 800 characters with 200 of overlap along nine separators, with the pages of each chunk",
        "our own splitter with the same separators, sizes and overlaps, compared with the library named in tests",
    ),
    _must(
        "document-store-api:FR-007",
        "all-MiniLM-L6-v2 embeds in batches, loaded on first use, refusing empty text, warning where it truncates",
        "onnxruntime with the same weights instead of sentence-transformers",
    ),
    _must(
        "document-store-api:FR-008",
        "chunks and a registry of documents are kept, with the ids and metadata given, and can be deleted",
        "any store of ours; where that is ChromaDB, application_docs and document_registry are as specified, a copy of "
        "what is visible in our own collections, for theirs have no room for a version that is being collected",
    ),
    _must(
        "document-store-api:FR-009",
        "one server offers SSE, Streamable HTTP and /health on port 3002",
        "without a key it binds 127.0.0.1; 0.0.0.0 without a key needs --allow-unauthenticated",
    ),
    _must(
        "document-store-api:FR-010",
        "a bearer token guards everything but /health, compared in constant time, refusals logged",
        "an unset key keeps authentication off, but then only on the loopback address",
    ),
    _must("document-store-api:NFR-001", "pages of poor OCR are warned of, and documents of images are not ingested"),
    _must("document-store-api:NFR-002", "the same file for the same application is ingested once"),
    _must("document-store-api:NFR-003", "the server lives within 2 GB"),
    _must(
        "document-store-api:NFR-004",
        "the same text has bit for bit the same vector",
        "which takes one text at a time: dynamic quantization scales over the whole batch",
    ),
    _nice(
        "document-store-api:NICE-classification", "a document's type is recognised by its file name and by its words"
    ),
    _nice("document-store-api:NICE-image_skip", "drawings and renderings are recognised and cost no time"),
    _must(
        "document-store-api:APP-environment",
        "five environment variables configure port, folder, OCR, key and image ratio",
    ),
    _must(
        "document-store-api:APP-document_types",
        "thirteen document types, by name first, then by content, else other",
        "forms, notices and what others say of an application are other by their names: a consultee's response on "
        "ecology is no ecology report of the applicant",
    ),
    _must("document-store-api:OUT-errors", "a tool's failure is an object with status, error_type and message"),
)
