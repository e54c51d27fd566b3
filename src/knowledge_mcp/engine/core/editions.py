"""Editions of one document: which records belong together, in which order, and which of them answers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import unquote, urlsplit

from knowledge_mcp.engine.core.designations import Designation, Directory, designations_at, mentioned
from knowledge_mcp.language.editions import (
    EditionMark,
    EditionStatus,
    edition_in_field,
    is_numbered,
    is_periodic,
    mark_of,
    parse_status,
    replaced_in,
    without_marks,
)
from knowledge_mcp.model.collection import DESIGNATION_KEYS, DocumentRecord
from knowledge_mcp.support.wording import how_many

BY_HAND = "set_by_hand"
"""Metadata key: which of `family`, `edition` and `edition_status` a person has set, separated by commas."""
CONFIRMED = "edition_family"
"""Metadata key: the family assigned at ingest, if only its title or path suggest it."""
ALONE = "none"
"""Value of `family`: it is not an edition of anything."""

EDITION_KEYS = ("edition", "version", "revision", "issue")
"""Metadata keys that state an edition, the most specific first."""
_DATE_KEYS = ("published", "issued", "publication_date", "effective", "date")
_STATUS_KEYS = ("edition_status", "status")
_REPLACES_KEYS = ("replaces", "supersedes", "obsoletes")
_ISSUERS = frozenset(
    "iso iec ieee en din bs ansi astm asme sae itu etsi aiaa eia cen cispr nasa ecss ul nist rfc mil ietf w3c oasis "
    "omg faa easa rtca eurocae iata vdi vde nfpa api".split()
)
"""Issuers of standards; file names are only checked for these, because "chapter-1-2018" looks like a designation."""
_ISSUED = re.compile(rf"(?<![a-z])(?:{'|'.join(sorted(_ISSUERS))})(?![a-z])", re.IGNORECASE)
_SHOUTED = re.compile(r"[A-Z]{2}.{0,60}\d")
_HINT = re.compile(r"\d|edition|issue|revision|version|release|draft|family", re.IGNORECASE)
_ABOUT = re.compile(
    r"guides?|guidance|handbook|commentary|explained|introduction|summary|overview|checklist|training|slides|course"
    r"|template|redline|amendment|amd|corrigendum|cor|errata|annotated|presentation|faq|comparison|supplement|addendum"
    r"|translation|rationale|test|tests"
)
"""Words that show a different kind of document with the same designation."""
_VERSION_PART = re.compile(
    r"(?:v|ver|version|rev|revision|release|ed|edition)[ ._-]?\d{1,4}(?:\.\d{1,4}){0,3}", re.IGNORECASE
)

_VERSION_AT_END = re.compile(r"[ ._-]v[ ._-]?\d{1,4}(?:[._-]\d{1,4}){0,3}\Z", re.IGNORECASE)
"""A version at the end of a file name, which is no number of a standard."""


@dataclass(frozen=True, slots=True)
class EditionFacts:
    """What a record says about its edition.

    Attributes:
        family: key of its family; empty if unknown.
        by: the evidence: `front matter`, `by hand`, `designation`; `title` and `path` are guesses, to be confirmed.
        label: its edition as written, empty if not stated.
        date: `YYYY[-MM[-DD]]`, empty if unknown.
        version: its number in parts, empty if it has none.
        status: an `EditionStatus`, empty if not stated.
        replaces: designations of the documents that it says it replaces.
        is_certain: the label may be shown in any case: it is not guessed from a year in a name.
    """

    family: str
    by: str
    label: str
    date: str
    version: tuple[int, ...]
    status: str
    replaces: tuple[str, ...]
    is_certain: bool

    @property
    def is_guess(self) -> bool:
        """Return whether only its title or path suggest its family."""
        return self.by in {"title", "path"}


_NOTHING = EditionFacts("", "", "", "", (), "", (), is_certain=False)
_KEYS = frozenset({"family", *EDITION_KEYS, *_DATE_KEYS, *_STATUS_KEYS, *_REPLACES_KEYS, *DESIGNATION_KEYS})


@lru_cache(maxsize=8192)
def facts_of(record: DocumentRecord) -> EditionFacts:
    """Read a record's edition data from its names and metadata."""
    if not _HINT.search(f"{record.title} {record.id} {record.source_path}") and not _KEYS & {
        k for k, _ in record.metadata
    }:
        return _NOTHING
    metadata = dict(record.metadata)
    stated = next((edition_in_field(value) for key in EDITION_KEYS if (value := metadata.get(key))), None)
    designation = _find_designation(record)
    in_title, in_file_name = _mark_in(record.title), _mark_in(_stem(record))
    in_path = _version_in_path(record)
    mark = _merge([stated, designation[1] if designation else None, in_title, in_file_name, in_path])
    family, by = _family(record, designation, in_title, in_file_name, in_path, is_stated=stated is not None)
    date = next((found for key in _DATE_KEYS if (found := _date(metadata.get(key, "")))), "")
    status = next((found for key in _STATUS_KEYS if (found := parse_status(metadata.get(key, "")))), "")
    if not status and parse_status(record.title) == EditionStatus.DRAFT:
        status = EditionStatus.DRAFT
    return EditionFacts(
        family=family,
        by=by,
        label=mark.label if mark else "",
        date=date if date.startswith(mark.date if mark else "") else mark.date if mark else "",
        version=mark.version if mark else (),
        status=status,
        replaces=tuple(value for key in _REPLACES_KEYS if (value := metadata.get(key))),
        is_certain=stated is not None or (mark is not None and (mark.is_explicit or not by or by == "designation")),
    )


def edition_of_record(record: DocumentRecord) -> str:
    """Return a record's edition for a citation; empty if unknown or only guessed."""
    facts = facts_of(record)
    return facts.label if facts.is_certain or record.label(CONFIRMED) else ""


def _mark_in(name: str) -> EditionMark | None:
    mark = mark_of(name)
    return None if mark is not None and not mark.is_explicit and is_numbered(name) else mark


def _merge(marks: Iterable[EditionMark | None]) -> EditionMark | None:
    """Return the first mark, with date and version from the first that has one."""
    present = [mark for mark in marks if mark is not None]
    if not present:
        return None
    return EditionMark(
        present[0].label,
        next((mark.date for mark in present if mark.date), ""),
        next((mark.version for mark in present if mark.version), ()),
        is_explicit=any(mark.is_explicit for mark in present),
    )


def _family(
    record: DocumentRecord,
    designation: tuple[str, EditionMark | None] | None,
    in_title: EditionMark | None,
    in_file_name: EditionMark | None,
    in_path: EditionMark | None,
    *,
    is_stated: bool,
) -> tuple[str, str]:
    """Choose the evidence for the family: an explicit statement, the designation, the title, the path."""
    family = record.label("family")
    by_hand = "family" in record.label(BY_HAND)
    if family:
        return (
            ("", "by hand")
            if family.casefold() == ALONE
            else (f"told:{family.casefold()}", "by hand" if by_hand else "front matter")
        )
    if designation is not None:
        return designation[0], "designation" if designation[1] is not None or is_stated or record.label(
            "published"
        ) else ""
    words = without_marks(record.title)
    explicit = is_stated or (in_title is not None and in_title.is_explicit)
    if in_title is not None or is_stated:
        return ("", "") if is_periodic(record.title) and not explicit else (f"title:{words}", "title")
    if in_path is not None:
        return f"path:{_without_version(record)}:{words}", "path"
    if in_file_name is not None and (
        in_file_name.is_explicit or not is_periodic(f"{record.title} {_stem(record)} {_folder(record)}")
    ):
        return f"title:{words}", "title"
    return "", ""


def _find_designation(record: DocumentRecord) -> tuple[str, EditionMark | None] | None:
    """Find a record's own designation, with the edition next to it."""
    stated = [(value, False) for key in DESIGNATION_KEYS if (value := record.label(key))]
    for name, slug in ((record.title, False), *stated, (record.id, True), (_stem(record), True)):
        if not (_ISSUED if slug else _SHOUTED).search(name):
            continue
        for designation, _, end in designations_at(name, slug=slug):
            if re.fullmatch(r"(?:19|20)\d\d", designation.core[0]) or (slug and not designation.bodies & _ISSUERS):
                continue
            if slug and len(designation.edition) == 1 and designation.edition.isalpha():
                continue
            if slug and _VERSION_AT_END.search(name[:end]) is not None:
                continue  # "payments-api-v2": a version, and no standard of the API
            rest = f"{name[end:]} {record.title}"
            about = sorted(set(_ABOUT.findall(" ".join(re.findall(r"[a-z]+", rest.casefold())))))
            key = "|".join((*sorted(designation.bodies), "-".join(designation.core), *about))
            return f"designation:{key}", _beside(designation, name, end)
    return None


def _beside(designation: Designation, name: str, end: int) -> EditionMark | None:
    after = mark_of(name[end:])
    if not designation.edition:
        return after
    own = edition_in_field(designation.edition)
    kind = "" if own.date else "Rev. " if designation.edition.isdigit() else ""
    return EditionMark(f"{kind}{designation.edition.upper()}", own.date or (after.date if after else ""), own.version)


def _stem(record: DocumentRecord) -> str:
    return record.file_name.rpartition(".")[0] or record.file_name


def _path(record: DocumentRecord) -> str:
    return unquote(urlsplit(record.source_path).path if "://" in record.source_path else record.source_path)


def _folder(record: DocumentRecord) -> str:
    """Return the name of the nearest folder that is no number: "minutes" for "minutes/2024/2024-06-19.md"."""
    return next((each for each in reversed(_path(record).replace("\\", "/").split("/")[:-1]) if not each.isdigit()), "")


def _version_in_path(record: DocumentRecord) -> EditionMark | None:
    """Read a folder whose name is only a version: "v2/guide.md"; the nearest one counts."""
    for part in reversed(_path(record).replace("\\", "/").split("/")[:-1]):
        if _VERSION_PART.fullmatch(part):
            return mark_of(part)
    return None


def _without_version(record: DocumentRecord) -> str:
    parts = _path(record).replace("\\", "/").split("/")
    return "/".join("*" if _VERSION_PART.fullmatch(part) else part for part in parts)


def _date(value: str) -> str:
    mark = mark_of(value) if value else None
    return mark.date if mark is not None else ""


# ---- families


@dataclass(frozen=True, slots=True)
class Family:
    """The editions of one document, oldest first; those of one edition, such as two languages, are equal.

    Attributes:
        key: the family's key.
        records: at least two editions.
        current: those that answer unless another edition is requested.
        title: the document's title without its edition.
    """

    key: str
    records: tuple[DocumentRecord, ...]
    current: tuple[DocumentRecord, ...]
    title: str

    @property
    def older(self) -> tuple[DocumentRecord, ...]:
        """List those that do not answer by default, including drafts and withdrawn ones."""
        ids = {each.id for each in self.current}
        return tuple(each for each in self.records if each.id not in ids)

    @property
    def note(self) -> str:
        """Say which edition answers and which others exist."""
        now = ", ".join(dict.fromkeys(facts_of(each).label or each.id for each in self.current))
        rest = ", ".join(f"{facts_of(each).label or 'undated'} ({each.id})" for each in self.older)
        return f"{self.title}: the current edition is {now}; there are also {rest}."


class Editions:
    """Find the families among records.

    Args:
        records: of one collection, in one state.
    """

    def __init__(self, records: Sequence[DocumentRecord]) -> None:
        self._records: Sequence[DocumentRecord] = records
        confirmed = {value for record in records if (value := record.label(CONFIRMED))}
        groups: dict[str, list[DocumentRecord]] = {}
        for record in records:
            facts = facts_of(record)
            if facts.by and facts.family and (not facts.is_guess or facts.family in confirmed):
                groups.setdefault(facts.family, []).append(record)
        for key in _numbered_series(records, groups):
            del groups[key]
        self._replaced: dict[str, str] = {}
        self._join_replaced(groups)
        self.families = [found for key, each in groups.items() if (found := self._family(key, each)) is not None]
        """The families with at least two editions."""
        self._of = {record.id: family for family in self.families for record in family.records}
        self.superseded = tuple(sorted(each.id for family in self.families for each in family.older))
        """Ids of documents that do not answer by default."""
        self._records = ()  # only families are kept, however many documents there are

    def family_of(self, document_id: str) -> Family | None:
        """Return the family of a document, None if it is the only edition."""
        return self._of.get(document_id)

    def _join_replaced(self, groups: dict[str, list[DocumentRecord]]) -> None:
        """Add to a document's family what it says it replaces."""
        saying = [record for record in self._records if facts_of(record).replaces]
        if not saying:
            return
        directory = Directory(self._records)
        home = {record.id: key for key, each in groups.items() for record in each}
        for record in saying:
            if facts_of(record).by == "by hand" and not facts_of(record).family:
                continue
            for old in _find_replaced(record, directory):
                mine = home.get(record.id) or f"replaces:{record.id}"
                groups.setdefault(mine, [])
                theirs = groups.pop(home[old.id], [old]) if old.id in home and home[old.id] != mine else [old]
                for each in (record, *theirs):
                    home[each.id] = mine
                    if each not in groups[mine]:
                        groups[mine].append(each)
                self._replaced[old.id] = record.id

    def _family(self, key: str, records: list[DocumentRecord]) -> Family | None:
        ordered = sorted(records, key=self._order(records))
        replaced = [each for each in ordered if each.id in self._replaced]
        labels = {_rank_of(each) for each in ordered}
        if len(ordered) < 2 or (
            len(labels) < 2 and not replaced and not any(facts_of(each).status for each in ordered)
        ):
            return None
        gone = {EditionStatus.DRAFT, EditionStatus.SUPERSEDED, EditionStatus.WITHDRAWN}
        alive = [each for each in ordered if facts_of(each).status not in gone and each.id not in self._replaced]
        alive = alive or [each for each in ordered if each.id not in self._replaced] or ordered
        rank = self._order(records)
        current = tuple(each for each in alive if rank(each)[:2] == rank(alive[-1])[:2])
        title = next((words for each in reversed(ordered) if (words := _title(each))), ordered[-1].title)
        return Family(key, tuple(ordered), current, title) if len(current) < len(ordered) else None

    def _order(self, records: Sequence[DocumentRecord]):
        dated = all(facts_of(each).date for each in records)
        numbered = all(facts_of(each).version for each in records)

        def rank(record: DocumentRecord) -> tuple[tuple[int, ...], str, str]:
            facts = facts_of(record)
            if numbered and not (dated and len({facts_of(each).date for each in records}) > 1):
                return facts.version, "", record.id
            return (() if dated else facts.version), facts.date, record.id

        return rank


_NUMBER = re.compile(r"(?<![\w.-])\d{1,6}(?![\w.-])")


def _numbered_series(records: Sequence[DocumentRecord], groups: Mapping[str, Sequence[DocumentRecord]]) -> list[str]:
    """List the families of bare years to which other documents with the same words and any number belong.

    Among "Pump 1866" and "Pump 2307", "Pump 1919" and "Pump 2016" have no years.
    """
    bare = {
        key
        for key, members in groups.items()
        if key.startswith("title:") and not any(facts_of(each).is_certain for each in members)
    }
    if not bare:
        return []
    unmarked = (each.title for each in records if not facts_of(each).by and mark_of(each.title) is None)
    numbered = (_NUMBER.sub(" ", each, count=1) for each in unmarked if _NUMBER.search(each))
    return list(bare & {f"title:{without_marks(each)}" for each in numbered})


def current_of(records: Sequence[DocumentRecord]) -> tuple[list[DocumentRecord], str]:
    """List the records that answer unless another edition is requested, and how many are left out."""
    older = frozenset(Editions(records).superseded)
    kept = [each for each in records if each.id not in older]
    left_out = how_many(len(older), "older edition is", "older editions are")
    return kept, f"{left_out} omitted; give an edition's id to include it." if older else ""


def _rank_of(record: DocumentRecord) -> tuple[str, tuple[int, ...]]:
    facts = facts_of(record)
    return facts.date, facts.version


def _title(record: DocumentRecord) -> str:
    mark = re.escape(facts_of(record).label)
    title = re.sub(rf"\(\s*{mark}\s*\)|(?<!\w){mark}(?!\w)", "", record.title) if mark else record.title
    return " ".join(title.split()).strip(" ,:-–—")


def _find_replaced(record: DocumentRecord, directory: Directory) -> list[DocumentRecord]:
    """Find the documents that one says it replaces; other editions of its designation are in its family already."""
    found: dict[str, DocumentRecord] = {}
    for statement in facts_of(record).replaces:
        designations = list(mentioned(statement))
        designations += [each for number in replaced_in(statement) for each in mentioned(f"RFC {number}")]
        for each in designations:
            for like in directory.alike(each):
                other = like.record
                if other.id != record.id and like.is_whole and not like.is_other_edition and not like.is_part:
                    found.setdefault(other.id, other)
    return list(found.values())
