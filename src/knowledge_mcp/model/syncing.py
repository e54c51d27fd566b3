"""Sources that are kept in sync: what is registered, and how its last sync went."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

from knowledge_mcp.model.collection import DocumentRecord
from knowledge_mcp.model.ingest import IngestReport


class SourceKind(StrEnum):
    """Kinds of sources that can be registered."""

    FOLDER = "folder"
    PAGE = "page"
    SITEMAP = "sitemap"
    GIT = "git"
    WEBDAV = "webdav"


@dataclass(frozen=True, slots=True)
class SourceSpec:
    """Describe a source as it was registered.

    Attributes:
        name: unique in its collection: letters, digits, `.`, `_`, `-`.
        kind: what it is.
        location: absolute path of a folder, or an https address without any credential.
        every: seconds after which it is synced again where nothing reports changes.
        branch: of a git repository; empty for its default branch.
        below: folder inside a git repository; empty for all of it.
        patterns: names of the files that are taken; empty for every document.
        allow: groups that alone may read its documents; empty where that is not said.
    """

    name: str
    kind: SourceKind
    location: str
    every: float
    branch: str = ""
    below: str = ""
    patterns: tuple[str, ...] = ()
    allow: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SourceState:
    """Tell how the last sync of a source went; times are ISO 8601 UTC, empty where there was none.

    Attributes:
        last_synced: when store and source were last made equal.
        last_tried: when a sync last ended, well or not.
        last_error: why the last one did not go well, empty where it did.
        documents: how many documents came from it at the last good sync.
    """

    last_synced: str = ""
    last_tried: str = ""
    last_error: str = ""
    documents: int = 0


@dataclass(frozen=True, slots=True)
class SourceStatus:
    """Join what a source is with how it stands."""

    spec: SourceSpec
    state: SourceState

    def is_stale(self, now: datetime | None = None) -> bool:
        """Tell whether the documents may differ from the source: never synced, the last try failed, or overdue."""
        if not self.state.last_synced or self.state.last_error:
            return True
        age = (now or datetime.now(UTC)) - datetime.fromisoformat(self.state.last_synced)
        return age.total_seconds() >= self.spec.every


@dataclass(frozen=True, slots=True)
class Visited:
    """Remember what an address gave, and by what its server tells that it gives the same.

    Attributes:
        sha256: of the bytes.
        size: bytes.
        media_type, name: as the fetcher found them.
        etag, last_modified: validators, as the server sent them; empty where it sent none.
    """

    sha256: str
    size: int
    media_type: str
    name: str
    etag: str = ""
    last_modified: str = ""


@dataclass(frozen=True, slots=True)
class SyncReport:
    """Sum up one sync of one source.

    Attributes:
        ingest: what became of what is there.
        removed: documents whose place is gone from the source.
        kept: documents whose place is gone too, kept all the same; `why_kept` says why.
        unread: places that could not be had this time, with the reason; their documents stay as they were.
    """

    ingest: IngestReport
    removed: tuple[DocumentRecord, ...] = ()
    kept: tuple[DocumentRecord, ...] = ()
    why_kept: str = ""
    unread: tuple[str, ...] = ()
