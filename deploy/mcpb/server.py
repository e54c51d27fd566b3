"""Start the server of this bundle: `uv` has installed it from pyproject.toml beside this file."""

from __future__ import annotations

import sys

from knowledge_mcp.cli.serve.mcp import main

if __name__ == "__main__":
    sys.exit(main())
