"""From a question to cited hits."""
