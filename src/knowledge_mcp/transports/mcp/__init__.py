"""The MCP servers."""
