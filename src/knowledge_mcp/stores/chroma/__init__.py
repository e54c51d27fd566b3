"""The store on ChromaDB."""
