"""The requirements of A, the standards knowledge server, and of its clarifications."""

from __future__ import annotations

from tests.requirements.model import Priority, Requirement, Specification, Status, maker

_must = maker(Specification.STANDARDS, Priority.MUST, Status.BUILT)
_should = maker(Specification.STANDARDS, Priority.SHOULD, Status.BUILT)
_clarified = maker(Specification.CLARIFICATIONS, Priority.MUST, Status.BUILT)

STANDARDS: tuple[Requirement, ...] = (
    _must(
        "A-REQ-TOOL-001",
        "knowledge_search finds passages for a question, with filters, a hybrid weight and a cited source for each",
        "adds optional document_id and clause_number, since A-REQ-SEARCH-003 filters by them",
    ),
    _must(
        "A-REQ-TOOL-002",
        "knowledge_lookup gives the definitions of a term, or says that there is none and what is near",
    ),
    _must(
        "A-REQ-TOOL-003",
        "knowledge_requirements gives requirements on a topic, each with its clause, of one standard if asked",
    ),
    _must("A-REQ-TOOL-004", "knowledge_keyword_search finds passages by their very words"),
    _must(
        "A-REQ-TOOL-005",
        "knowledge_stats counts chunks, documents, tokens and bytes, and names the store and the embedding model",
        "vector_store.backend may say sqlite besides qdrant and chromadb: it names the store that is really used",
    ),
    _should("A-REQ-TOOL-006", "knowledge_health measures the store and the embedding service and judges the whole"),
    _must("A-REQ-INGEST-001", "PDF of up to 1000 pages, DOCX, and Markdown with YAML front matter can be ingested"),
    _must(
        "A-REQ-INGEST-002",
        "each format yields text, sections, tables, captions, references, clause numbers; PDF its pages",
    ),
    _must(
        "A-REQ-INGEST-003",
        "structure survives: six levels, clause numbers, normative or not, kinds of passage, cross-references",
        "a chunk never spans two numbered clauses, so that evidence has the grain of the clause",
    ),
    _must(
        "A-REQ-INGEST-004", "every chunk carries the ten metadata fields, the optional ones where the document has them"
    ),
    _must(
        "A-REQ-INGEST-005",
        "chunks keep to a minimum, a maximum and an overlap of tokens, each configurable within its bounds",
        "the section outranks the minimum, which governs splits and what stands under headings that are only guessed; "
        "the maximum is also capped by what the embedding model reads, with a line in the log",
    ),
    _should(
        "A-REQ-INGEST-006",
        "content is hashed, replaced by document on --force, and equal content elsewhere is warned of",
    ),
    _must("A-REQ-SEARCH-001", "dense search embeds the question and ranks by cosine, with filters"),
    _must(
        "A-REQ-SEARCH-002",
        "hybrid search fuses dense and BM25 by weighted reciprocal ranks, k = 60, 70 to 30 by default",
        "where no weight is named, scores are blended, which is ahead of ranks on all public sets but one, and never "
        "behind words alone (HYBRID_FUSION=ranks has the specified default); the fused score is divided by its maximum "
        "so that it lies in 0..1; raw scores and ranks are given with detail=full",
    ),
    _must(
        "A-REQ-SEARCH-003",
        "results can be filtered by document, document type, chunk type, normative and clause prefix",
    ),
    _must(
        "A-REQ-CLI-001",
        "knowledge-ingest takes a file or folder with five options, shows progress, sums up, exits 0 to 3",
    ),
    _must(
        "A-REQ-CLI-002",
        "knowledge-mcp starts the server on the transport and log level asked for",
        "exits 3 on a configuration or connection error (A-REQ-REL-003 and clarification 5 ask for it), 1 on any other "
        "failure to start; --transport also knows http",
    ),
    _must(
        "A-REQ-DATA-001",
        "a chunk has the twenty fields of the schema",
        "the UUID is derived from document, place and content, so that ingesting the same bytes again changes nothing; "
        "model and times, which all chunks of an ingest share, stand once on their document's record",
    ),
    _must("A-REQ-DATA-002", "a chunk is of one of ten types"),
    _must("A-REQ-DATA-003", "a document is of one of seven types"),
    _must("A-REQ-DATA-004", "an error has one of eight codes"),
    _must(
        "A-REQ-DATA-005",
        "a chunk is normative by its words and by the part of the document that it stands in",
        "true when a mandatory statement stands in it outside notes, examples and informative parts, whatever else it "
        "says; the modality of each statement is kept",
    ),
    _must("A-REQ-IF-001", "the server speaks MCP over stdio, and over SSE, with full schemas and handled errors"),
    _must(
        "A-REQ-IF-002",
        "OpenAI embeddings with a configurable model, dimensions and batch size",
        "OPENAI_API_KEY is required once the provider is openai; without one the local model is used, and said",
    ),
    _must(
        "A-REQ-IF-003",
        "Qdrant as the first and ChromaDB as the second store, chosen by VECTOR_STORE",
        "with nothing configured the embedded default is SQLite: embedded Chroma is unsafe with two writers",
    ),
    _must(
        "A-REQ-IF-004", "files are read by absolute or relative path, and an inaccessible one is reported, not fatal"
    ),
    _should("A-REQ-PERF-001", "searches, look-ups and statistics answer within their target times"),
    _should("A-REQ-PERF-002", "100 pages take less than 2 minutes to ingest, 500 less than 10, 1000 less than 20"),
    _must("A-REQ-PERF-003", "ingestion goes by page or section and stays below 500 MB at its peak"),
    _must("A-REQ-REL-001", "every error is an object with code, message, details, recoverable and suggestion"),
    _must(
        "A-REQ-REL-002",
        "a failed external request is made again after 1, 2 and 4 seconds, if the failure may pass",
        "three pauses are three retries; a model that several sources have is asked of all of them before each pause; "
        "the model hub's client retries by itself",
    ),
    _must(
        "A-REQ-REL-003", "the configuration is checked at start, all its errors are reported together, and it exits 3"
    ),
    _must("A-REQ-MAINT-001", "six events are logged at their levels, as text or JSON"),
    _must(
        "A-REQ-MAINT-002",
        "fourteen environment variables configure the server, with the defaults given",
        "the defaults of store and embedding follow what is configured, and need neither a server nor a key",
    ),
    _must(
        "A-REQ-TEST-001",
        "line, branch and function coverage are measured and held",
        "the targets (90, 85 and 95 %) are our minimum",
    ),
    _must("A-REQ-TEST-002", "Pyright strict finds nothing"),
    _must("A-REQ-TEST-003", "Ruff finds nothing"),
    _must(
        "A-REQ-CONFIG-001",
        ".env is found upwards from the working directory, the environment wins, a template is there",
    ),
)

CLARIFICATIONS: tuple[Requirement, ...] = (
    _clarified(
        "CLARIFY-001",
        "corrupted, encrypted, protected and empty files pause the ingestion: go on without them, or abort",
        "all files are checked before the first embedding; without a terminal --on-error decides (default: continue)",
    ),
    _clarified("CLARIFY-002", "each failure of OpenAI's service has its code and its action, and no local fallback"),
    _clarified(
        "CLARIFY-003",
        "similar terms are found by meaning, then by an edit distance of at most two",
        "the set is as the algorithm says, the order as its example shows: misspellings first, then by score",
    ),
    _clarified(
        "CLARIFY-004", "deeper than six levels the hierarchy is cut and logged, the clause number is kept whole"
    ),
    _clarified(
        "CLARIFY-005",
        "an unreachable Qdrant falls back to ChromaDB with a warning; without either the start fails with 3",
        "while ChromaDB stands in, stats and health say degraded and why; only at start, never in the middle of a run",
    ),
    _clarified(
        "CLARIFY-006",
        "a failed ingestion can be run again with --force and says how far it came",
        "a document's new chunks become visible in one step; until then the old version stays whole",
    ),
    _clarified("CLARIFY-007", "health is judged by a latency threshold of 500 ms, configurable"),
)
