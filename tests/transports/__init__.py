"""MCP over stdio, SSE and HTTP, with real clients."""
