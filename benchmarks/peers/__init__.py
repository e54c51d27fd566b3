"""What a user might pick instead, on the same documents with the same model: one file a peer, one runner for all."""
