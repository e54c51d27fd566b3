"""Run the package as `tools/measuring.py` has marked it: executed by each Python that measured tests start, before all.

All processes map one file, a byte for each mark, so that one that is killed leaves its marks too. Little is imported
here, for what it costs is paid hundreds of times.
"""

# ruff: noqa: PTH100, PTH118, PTH120, PTH123 - importing pathlib takes as long as all of this
from __future__ import annotations

import builtins
import marshal
import mmap
import os
import sys
from importlib.machinery import PathFinder, SourceFileLoader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from types import CodeType, ModuleType

PACKAGE = "knowledge_mcp"
SOURCES = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "src", "")
TABLE = "__marks__"
"""What marked code calls the bytes."""
VARIABLE = "COVERAGE_MARKS"
"""Environment variable with the folder of the marked modules, each in a file by its name."""
RUN = "run"
"""The file beside them with a byte for each mark."""


class _Loader(SourceFileLoader):
    def __init__(self, name: str, path: str, folder: str) -> None:
        super().__init__(name, path)
        self._folder = folder

    def get_code(self, fullname: str) -> CodeType:
        with open(os.path.join(self._folder, fullname), "rb") as marked:
            return marshal.load(marked)  # noqa: S302 - of our own making


class _Finder:
    def __init__(self, folder: str) -> None:
        self._folder = folder

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname.partition(".")[0] != PACKAGE:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        loader = spec.loader if spec else None
        if spec and isinstance(loader, SourceFileLoader) and loader.path.startswith(SOURCES):
            spec.loader = _Loader(loader.name, loader.path, self._folder)
        return spec


def begin(folder: str) -> memoryview:
    """Let this process import the marked modules; returns the bytes that they set."""
    with open(os.path.join(folder, RUN), "r+b") as run:
        shared = memoryview(mmap.mmap(run.fileno(), 0))
    setattr(builtins, TABLE, shared)
    sys.meta_path.insert(0, _Finder(folder))
    return shared


if VARIABLE in os.environ and not hasattr(builtins, TABLE):
    begin(os.environ[VARIABLE])
