"""A sandbox that runs its jobs in the test's own process: quick, and seen by the coverage measurement."""

from __future__ import annotations

import importlib
import json
import tempfile
from collections.abc import Generator, Iterable, Mapping
from pathlib import Path
from typing import Any

from knowledge_mcp.support.sandbox import InputFile, Limits, Sandbox, copy_files


class InProcessSandbox(Sandbox):
    """Run jobs here; values go through JSON as they do on their way from a child, bytes do not."""

    def run(
        self,
        function: str,
        arguments: Mapping[str, Any],
        *,
        files: Mapping[str, InputFile] | None = None,
        limits: Limits | None = None,
    ) -> Generator[Any]:
        module, _, name = function.partition(":")
        with tempfile.TemporaryDirectory() as folder:
            given = {**json.loads(json.dumps(dict(arguments))), **copy_files(files or {}, Path(folder))}
            yield from self._values(getattr(importlib.import_module(module), name)(**given))

    def _values(self, values: Iterable[Any]) -> Generator[Any]:
        for value in values:
            yield value if isinstance(value, bytes) else json.loads(json.dumps(value))


HERE = InProcessSandbox()
