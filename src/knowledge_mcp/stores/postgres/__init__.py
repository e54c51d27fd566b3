"""PostgreSQL with pgvector as a store: transactions, vectors and postings in tables of one schema."""
