-- Tables of the PostgreSQL store, version 2; EXTENSION stands for the schema of pgvector.
-- A target of 8160 bytes keeps vectors of up to 1,900 components in their row, where an exact search finds them.

CREATE TABLE knowledge_mcp.meta (version int NOT NULL);
CREATE SEQUENCE knowledge_mcp.keys;
CREATE TABLE knowledge_mcp.collections (
    id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text COLLATE "C" NOT NULL UNIQUE,
    space text NOT NULL,
    created_at text NOT NULL,
    analyser text NOT NULL,
    state uuid NOT NULL DEFAULT gen_random_uuid(),
    documents bigint NOT NULL DEFAULT 0,
    chunks bigint NOT NULL DEFAULT 0,
    tokens bigint NOT NULL DEFAULT 0,
    words bigint NOT NULL DEFAULT 0
);
CREATE TABLE knowledge_mcp.documents (
    generation bigint PRIMARY KEY,
    collection int NOT NULL,
    document_id text COLLATE "C" NOT NULL,
    block bigint NOT NULL,
    chunks int NOT NULL,
    tokens bigint NOT NULL,
    words bigint NOT NULL,
    record bytea NOT NULL,
    text bytea NOT NULL,
    structure bytea NOT NULL,
    UNIQUE (collection, document_id)
);
CREATE INDEX documents_by_block ON knowledge_mcp.documents (block);
CREATE TABLE knowledge_mcp.chunks (
    key bigint PRIMARY KEY,
    collection int NOT NULL,
    document_id text COLLATE "C" NOT NULL,
    position int NOT NULL,
    chunk_id text COLLATE "C" NOT NULL,
    document_type text COLLATE "C" NOT NULL,
    chunk_type text COLLATE "C" NOT NULL,
    normative text COLLATE "C" NOT NULL,
    clause_number text COLLATE "C",
    content_hash text COLLATE "C" NOT NULL,
    embedding_key text COLLATE "C" NOT NULL,
    vector EXTENSION.vector NOT NULL
) WITH (toast_tuple_target = 8160);
ALTER TABLE knowledge_mcp.chunks ALTER vector SET STATISTICS 0;
CREATE INDEX chunks_by_place ON knowledge_mcp.chunks (collection, document_id, position);
CREATE INDEX chunks_by_id ON knowledge_mcp.chunks USING hash (chunk_id);
CREATE INDEX chunks_by_content ON knowledge_mcp.chunks USING hash (content_hash);
CREATE INDEX chunks_by_embedding ON knowledge_mcp.chunks USING hash (embedding_key);
CREATE TABLE knowledge_mcp.payloads (key bigint PRIMARY KEY, payload bytea NOT NULL);
CREATE TABLE knowledge_mcp.postings (
    collection int NOT NULL,
    term text COLLATE "C" NOT NULL,
    block bigint NOT NULL,
    entries bytea NOT NULL
);
ALTER TABLE knowledge_mcp.postings ALTER entries SET STORAGE EXTERNAL;
CREATE INDEX postings_by_term ON knowledge_mcp.postings (collection, term, block) INCLUDE (entries);
CREATE INDEX postings_by_block ON knowledge_mcp.postings (block);
CREATE TABLE knowledge_mcp.definitions (
    collection int NOT NULL,
    term_key text COLLATE "C" NOT NULL,
    alias int NOT NULL,
    document_id text COLLATE "C" NOT NULL,
    position int NOT NULL,
    place int NOT NULL,
    term text COLLATE "C" NOT NULL,
    key bigint NOT NULL
);
CREATE INDEX definitions_by_term ON knowledge_mcp.definitions (collection, term_key);
CREATE INDEX definitions_by_document ON knowledge_mcp.definitions (collection, document_id);
