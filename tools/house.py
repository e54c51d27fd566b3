"""Measure the house: how much there is to read, how it hangs together, and how far one request runs through it.

    python tools/house.py           print every figure with its limit
    python tools/house.py --check   fail where one is over its limit

The two requests are traced over the product as it is installed: a hybrid search, and the ingest of a PDF as far as it
runs in this process. They need the local embedding model, which the first ingest fetches.
"""

from __future__ import annotations

import argparse
import ast
import graphlib
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.product import environment  # noqa: E402  (the project's root is not on the path of a script)
from tests.house.source import PACKAGE, Module, imported_modules, lines_of_code, package_modules  # noqa: E402


@dataclass(frozen=True, slots=True)
class Figure:
    """One measure of the house.

    Attributes:
        name: what is counted.
        value: the count.
        limit: the most that it may be; None where it is only told.
        note: where most of it is.
    """

    name: str
    value: int
    limit: int | None
    note: str = ""

    @property
    def holds(self) -> bool:
        """Tell whether it is within its limit."""
        return self.limit is None or self.value <= self.limit


def figures(root: Path, *, trace: bool = True) -> list[Figure]:
    """Measure the project below `root`; `trace` runs the two requests too."""
    modules = list(package_modules(root))
    lines = {module.path: lines_of_code(module) for module in modules}
    files = [module for module in modules if not module.path.endswith("__init__.py")]
    folders = Counter(Path(module.path).parent.relative_to(f"src/{PACKAGE}").as_posix() for module in files)
    fullest, most = folders.most_common(1)[0]
    known = {module.name for module in modules}
    imports = {module.name: {name for name, _ in imported_modules(module.tree)} & known for module in modules}
    cycle = _cycle(
        {name: {other for other in others if not name.startswith(other)} for name, others in imports.items()}
    )
    names = Counter(
        node.name
        for module in modules
        for node in module.tree.body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    twice = sorted(name for name, count in names.items() if count > 1)
    stores = sum(count for path, count in lines.items() if path.startswith(f"src/{PACKAGE}/stores/"))
    found = [
        Figure("lines of code in src", sum(lines.values()), 50_000),
        Figure("modules in src", len(modules), 400),
        Figure("modules in the fullest folder", most, 15, fullest),
        Figure("modules in an import cycle", len(cycle), 0, " -> ".join(cycle)),
        Figure("members of the store port", _members(modules, ("Store", "Collection")), 18),
        Figure("lines of code in stores/", stores, 5_200),
        Figure("public class names used twice", len(twice), 0, ", ".join(twice)),
    ]
    if trace:
        search, ingest = _traced()
        found.append(Figure("modules that a hybrid search runs through", len(search), 20, _short(search)))
        found.append(Figure("modules that the ingest of a PDF runs through", len(ingest), 35, _short(ingest)))
    return found


def _members(modules: Iterable[Module], protocols: Sequence[str]) -> int:
    """Count the methods and attributes of protocols of the package's ports."""
    return sum(
        isinstance(item, ast.FunctionDef | ast.AnnAssign)
        for module in modules
        if module.room == "ports"
        for node in module.tree.body
        if isinstance(node, ast.ClassDef) and node.name in protocols
        for item in node.body
    )


def _cycle(imports: Mapping[str, Iterable[str]]) -> list[str]:
    """Name the modules of one import cycle; none where there is none."""
    try:
        graphlib.TopologicalSorter(imports).prepare()
    except graphlib.CycleError as exc:
        return exc.args[1]
    return []


def _short(names: Iterable[str]) -> str:
    return ", ".join(sorted(name.removeprefix(f"{PACKAGE}.") for name in names))


def _traced() -> tuple[set[str], set[str]]:
    """Ingest a PDF and ask a question, and list the modules of which a function ran."""
    from knowledge_mcp.model.ingest import IngestOptions
    from knowledge_mcp.registry import SURFACES, load
    from knowledge_mcp.settings import load_settings
    from knowledge_mcp.sources.files import FileSource
    from knowledge_mcp.wiring import build_knowledge

    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder)
        _write_pdf(data / "pumps.pdf")
        _write_pdf(data / "other.pdf")
        knowledge = build_knowledge(load_settings(environ=environment(data / "store")))
        tool = next(each for each in load(SURFACES["standards"]).tools if each.name == "knowledge_search")

        def ingest(name: str) -> None:
            report = knowledge.ingest(FileSource(data / name), IngestOptions())
            if len(report.documents) != 1:
                raise SystemExit(f"error: {name} was not ingested: {report}")

        def search() -> None:
            request = tool.request.model_validate({"query": "How long shall a pump run on battery?"})
            if not tool.run(knowledge, request).model_dump()["results"]:
                raise SystemExit("error: the search found nothing")

        ingest("other.pdf")  # the model is there, and imports are done
        search()
        return _modules_run(search), _modules_run(lambda: ingest("pumps.pdf"))


def _modules_run(work: Callable[[], object]) -> set[str]:
    """List the package's modules of which a function is called in this thread while `work` runs."""
    seen: set[str] = set()

    def note(frame: FrameType, event: str, argument: object) -> None:
        del argument
        if event == "call" and frame.f_code.co_name != "<module>":
            seen.add(frame.f_globals.get("__name__", ""))

    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    return {name for name in seen if name.startswith(f"{PACKAGE}.")}


def _write_pdf(path: Path) -> None:
    from reportlab.pdfgen.canvas import Canvas

    canvas = Canvas(str(path))
    for place, line in enumerate(
        ("1 Scope", "This is about pumps.", "2 Power", "The pump shall run on battery for eight hours.")
    ):
        canvas.drawString(72, 760 - 24 * place, f"{line} {path.stem if place % 2 else ''}")
    canvas.save()


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the figures; with `--check` the exit code is 1 where one is over its limit."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="exit with 1 where a figure is over its limit")
    parser.add_argument("--no-trace", action="store_true", help="read the source only")
    parser.add_argument("--where", action="store_true", help="say where most of each figure is")
    chosen = parser.parse_args(arguments)
    found = figures(ROOT, trace=not chosen.no_trace)
    for each in found:
        sign = "  " if each.holds else "! "
        sys.stdout.write(f"{sign}{each.name:<48} {each.value:>7,}   at most {each.limit:,}{os.linesep}")
        if chosen.where and each.note:
            sys.stdout.write(f"      {each.note}{os.linesep}")
    over = [each.name for each in found if not each.holds]
    if over:
        sys.stdout.write(f"{len(over)} over the limit: {', '.join(over)}{os.linesep}")
    return int(bool(over) and chosen.check)


if __name__ == "__main__":
    raise SystemExit(main())
