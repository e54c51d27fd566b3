"""A sandbox that runs its jobs in the test's own process: quick, and seen by the coverage measurement."""

from __future__ import annotations

import importlib
import json
from collections.abc import Generator, Mapping
from typing import Any

from knowledge_mcp.support.sandbox import Limits, Sandbox

__all__ = ["InProcessSandbox"]


class InProcessSandbox(Sandbox):
    """Run jobs here; values go through JSON as they do on their way from a child."""

    def run(self, function: str, arguments: Mapping[str, Any], *, limits: Limits | None = None) -> Generator[Any]:
        module, _, name = function.partition(":")
        for value in getattr(importlib.import_module(module), name)(**json.loads(json.dumps(dict(arguments)))):
            yield json.loads(json.dumps(value))
