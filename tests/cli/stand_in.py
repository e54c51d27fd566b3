"""The real commands over a knowledge base in memory: `python -m tests.cli.stand_in COMMAND [ARGUMENT…]`.

Only the composition root and the source of files are replaced. What the files say decides what happens to them:
`BROKEN` at the start makes a file unreadable, `LOCKED` one that needs a password; `SECRET` is opened by the password
"sesame", if someone is asked; `FAILS` stops the run at chunk 500 of 1000, `REFUSED` with a refused key, `UNREACHABLE`
without a store, `CRASHES` with a defect; `HANGS` waits for Ctrl-C.
"""

from __future__ import annotations

import hashlib
import mimetypes
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from fnmatch import fnmatch
from pathlib import Path

from knowledge_mcp import wiring
from knowledge_mcp.cli import ingest
from knowledge_mcp.model.collection import DocumentRecord
from knowledge_mcp.model.errors import AuthError, ConnectionFailedError, KnowledgeError, QuotaExceededError
from knowledge_mcp.model.ingest import IngestEvent, IngestEventKind, IngestOptions, IngestReport, SkippedFile
from knowledge_mcp.model.source import DOCUMENT_PATTERNS, SourceItem
from knowledge_mcp.ports import Knowledge, Source
from knowledge_mcp.settings import Settings
from tests.fakes.knowledge import FakeKnowledge


class Files:
    """Find files; what they begin with decides whether they can be read."""

    left_out = ()

    def __init__(self, path: Path, patterns: Sequence[str], *, recursive: bool) -> None:
        self._path = path
        self._patterns = patterns
        self._recursive = recursive

    def vanished(self, records: Iterable[DocumentRecord]) -> list[DocumentRecord]:
        """List the records whose file lay below the folder and is gone."""
        below = f"{self._path}/"
        return [each for each in records if each.source_path.startswith(below) and not Path(each.source_path).exists()]

    def items(self) -> Iterator[SourceItem | SkippedFile]:
        """Yield them by path."""
        below = self._path.rglob("*") if self._recursive else self._path.glob("*")
        found = [self._path] if self._path.is_file() else sorted(path for path in below if path.is_file())
        for path in found:
            if path != self._path and not any(fnmatch(path.name, pattern) for pattern in self._patterns):
                continue
            data = path.read_bytes()
            if data.startswith(b"BROKEN"):
                yield SkippedFile(str(path), "corrupted", "The file is damaged.", "Save it again.")
            elif data.startswith(b"LOCKED"):
                yield SkippedFile(str(path), "password_protected", "It has a password.", "Save it without a password.")
            else:
                kind = mimetypes.guess_type(path.name)[0] or "text/markdown"
                yield SourceItem(
                    str(path), path.name, kind, len(data), hashlib.sha256(data).hexdigest(), lambda p=path: p.open("rb")
                )


class Fickle(FakeKnowledge):
    """A knowledge base whose ingest does what the files ask for."""

    def __init__(self, ask_password: Callable[[str, str], str | None] | None = None) -> None:
        super().__init__()
        self._ask = ask_password

    def ingest(
        self,
        source: Source,
        options: IngestOptions,
        *,
        on_event: Callable[[IngestEvent], None] | None = None,
        on_unreadable: Callable[[Sequence[SkippedFile]], bool] | None = None,
        cancelled: Callable[[], bool] | None = None,
    ) -> IngestReport:
        """Look for the words that ask for a failure, else ingest."""
        tell: Callable[[IngestEvent], None] = on_event or (lambda _: None)
        for item in source.items():
            if isinstance(item, SkippedFile):
                continue
            with item.open() as stream:
                text = stream.read()
            if b"HANGS" in text:
                tell(IngestEvent(IngestEventKind.EMBEDDED, item.uri, 1, 1000))
                threading.Event().wait()
            if b"CRASHES" in text:
                raise ZeroDivisionError("a defect")
            if text.startswith(b"SECRET") and self._ask is not None:
                self._opens(item.name)
            failure = self._failure(text)
            if failure is not None:
                if b"SECOND" in text:
                    tell(IngestEvent(IngestEventKind.STORED, "/first.md", 3, 3))
                tell(IngestEvent(IngestEventKind.EMBEDDED, item.uri, 499, 1000))
                tell(IngestEvent(IngestEventKind.FAILED, item.uri, 499, 1000, failure.message))
                raise failure
        return super().ingest(source, options, on_event=on_event, on_unreadable=on_unreadable, cancelled=cancelled)

    def _opens(self, name: str) -> None:
        why = "It has a password."
        assert self._ask is not None
        while password := self._ask(name, why):
            if password == "sesame":
                return
            why = "The password is wrong."
        raise AuthError("Nobody opened it.")

    @staticmethod
    def _failure(text: bytes) -> KnowledgeError | None:
        if b"FAILS" in text:
            return QuotaExceededError("The quota is used up.", details="status 429")
        if b"REFUSED" in text:
            return AuthError("The API key was refused.")
        if b"UNREACHABLE" in text:
            return ConnectionFailedError("The store does not answer.")
        return None


def _knowledge(
    settings: Settings,
    *,
    surface: str = "standards",
    start: wiring.Start | None = None,
    roots: Sequence[Path] | None = None,
    ask_password: Callable[[str, str], str | None] | None = None,
) -> Knowledge:
    del surface, start, roots
    return FakeKnowledge(()) if settings.collection == "empty" else Fickle(ask_password)


def _source(
    path: Path, *, recursive: bool = True, patterns: Sequence[str] | None = None, own_data: Path | None = None
) -> Source:
    del own_data
    return Files(path, DOCUMENT_PATTERNS if patterns is None else patterns, recursive=recursive)


def _try_start(settings: Settings, *, surfaces: Sequence[str] = ("standards",)) -> wiring.Start:
    del surfaces
    if settings.collection == "unreachable":
        return wiring.Start(
            (ConnectionFailedError("Qdrant does not answer."), ConnectionFailedError("ChromaDB does not answer."))
        )
    return wiring.Start(backend="memory")


def take_over(put: Callable[[object, str, object], None]) -> None:
    """Put the stand-ins in place of what the composition root builds, and of what finds files."""
    put(wiring, "build_knowledge", _knowledge)
    put(wiring, "build_local", _knowledge)
    put(ingest, "FileSource", _source)
    put(wiring, "try_start", _try_start)


def main() -> None:
    """Run one command in place of its entry point."""
    command, *arguments = sys.argv[1:]
    take_over(setattr)
    sys.argv = [command, *arguments]
    if command == "knowledge-mcp":
        from knowledge_mcp.cli.serve.mcp import main as serve

        sys.exit(serve(arguments))
    if command == "knowledge-ingest":
        ingest.main()
    from knowledge_mcp.cli.knowledge.main import main as admin

    admin()


if __name__ == "__main__":
    main()
