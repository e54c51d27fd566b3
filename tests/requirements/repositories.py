"""The requirements of C, the personal knowledge server: it numbers none, so an id is its section and a name of ours."""

from __future__ import annotations

from tests.requirements.model import Priority, Specification, Status, maker

_must = maker(Specification.REPOSITORIES, Priority.MUST, Status.BUILT)
_should = maker(Specification.REPOSITORIES, Priority.SHOULD, Status.BUILT)
_nice = maker(Specification.REPOSITORIES, Priority.NICE, Status.BUILT)

_TOOLS = (
    _must("C-2.3-query_flow", "a call is checked, embedded, searched, ranked, formatted and answered"),
    _must("C-2.4-index_flow", "a repository is cloned, scanned, chunked, embedded, stored and registered"),
    _must("C-3.1-server_info", "the server announces its name, its version and that it has tools"),
    _must("C-3.2-semantic_search", "semantic_search finds code for a question in words"),
    _must("C-3.2-query", "the query has 1 to 1000 characters and is required"),
    _must("C-3.2-limit", "limit is 1 to 50, 10 by default"),
    _must(
        "C-3.2-threshold",
        "threshold is 0 to 1, 0.7 by default",
        "calibrated for each known model, so that the default costs little recall; the answer counts what it removed",
    ),
    _must("C-3.2-repository", "repository narrows the search to one, else all are searched"),
    _must("C-3.2-result", "a result names file, repository, snippet, similarity, chunk index and file metadata"),
    _must("C-3.2-snippet", "a snippet is cut at about 500 characters"),
    _must(
        "C-3.2-metadata",
        "the answer tells total matches, time taken and the repositories searched",
        "total_matches counts what lies above the threshold among the candidates read",
    ),
    _must("C-3.2-text", "the answer is JSON in the text of the first content"),
    _must("C-3.3-list_indexed_repositories", "list_indexed_repositories lists all, and takes nothing"),
    _must("C-3.3-repository_info", "each has name, URL, counts, time of indexing, status, duration and error"),
    _must("C-3.3-summary", "a summary adds up repositories, files and chunks"),
)

_INTERFACES = (
    _must("C-4.1-identity", "an embedding provider tells its id, its model and its dimensions"),
    _must("C-4.1-one", "one text can be embedded, cut where the model reads no further"),
    _must("C-4.1-many", "many texts are embedded in batches and come back in order"),
    _must("C-4.1-health", "a provider can be asked whether it is configured and reachable"),
    _should(
        "C-4.1-configuration",
        "provider, model, key, address, batch size, retries and timeout are configurable",
        "the providers are local, openai and azure",
    ),
    _must("C-4.2-connect", "a store is connected to, and its health can be asked"),
    _must("C-4.2-collections", "collections are made, listed and deleted"),
    _must("C-4.2-add", "documents are added with vector and metadata"),
    _must("C-4.2-search", "one search covers several collections, with a limit and a threshold"),
    _must("C-4.2-stats", "a collection tells its size and when it was made"),
    _must("C-4.3-search", "a search service answers a query with results and metadata"),
    _must("C-4.4-index", "a repository is indexed from its URL"),
    _must("C-4.4-reindex", "a repository is re-indexed"),
    _must("C-4.4-remove", "a repository is removed from the index"),
    _must("C-4.4-status", "the progress of a running indexing can be asked"),
    _must("C-4.4-options", "name, branch, depth, extensions and excludes can be chosen"),
    _must("C-4.4-result", "an indexing tells success, partial or failed, the counts, the duration and the errors"),
    _must("C-4.5-repositories", "repositories are listed, got, updated and removed"),
)

_DATA = (
    _must("C-5.1-collection_name", "each repository has its collection, repo_ and its sanitized name"),
    _must(
        "C-5.1-chunk_id",
        "a chunk's id is repository, path and index",
        "inside it is a UUID derived from content and place",
    ),
    _must("C-5.1-metadata", "a chunk carries file, lines, size, hash and times"),
    _must(
        "C-5.2-repositories_json",
        "repositories.json holds what is known of each repository",
        "the store is the truth; the file mirrors it",
    ),
    _must("C-5.2-settings", "a repository keeps the branch, extensions and excludes that it was indexed with"),
    _must("C-5.3-file_chunk", "a chunk knows its place, its lines and how many there are of its file"),
)

_COMPONENTS = (
    _must("C-6.1-tools", "the server lists its tools and routes each call to its handler"),
    _must("C-6.2-batches", "at most 100 texts go in one request"),
    _must("C-6.2-backoff", "three retries, from 1 second, doubling, at most 60"),
    _must("C-6.3-cosine", "collections are searched by cosine"),
    _must("C-6.3-merge", "results of several collections are merged by similarity and cut at the limit"),
    _must("C-6.4-clone", "a GitHub repository is cloned into its own folder"),
    _must(
        "C-6.4-token",
        "a personal access token opens private repositories",
        "given to git by its environment, never in a URL",
    ),
    _must("C-6.4-shallow", "a clone is shallow by default"),
    _must("C-6.4-branch", "a branch can be chosen"),
    _must("C-6.4-reuse", "an existing clone is used, or replaced if asked"),
    _must("C-6.4-name", "the name is taken from the URL"),
    _must("C-6.5-walk", "folders are walked to the bottom"),
    _must("C-6.5-extensions", "files are chosen by extension, the default list being given"),
    _must("C-6.5-excludes", "the default excludes and any further ones are left out"),
    _must("C-6.5-gitignore", "what .gitignore names is left out"),
    _must("C-6.5-file_info", "each file has its paths, extension, size and time"),
    _must("C-6.6-small", "a small file is one chunk"),
    _must("C-6.6-lines", "a large file is split between lines, with an overlap"),
    _must("C-6.6-structure", "splits keep to the structure of the code where they can"),
    _must("C-6.6-positions", "a chunk's first and last line are right"),
    _must(
        "C-6.6-tokens",
        "chunks keep to 500 tokens with 50 of overlap",
        "counted by the model's tokenizer, not by characters",
    ),
    _must("C-6.6-hash", "content is hashed by SHA-256"),
    _must(
        "C-7-stack",
        "a typed language, the official MCP SDK, schema validation, structured logs",
        "Python instead of TypeScript",
    ),
)

_CONFIGURATION = (
    _must("C-8.1-OPENAI_API_KEY", "OPENAI_API_KEY gives the key", "required once the provider is openai"),
    _must("C-8.1-GITHUB_PAT", "GITHUB_PAT opens private repositories"),
    _must("C-8.1-CHROMADB_HOST", "CHROMADB_HOST names Chroma's host"),
    _must("C-8.1-CHROMADB_PORT", "CHROMADB_PORT names Chroma's port"),
    _must("C-8.1-REPO_CLONE_PATH", "REPO_CLONE_PATH is where clones lie"),
    _must("C-8.1-DATA_PATH", "DATA_PATH is where data lie"),
    _must("C-8.1-LOG_LEVEL", "LOG_LEVEL sets the verbosity"),
    _must("C-8.1-EMBEDDING_MODEL", "EMBEDDING_MODEL names the model"),
    _must("C-8.1-CHUNK_MAX_TOKENS", "CHUNK_MAX_TOKENS bounds a chunk", "for repositories it wins over CHUNK_SIZE_MAX"),
    _must("C-8.1-CHUNK_OVERLAP_TOKENS", "CHUNK_OVERLAP_TOKENS sets the overlap"),
    _must("C-8.2-file", "a JSON file configures it all, with ${VARIABLE:default} filled in"),
    _must("C-8.2-search_defaults", "default and highest limit, threshold and snippet length are configurable"),
    _must("C-8.3-template", "a template of .env shows every variable"),
)

_ERRORS = (
    _must("C-9.1-validation", "a bad value is reported as such"),
    _must("C-9.1-authentication", "a bad credential is reported as such"),
    _must("C-9.1-external", "an external failure is retried, then reported as temporary"),
    _must("C-9.1-internal", "an internal failure is logged and reported without its details"),
    _must(
        "C-9.1-format",
        "an error carries code, message, details and whether to retry",
        "A's error object, whose recoverable is its retryable",
    ),
    _must("C-9.1-classes", "errors are classes with code and retryability", "our tree, with A's codes"),
    _must("C-9.2-levels", "five log levels", "trace is debug"),
    _should("C-9.2-structure", "a log line is JSON with time, level, message, context, data and error"),
    _should("C-9.3-command", "pk-mcp health tells the state"),
    _should(
        "C-9.3-components",
        "health tells each component's state and latency",
        "the store and embedder in use, whatever they are",
    ),
    _nice("C-9.4-queries_total", "searches are counted"),
    _nice("C-9.4-query_duration_ms", "search times make a histogram"),
    _nice("C-9.4-embeddings_generated", "embeddings are counted"),
    _nice("C-9.4-embedding_duration_ms", "embedding times are measured"),
    _nice("C-9.4-indexing_files_processed", "indexed files are counted"),
    _nice("C-9.4-indexing_duration_ms", "indexing times are measured"),
    _nice("C-9.4-command", "pk-mcp metrics shows them"),
)

_SECURITY = (
    _must("C-10.1-localhost", "nothing is reachable from the network by default"),
    _must("C-10.2-environment", "secrets come from the environment or .env, which is not committed"),
    _must("C-10.2-redaction", "no secret is logged"),
    _must("C-10.2-messages", "no secret stands in an error"),
    _must("C-10.3-inputs", "every tool input is validated by a schema"),
    _must("C-10.3-url", "only https addresses of GitHub repositories are cloned"),
    _must("C-10.4-isolation", "clones stay in their folder"),
    _must("C-10.4-traversal", "no path leads out of it"),
    _must("C-10.4-names", "repository names are sanitized before they become paths"),
)

_PERFORMANCE = (
    _must("C-11.1-p95", "95 of 100 searches take less than 500 ms"),
    _must("C-11.1-p50", "half of them less than 200 ms"),
    _must("C-11.1-embedding", "embedding keeps up with 100 files a minute"),
    _must("C-11.1-small", "fewer than 500 files are indexed within 5 minutes"),
    _must("C-11.1-medium", "500 to 2000 files are indexed within 15 minutes"),
    _must("C-11.2-batches", "embedding requests are batched"),
    _must("C-11.2-unchanged", "unchanged files are not embedded again"),
    _must("C-11.2-per_repository", "each repository is searched in its own collection"),
    _must("C-11.2-threshold", "the search ends at the threshold"),
    _must("C-11.2-streams", "large files are streamed", "files above the limit of 1 MB are not read at all"),
    _must(
        "C-11.2-parallel",
        "files are read in parallel, within a limit",
        "one is read while others are embedded, which takes nearly all of the time",
    ),
    _must("C-11.2-binary", "binary files are skipped"),
    _must("C-11.3-embeddings", "an embedding is found again by its content's hash"),
    _must("C-11.3-handles", "collection handles are kept"),
    _must("C-11.4-maxFileSize", "a file has at most 1 MB"),
    _must("C-11.4-maxFilesPerBatch", "at most 50 files are worked on at once"),
    _must("C-11.4-maxChunksPerFile", "a file has at most 100 chunks"),
    _must("C-11.4-maxEmbeddingBatchSize", "a batch has at most 100 texts"),
    _must("C-11.4-maxQueryResults", "a search has at most 50 results"),
    _must("C-11.4-maxConcurrentIndexing", "one repository is indexed at a time"),
)

_TESTING = (
    _must("C-12.1-coverage", "90 % of the lines are tested"),
    _must("C-12.1-components", "each component has its own coverage target"),
    _must("C-12.2-unit", "unit tests are fast and need nothing external", "those above two seconds are marked as slow"),
    _must(
        "C-12.2-integration",
        "integration tests use a real store",
        "a process instead of a container, which cannot run everywhere",
    ),
    _must("C-12.2-end_to_end", "a whole protocol flow over a real small repository is tested"),
    _must("C-12.4-stand_ins", "external services are stood in for", "by fakes, not mocks"),
    _must("C-12.5-latency", "a test measures the 95th percentile of 100 searches"),
)

_DEPLOYMENT = (
    _must("C-13.1-compose", "a compose file runs the store with a health check and a volume", "ours runs any store"),
    _must("C-13.2-process", "the server is a process that the client starts over stdio"),
    _must("C-13.2-client", "the client's configuration is documented"),
    _must("C-13.3-folders", "clones, data and logs have their folders"),
    _must("C-13.4-startup", "it loads its configuration, verifies the store, then serves"),
    _must("C-13.5-shutdown", "on SIGTERM it finishes what is under way and leaves the data whole"),
    _must(
        "C-14.1-layout",
        "source, tests, configuration and documents have their places",
        "the rooms of our own architecture",
    ),
    _must(
        "C-14.2-dependencies",
        "entry points depend on services, services on implementations",
        "held by import contracts",
    ),
)

_DELIVERABLES = (
    _must("C-15.3-index", "pk-mcp index indexes a repository"),
    _must("C-15.3-search", "pk-mcp search searches"),
    _must("C-15.3-status", "pk-mcp status tells the state"),
    _must("C-15.3-remove", "pk-mcp remove removes a repository"),
    _must("C-15.3-help", "each command has its --help"),
    _must("C-15.4-relevant", "semantic_search returns what is relevant"),
    _must("C-15.4-private", "a private repository is indexed by its token"),
    _should("C-15.4-setup", "the setup is documented"),
    _should("C-15.4-several", "several repositories are indexed"),
    _nice("C-15.4-chunking", "chunking is configurable"),
    _nice("C-15.4-public", "public repositories need no token"),
    _must(
        "C-A.2-codes",
        "protocol errors use MCP's codes",
        "bad tool input is a tool result with isError, as MCP now asks",
    ),
    _must("C-B.1-operations", "collections are made, filled and queried by vectors of ours"),
    _must(
        "C-B.2-similarity",
        "similarity is 1 - distance/2",
        "against section 6.3, which would hide nearly everything at 0.7",
    ),
)

REPOSITORIES = (
    *_TOOLS,
    *_INTERFACES,
    *_DATA,
    *_COMPONENTS,
    *_CONFIGURATION,
    *_ERRORS,
    *_SECURITY,
    *_PERFORMANCE,
    *_TESTING,
    *_DEPLOYMENT,
    *_DELIVERABLES,
)
