"""Stand-ins and real servers for tests: ChromaDB, Git, OpenAI and Azure OpenAI, Qdrant."""
