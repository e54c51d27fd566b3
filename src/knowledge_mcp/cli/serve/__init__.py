"""`knowledge-mcp` and `rag-api`."""
