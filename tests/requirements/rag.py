"""The requirements of D, the enterprise RAG architecture: `D-REQ-3.2` is the second acceptance criterion of REQ-3."""

from __future__ import annotations

from tests.requirements.model import Priority, Requirement, Specification, Status, maker

_must = maker(Specification.RAG, Priority.MUST, Status.BUILT)

_CONVERSION = (
    _must(
        "D-REQ-1.1",
        "convert_to_text converts the file behind a uri by MarkItDown",
        "PPTX by MarkItDown; the others by our own readers, which lose less",
    ),
    _must("D-REQ-1.2", "a conversion returns the text"),
    _must("D-REQ-1.3", "a failed conversion says why", "an empty conversion is a failure too"),
    _must("D-REQ-1.4", "PDF, DOCX, PPTX, XLSX, images by OCR, HTML, CSV, JSON and XML can be converted"),
    _must("D-REQ-1.5", "the local surface converts only: it neither indexes nor searches"),
    _must("D-REQ-1A.1", "convert_and_ingest converts the file first"),
    _must("D-REQ-1A.2", "the text goes to the API's /ingest, with its metadata"),
    _must("D-REQ-1A.3", "it answers ingested, the document's id and the number of chunks"),
    _must("D-REQ-1A.4", "a failed remote ingestion says why"),
    _must("D-REQ-1A.5", "the API's address and key come from RAG_API_URL and RAG_API_KEY"),
    _must("D-REQ-1A.6", "the local surface speaks to the API, never to the remote MCP server"),
)

_INGESTION = (
    _must("D-REQ-2.1", "ingest_url calls the API's /ingest_url"),
    _must(
        "D-REQ-2.2",
        "the API fetches, converts, chunks, embeds and stores what a URL names",
        "https only; every address and redirect is checked against private, loopback, link-local and metadata ranges; "
        "any store of ours, Qdrant being one",
    ),
    _must("D-REQ-2.3", "it answers ingested, the document's id and the number of chunks"),
    _must("D-REQ-2.4", "a URL that cannot be had gives a clear error"),
    _must("D-REQ-2.5", "what the local surface converts, the API ingests too"),
    _must("D-REQ-2.6", "the remote MCP server is a wrapper of the API"),
)

_SEARCH = (
    _must("D-REQ-3.1", "search calls the API's /search"),
    _must(
        "D-REQ-3.2",
        "the API embeds the question by Azure OpenAI and searches Qdrant",
        "by the collection's own embedding space and store, which these are where they are configured",
    ),
    _must("D-REQ-3.3", "top_k results come with text, score, source and page"),
    _must("D-REQ-3.4", "top_k is 5 by default, and at most 50"),
    _must("D-REQ-3.5", "nothing found is an empty array"),
    _must("D-REQ-3.6", "the local surface does not search"),
    _must("D-REQ-3.7", "search is a wrapper of the API's endpoint"),
)

_COLLECTIONS = (
    _must("D-REQ-4.1", "a document goes into the collection that its ingestion names"),
    _must("D-REQ-4.2", "list_collections names all collections with their number of documents"),
    _must("D-REQ-4.3", "a search stays within its collection"),
    _must("D-REQ-4.4", "there is a collection named default"),
    _must("D-REQ-4.5", "the collections' tools are wrappers of the API's endpoints"),
    _must("D-REQ-5.1", "get_document calls the API's /documents/{doc_id}"),
    _must(
        "D-REQ-5.2",
        "a document comes whole: chunks, metadata and source",
        "its text is the canonical one, each passage once, in order",
    ),
    _must("D-REQ-5.3", "an unknown id is a document not found"),
    _must("D-REQ-5.4", "get_document is a wrapper of the API's endpoint"),
)

_AUTHENTICATION = (
    _must("D-REQ-6.1", "no key: 401"),
    _must("D-REQ-6.2", "a wrong key: 403"),
    _must("D-REQ-6.3", "the right key: the request is served"),
    _must("D-REQ-6.4", "the local surface sends RAG_API_KEY as a bearer token"),
    _must("D-REQ-6.5", "the remote MCP server sends RAG_API_KEY as a bearer token"),
    _must("D-REQ-6.6", "both are authenticated by one mechanism"),
)

_EMBEDDING = (
    _must("D-REQ-7.1", "text is chunked with its context"),
    _must(
        "D-REQ-7.2",
        "each chunk is embedded by Azure OpenAI",
        "azure where its endpoint is set, else openai with a key, else the local model; the choice is logged and shown",
    ),
    _must("D-REQ-7.3", "vectors are stored in Qdrant with text and metadata", "in any store of ours, Qdrant being one"),
    _must("D-REQ-7.4", "each chunk keeps file name, page and collection"),
)

_OPERATION = (
    _must("D-REQ-8.1", "there are OpenShift manifests that deploy the server"),
    _must("D-REQ-8.2", "there are a Service and a Route"),
    _must("D-REQ-8.3", "a ConfigMap configures addresses and endpoints"),
    _must("D-REQ-8.4", "a Secret holds the keys"),
    _must("D-REQ-8.5", "deployed, it connects to the configured Qdrant"),
    _must("D-REQ-9.1", "a failure says what failed and why"),
    _must("D-REQ-9.2", "ingestions are logged with id, size, collection and time"),
    _must("D-REQ-9.3", "searches are logged with query, collection, number of results and latency"),
    _must("D-REQ-9.4", "refused keys are logged"),
    _must("D-REQ-9.5", "failures of conversion, embedding and storage are logged"),
    _must("D-REQ-10.1", "the local surface reads RAG_API_URL and RAG_API_KEY"),
    _must("D-REQ-10.2", "the remote MCP server reads RAG_API_URL and RAG_API_KEY"),
    _must("D-REQ-10.3", "the API reads QDRANT_URL"),
    _must("D-REQ-10.4", "the API reads QDRANT_API_KEY"),
    _must("D-REQ-10.5", "the API reads AZURE_OPENAI_ENDPOINT"),
    _must("D-REQ-10.6", "the API reads AZURE_OPENAI_KEY"),
    _must("D-REQ-10.7", "the API reads AZURE_OPENAI_EMBEDDING_DEPLOYMENT"),
)

_ENDPOINTS = (
    _must("D-REQ-11.1", "POST /ingest takes text and metadata, answers status, doc_id and chunks"),
    _must("D-REQ-11.2", "POST /ingest_url takes a URL and a collection, answers the same"),
    _must("D-REQ-11.3", "POST /search takes query, collection and top_k, answers results"),
    _must("D-REQ-11.4", "GET /collections answers names and numbers of documents"),
    _must("D-REQ-11.5", "GET /documents/{doc_id} answers chunks and source"),
    _must("D-REQ-11.6", "GET /health answers healthy and the version"),
    _must("D-REQ-11.7", "everything but /health needs the bearer token"),
    _must("D-REQ-11.8", "a missing token is 401, a wrong one 403"),
    _must("D-REQ-11.9", "errors are JSON with error, detail and status_code"),
    _must("D-REQ-11.10", "requests and errors are logged"),
)

_SCALE = (
    _must("D-SCALE-corpus", "10,000 documents of 30 to 40 pages are served"),
    _must("D-SCALE-ingestion", "100 documents a day are ingested"),
    _must("D-SCALE-users", "10 users search at once"),
    _must("D-SCALE-queries", "1,000 searches a day are answered"),
)

RAG: tuple[Requirement, ...] = (
    *_CONVERSION,
    *_INGESTION,
    *_SEARCH,
    *_COLLECTIONS,
    *_AUTHENTICATION,
    *_EMBEDDING,
    *_OPERATION,
    *_ENDPOINTS,
    *_SCALE,
)
