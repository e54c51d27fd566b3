"""The local model: its files, tokenizer and session."""
