"""PostgreSQL with pgvector as a store: vectors and postings in the tables of one schema, with transactions."""
