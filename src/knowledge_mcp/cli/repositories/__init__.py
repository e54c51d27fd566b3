"""`pk-mcp`."""
