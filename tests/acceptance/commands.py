"""How the acceptance tests start the real commands."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from mcp import StdioServerParameters

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "documents"
_FOREIGN = ("OPENAI_API_KEY", "QDRANT_URL", "CHROMADB_HOST", "VECTOR_STORE", "EMBEDDING_MODEL_PATH")


def command(name: str) -> str:
    """Name one of our commands beside the running interpreter."""
    return str(Path(sys.executable).parent / name)


def environment(data: Path) -> dict[str, str]:
    """Build an environment with a store of its own and no key from outside."""
    kept = {name: value for name, value in os.environ.items() if name not in _FOREIGN}
    return {**kept, "DATA_PATH": str(data), "EMBEDDING_PROVIDER": "local"}


def run(data: Path, name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run one of our commands to its end."""
    return subprocess.run(
        [command(name), *arguments], env=environment(data), capture_output=True, text=True, check=False, timeout=300
    )


def stdio_server(data: Path) -> StdioServerParameters:
    """Describe the server as an assistant's configuration does."""
    return StdioServerParameters(command=command("knowledge-mcp"), args=["--log-level", "ERROR"], env=environment(data))
