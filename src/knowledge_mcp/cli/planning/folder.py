"""A folder of planning documents: its files, the result for each, and which are new since the last scan."""

from __future__ import annotations

import base64
import html
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from knowledge_mcp.engine.planning.service import EXTENSIONS, PlanningService
from knowledge_mcp.engine.planning.values import Batch, PlanningIngestRequest, explain
from knowledge_mcp.model.call import Call
from knowledge_mcp.model.errors import (
    AuthError,
    ConfigError,
    ConnectionFailedError,
    InvalidInputError,
    KnowledgeError,
    NotFoundError,
    may_pass,
)
from knowledge_mcp.model.extraction import LOW_CONFIDENCE
from knowledge_mcp.model.source import advice_on_kind, is_unread_document
from knowledge_mcp.support.files import open_beneath, path_text, walk_folders
from knowledge_mcp.support.sandbox import InputFile, Limits, Refusal, SandboxFailure, shared_sandbox
from knowledge_mcp.support.wording import how_many

Signature = tuple[int, int, int]
_ENDS_ALL = (AuthError, ConfigError, ConnectionFailedError)
AGAIN = 60.0
"""Seconds after which a file of a watched folder is tried again that failed for a reason that may be over by then."""


@dataclass(frozen=True, slots=True)
class FileOutcome:
    """Return the result for one file.

    Attributes:
        path: of the file.
        answer: what `ingest_document` would have answered.
        seconds: how long it took.
        may_pass: it failed for a reason that is not its own, and may be over at the next try.
    """

    path: Path
    answer: Mapping[str, Any]
    seconds: float
    may_pass: bool = False

    @property
    def status(self) -> str:
        """Return `success`, `already_ingested`, `skipped` or `error`; `gone` or `removed` of a file that is no more."""
        return str(self.answer["status"])


@dataclass(frozen=True, slots=True)
class FolderFiles:
    """What lies in a folder, hidden files left out.

    Attributes:
        documents: those to file. A document of a kind that is not read is among them: ingesting it answers what it is
            to be saved as.
        others: files that are no documents.
        closed: folders, the given one included, that cannot be looked into.
        links: links that lead to folders elsewhere, which are not entered.
    """

    documents: Sequence[Path]
    others: Sequence[Path] = ()
    closed: Sequence[Path] = ()
    links: Sequence[Path] = ()


def look_into(place: Path, *, recursive: bool = True) -> FolderFiles:
    """List what lies in and below a folder; of a file, itself.

    Raises:
        NotFoundError: there is nothing at the place.
        InvalidInputError: it is one file of a kind that cannot be ingested.
    """
    folder = Path(os.path.realpath(place.expanduser()))
    if folder.is_file():
        if folder.suffix.lower() not in EXTENSIONS:
            raise InvalidInputError(
                f"{folder.name} cannot be ingested.", suggestion=advice_on_kind(folder.name, EXTENSIONS)
            )
        return FolderFiles([folder])
    if not folder.is_dir():
        raise NotFoundError(f"There is no file or folder {place}.", suggestion="Check the path.")
    documents: list[Path] = []
    others: list[Path] = []
    closed: list[Path] = []
    links: list[Path] = []
    for root, folders, names in walk_folders(folder, lambda error: closed.append(Path(os.fsdecode(error.filename)))):
        folders[:] = sorted(name for name in folders if recursive and not name.startswith("."))
        ends = (Path(os.path.realpath(Path(root, name))) for name in folders)
        links += [Path(root, name) for name, end in zip(folders, ends, strict=True) if not end.is_relative_to(folder)]
        for path in (Path(root, name) for name in sorted(names) if not name.startswith((".", "~$"))):
            is_document = path.suffix.lower() in EXTENSIONS or is_unread_document(path.name)
            (documents if is_document else others).append(path)
    return FolderFiles(documents, others, closed, links)


def name_below(place: Path, path: Path) -> str:
    """Return the path of a file relative to the given folder, or only its name if it is elsewhere."""
    folder = Path(os.path.realpath(place.expanduser()))
    is_below = path != folder and path.is_relative_to(folder)
    return path_text(path.relative_to(folder) if is_below else path.name)


def file_one(
    service: PlanningService,
    request: PlanningIngestRequest,
    line: Call,
    clock: Callable[[], float],
    batch: Batch | None = None,
) -> FileOutcome:
    """File one document; its own errors become an answer, errors that would affect every document are raised."""
    started = clock()
    try:
        answer = service.ingest_file(request, line, batch).as_json()
    except _ENDS_ALL:
        raise
    except KnowledgeError as exc:
        return FileOutcome(Path(request.file_path), explain(exc), clock() - started, may_pass(exc))
    return FileOutcome(Path(request.file_path), answer, clock() - started)


class FolderWatch:
    """Tell which files of a folder are new or changed, once they have stopped growing.

    Args:
        place: folder, or one file.
        recursive: whether folders below it count too.
        report: a file that the command writes itself, which is no document of the case; None for none.

    Attributes:
        found: what lay there at the last look.
    """

    def __init__(self, place: Path, *, recursive: bool = True, report: Path | None = None) -> None:
        self.found = FolderFiles(())
        self._place = place
        self._report = Path(os.path.realpath(report)) if report is not None else None
        self._recursive = recursive
        self._before: dict[Path, Signature] = {}
        self._handled: dict[Path, Signature] = {}
        self._again: dict[Path, float] = {}

    def due(self, *, settled: bool = True) -> list[Path]:
        """List the files to ingest now, and count them as ingested.

        Args:
            settled: False takes files as they are; True only those that look as they did at the last call.
        """
        self.found = self._look()
        now = {path: found for path in self.found.documents if (found := _signature(path)) is not None}
        due = [
            path
            for path, signature in now.items()
            if (self._handled.get(path) != signature or time.monotonic() >= self._again.get(path, float("inf")))
            and (not settled or self._before.get(path) == signature)
        ]
        self._before = now
        self._again = {path: at for path, at in self._again.items() if path in now and path not in due}
        self._handled = {path: signature for path, signature in self._handled.items() if path in now}
        self._handled.update({path: now[path] for path in due})
        return due

    def try_again(self, paths: Sequence[Path]) -> None:
        """Let files be due once more after a while, changed or not."""
        self._again.update(dict.fromkeys(paths, time.monotonic() + AGAIN))

    @property
    def is_settled(self) -> bool:
        """Return whether no existing file waits to be ingested: a missing document may be one of them."""
        return self._before == self._handled and not self._again

    def _look(self) -> FolderFiles:
        try:
            found = look_into(self._place, recursive=self._recursive)
        except NotFoundError:  # moved away for a moment, or a network drive that is not there now
            return FolderFiles((), closed=(self._place,))
        return replace(found, documents=[path for path in found.documents if path != self._report])


def _signature(path: Path) -> Signature | None:
    try:
        status = path.stat() if path.exists() else path.lstat()  # a broken link is reported too
    except OSError:
        return None
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns  # the last one changes with permissions too


_JOB = "knowledge_mcp.readers.images.thumbnails:render"
_MOST_PICTURES = 40
"""Pages of one file that the report shows: the page carries all of them inside."""
_STATUS = {
    "success": "ingested",
    "already_ingested": "known already",
    "skipped": "skipped",
    "error": "failed",
    "gone": "file is gone",
    "removed": "removed",
}
_STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 72rem; padding: 0 1rem; color: #1c2024; }
h1 { font-size: 1.5rem; margin-bottom: .2rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
p.facts { color: #5a6270; margin-top: 0; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: .4rem .6rem; vertical-align: top; }
th { border-bottom: 2px solid #c8ced6; } td { border-bottom: 1px solid #e3e7ec; } td.number { text-align: right; }
.status { border-radius: .3rem; padding: .05rem .45rem; white-space: nowrap; }
.success { background: #d9f2e0; } .already_ingested { background: #e3e7ec; } .skipped { background: #fdeecb; }
.error, .gone, .removed { background: #fbdada; } .note { color: #5a6270; }
ul { margin: .2rem 0 0; padding-left: 1.1rem; }
figure { display: inline-block; margin: .5rem .8rem .5rem 0; vertical-align: top; width: 190px; }
figure img { border: 1px solid #c8ced6; max-width: 180px; } figcaption { font-size: .82rem; color: #5a6270; }
@media print { body { margin: 0; max-width: none; } figure, tr { break-inside: avoid; } }
"""


def pages_to_show(outcome: FileOutcome) -> dict[int, str]:
    """Name the pages that were not read, or read with doubt, each with the reason."""
    reasons: dict[int, str] = {}
    pages: Sequence[Mapping[str, Any]] = outcome.answer.get("pages", ())
    for run in pages:
        reason = _reason(run)
        if reason:
            reasons.update(dict.fromkeys(range(int(run["first"]), int(run["last"]) + 1), reason))
    return reasons


def _reason(run: Mapping[str, Any]) -> str:
    confidence = run.get("confidence")
    if run["method"] == "skipped":
        return f"skipped: images cover {float(run.get('image_ratio', 0.0)):.0%} of the page"
    if run["method"] == "none":
        return str(run.get("reason") or "not read")
    if run["method"] == "ocr" and confidence is not None and confidence < LOW_CONFIDENCE:
        return f"read with low confidence: {confidence:.0f} %"
    return ""


def thumbnails(path: Path, pages: Sequence[int]) -> dict[int, bytes]:
    """Draw small JPEGs of pages in a child process; pages that cannot be drawn are left out."""
    pictures: dict[int, bytes] = {}
    number = 0
    try:
        with open_beneath(None, Path(os.path.realpath(path))) as stream:
            files = {"path": InputFile(stream, path.suffix)}
            limits = Limits(seconds=60.0, silence=20.0)
            for value in shared_sandbox().run(_JOB, {"pages": list(pages)}, files=files, limits=limits):
                if isinstance(value, bytes):
                    pictures[number] = value
                else:
                    number = int(value["page"])
    except (Refusal, SandboxFailure, OSError):
        return pictures
    return pictures


def report_html(application_ref: str, place: Path, outcomes: Sequence[FileOutcome], now: datetime) -> str:
    """Make the report; blocks while pages are drawn."""
    counts = {status: sum(each.status == status for each in outcomes) for status in _STATUS}
    summary = ", ".join(f"{count} {_STATUS[status]}" for status, count in counts.items() if count) or "no document"
    rows = "\n".join(_row(name_below(place, each.path), each) for each in outcomes)
    pictures = "\n".join(_pictures(name_below(place, each.path), each) for each in outcomes)
    title = f"Documents of {html.escape(application_ref)}"
    return f"""<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<title>{title}</title><style>{_STYLE}</style></head>
<body>
<h1>{title}</h1>
<p class="facts">{html.escape(path_text(place))} · {now:%Y-%m-%d %H:%M} · {summary}</p>
<table>
<thead><tr><th>File</th><th>Outcome</th><th>Type</th><th>Read by</th><th>Pages</th><th>Chunks</th></tr></thead>
<tbody>
{rows}
</tbody>
</table>
{pictures}
</body>
</html>
"""


def _row(name: str, outcome: FileOutcome) -> str:
    answer = outcome.answer
    status = html.escape(_STATUS.get(outcome.status, outcome.status))
    remarks = [str(answer[name]) for name in ("message", "suggestion") if answer.get(name)]
    remarks += [str(each) for each in answer.get("warnings", ())]
    if answer.get("replaced"):
        remarks.append(f"replaces {', '.join(answer['replaced'])}")
    notes = f"<ul class=note>{''.join(f'<li>{html.escape(each)}</li>' for each in remarks)}</ul>" if remarks else ""
    kind = html.escape(str(answer.get("document_type", "")).replace("_", " "))
    confidence = answer.get("document_type_confidence")
    sure = f" <span class=note>({confidence:.0%})</span>" if confidence is not None else ""
    method = html.escape(str(answer.get("extraction_method", "")).replace("_", " "))
    drawings = ", drawings" if answer.get("contains_drawings") else ""
    return (
        f"<tr><td>{html.escape(name)}{notes}</td>"
        f'<td><span class="status {html.escape(outcome.status)}">{status}</span></td>'
        f"<td>{kind}{sure}</td><td>{method}{drawings}</td>"
        f"<td class=number>{html.escape(str(answer.get('total_pages', '')))}</td>"
        f"<td class=number>{html.escape(str(answer.get('chunks_created', '')))}</td></tr>"
    )


def _pictures(name: str, outcome: FileOutcome) -> str:
    reasons = pages_to_show(outcome)
    if not reasons:
        return ""
    numbers = list(reasons)[:_MOST_PICTURES]
    pictures = thumbnails(outcome.path, numbers)
    figures = "\n".join(_figure(number, reasons[number], pictures.get(number)) for number in numbers)
    remaining = len(reasons) - len(numbers)
    more = f"<p class=note>… and {how_many(remaining, 'more page')}.</p>" if remaining else ""
    return f"<h2>{html.escape(name)}: pages to look at</h2>\n{figures}\n{more}"


def _figure(number: int, reason: str, picture: bytes | None) -> str:
    image = (
        f'<img alt="page {number}" src="data:image/jpeg;base64,{base64.b64encode(picture).decode()}">'
        if picture
        else "<em>no image could be drawn</em>"
    )
    return f"<figure>{image}<figcaption>page {number}: {html.escape(reason)}</figcaption></figure>"
