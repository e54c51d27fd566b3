"""Split documents into chunks: the text of each chunk is exactly its span."""
