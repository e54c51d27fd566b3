"""How callers reach the surfaces: MCP over stdio, SSE and HTTP, and REST."""
