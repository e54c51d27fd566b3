"""Reads what editions say about themselves: "2nd edition", "Rev. 5", "2018-11", "obsoletes RFC 7540", "withdrawn"."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum


class EditionStatus(StrEnum):
    """The status of an edition."""

    DRAFT = "draft"
    CURRENT = "current"
    SUPERSEDED = "superseded"
    WITHDRAWN = "withdrawn"


@dataclass(frozen=True, slots=True)
class EditionMark:
    """What a name says about its edition.

    Attributes:
        label: as printed: "2nd edition", "v1.2", "2018-11".
        date: `YYYY`, `YYYY-MM` or `YYYY-MM-DD`, empty if there is none.
        version: parts of the number, a letter as its position in the alphabet; empty if there is none.
        is_explicit: a word says that it is an edition; a bare year does not.
    """

    label: str
    date: str = ""
    version: tuple[int, ...] = ()
    is_explicit: bool = True


@dataclass(frozen=True, slots=True)
class EditionStatement:
    """What the beginning of a text says about its edition; fields are empty if it says nothing.

    Attributes:
        edition: as printed.
        published: `YYYY`, `YYYY-MM` or `YYYY-MM-DD`.
        replaces: what it says that it replaces, as printed.
        status: one of `EditionStatus`.
    """

    edition: str = ""
    published: str = ""
    replaces: tuple[str, ...] = ()
    status: str = ""


_ORDINALS: tuple[str, ...] = tuple(
    (
        "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth "
        "fifteenth sixteenth seventeenth eighteenth nineteenth twentieth"
    ).split()
)
_DATE = r"(?:19|20)\d\d(?:-(?:0[1-9]|1[0-2])(?:-(?:0[1-9]|[12]\d|3[01]))?)?"
_NUMBER = r"\d{1,4}(?:\.\d{1,4}){0,3}[a-z]?"
_KIND = r"(?:edition|issue|revision|version|release)"
_MARK = re.compile(
    rf"(?<![A-Za-z\d])(?:(?P<ordinal>\d{{1,2}})(?:st|nd|rd|th)[ -]{{1,3}}(?:{_KIND}|ed)(?![A-Za-z\d])\.?"
    rf"|(?P<word>{'|'.join(_ORDINALS)})[ -]{{1,3}}{_KIND}(?![A-Za-z\d])"
    rf"|(?:{_KIND}|ed|rev|ver|rel)(?![A-Za-z])[ .:-]{{0,3}}(?P<number>{_NUMBER}|(?-i:[A-Z]))(?![A-Za-z\d])"
    rf"|[vr](?P<short>\d{{1,4}}(?:\.\d{{1,4}}){{0,3}})(?![A-Za-z\d]|\.\d)"
    rf"|(?P<dotted>\d{{1,3}}\.\d{{1,3}}\.\d{{1,3}})(?![\w.-])"
    rf"|(?P<date>{_DATE})(?:[ ]edition)?(?![A-Za-z\d]|[-.]\d))",
    re.IGNORECASE,
)
_DRAFTS = re.compile(
    r"(?<![A-Za-z])(?:draft|working[ ]draft|committee[ ]draft|(?-i:FDIS|DIS))(?![A-Za-z])", re.IGNORECASE
)
_PERIODIC = re.compile(
    r"\b(?:annual|quarterly|monthly|weekly|daily|yearly|fiscal|fy\d{0,4}|q[1-4]|10-?[kq]|8-?k|reports?|minutes|agendas?"
    r"|meetings?|budgets?|newsletters?|accounts|statements?|results|earnings|proceedings|surveys?|statistics|census"
    r"|invoices?|conference|workshop|journal|bulletin|diary|logs?|changelog|notes|news|calendar|timetable|exams?"
    r"|seasons?|events?|transcripts?|letters?|posts?|forecast|outlook"
    r"|bekanntmachung(?:en)?|(?:\w{1,20})?berichte?|protokolle?|niederschrift(?:en)?|sitzung(?:en)?|rechnung(?:en)?"
    r"|haushaltsplan|statistik(?:en)?|comptes?[- ]rendus?|rapports?)\b",
    re.IGNORECASE,
)
_COUNTED = re.compile(
    r"\W*(?:articles?|cases?|chapters?|docs?|documents?|drawings?|entry|examples?|figures?|files?|forms?|images?|img|items?"
    r"|lines?|models?|orders?|pages?|papers?|parts?|photos?|projects?|records?|rooms?|samples?|scans?|sections?|sheets?"
    r"|tables?|tasks?|tickets?|units?|akte|anlage|auftrag|blatt|datei|dokument|drucksache|seite|vorgang|zeichnung)"
    r"[\W_]{0,3}(?:(?:no|nr|number)\b[\W_]{0,3})?\d",
    re.IGNORECASE,
)
"""Names that begin with a word for things that are counted and a number, which is no year then: "Document 1919"."""
_BLANK = re.compile(r"[\W_]+")
_EMPTY = re.compile(r"\(\s*\)|\[\s*\]")


def marks_in(name: str) -> Iterator[tuple[EditionMark, int, int]]:
    """Yield the edition marks of a name, each with its start and end; "_" counts as a blank."""
    for match in _MARK.finditer(name.replace("_", " ")):
        yield _read(match), match.start(), match.end()


def mark_of(name: str) -> EditionMark | None:
    """Combine all edition marks of a name, None if there are none: "2nd edition, 2018" has a number and a date."""
    found = [mark for mark, _, _ in marks_in(name)]
    if not found:
        return None
    return EditionMark(
        label=", ".join(dict.fromkeys(each.label for each in found)),
        date=next((each.date for each in found if each.date), ""),
        version=next((each.version for each in found if each.version), ()),
        is_explicit=any(each.is_explicit for each in found),
    )


def is_numbered(name: str) -> bool:
    """Return whether a name begins with the number of something counted, which may look like a year."""
    return _COUNTED.match(name.replace("_", " ")) is not None


def edition_in_field(value: str) -> EditionMark:
    """Read the value of an `edition` or `version` field, which may be just "2" or "B"."""
    text = value.strip()
    found = mark_of(text)
    if found is not None:
        return EditionMark(text, found.date, found.version)
    number = re.fullmatch(_NUMBER, text, re.IGNORECASE)
    if number is not None:
        return EditionMark(text, "", _pieces(text))
    if re.fullmatch(r"[A-Za-z]", text):
        return EditionMark(text, "", _pieces(text))
    return EditionMark(text)


def without_marks(name: str) -> str:
    """Reduce a name to its lower-case words without edition marks, which is what editions have in common."""
    text = name.replace("_", " ")
    for _, start, end in reversed(list(marks_in(text))):
        text = f"{text[:start]} {text[end:]}"
    return _BLANK.sub(" ", _EMPTY.sub(" ", _DRAFTS.sub(" ", text))).strip().casefold()


def is_periodic(name: str) -> bool:
    """Return whether a name is of a periodical document, which replaces nothing: minutes, reports."""
    return _PERIODIC.search(name.replace("_", " ")) is not None


def parse_status(value: str) -> str:
    """Read a status field; empty if it does not state the status of an edition."""
    word = value.strip().casefold()
    if _DRAFTS.search(word) or word in {"wip", "proposed", "proposal", "working draft"}:
        return EditionStatus.DRAFT
    if word in {"withdrawn", "cancelled", "canceled", "void", "historic", "historical"}:
        return EditionStatus.WITHDRAWN
    if word in {"superseded", "obsolete", "obsoleted", "replaced", "deprecated", "outdated", "archived"}:
        return EditionStatus.SUPERSEDED
    if word in {"current", "published", "active", "in force", "final", "released"}:
        return EditionStatus.CURRENT
    return ""


def _read(match: re.Match[str]) -> EditionMark:
    label = match.group().strip(" .-:")
    if match["date"]:
        return EditionMark(label, match["date"], (), is_explicit=label.casefold().endswith("edition"))
    if match["word"]:
        return EditionMark(label, "", (_ORDINALS.index(match["word"].casefold()) + 1,))
    number = match["ordinal"] or match["number"] or match["short"] or match["dotted"]
    if re.fullmatch(r"(?:19|20)\d\d", number):
        return EditionMark(label, number)
    return EditionMark(label, "", _pieces(number))


def _pieces(number: str) -> tuple[int, ...]:
    return tuple(
        int(piece) if piece.isdigit() else ord(piece.casefold()) - ord("a") + 1
        for piece in re.findall(r"\d+|[A-Za-z]", number)
    )


# ---- the beginning of a text

_BEGINNING = 6_000
"""Characters of cover, front matter and foreword, about three pages; later sentences are about other documents."""
_SUBJECT = (
    r"(?:this|the present)[ ](?:\w{1,12}[ ]){0,2}"
    r"(?:document|standard|specification|edition|version|memo|publication|revision|guide|handbook|regulation|policy)"
)
_LABELLED = re.compile(
    r"^[ \t>*_#|-]{0,8}(?:obsoletes|replaces|supersedes)[ *_]{0,4}:[ *_]{0,4}(?P<what>[^\n]{1,200})",
    re.IGNORECASE | re.MULTILINE,
)
_SENTENCE = re.compile(
    rf"\b{_SUBJECT}\b[^.\n]{{0,40}}?\b(?:obsoletes|replaces|supersedes|cancels[ ]and[ ]replaces)\b"
    r"(?P<what>[^\n]{1,200})",
    re.IGNORECASE,
)
_GONE = re.compile(
    rf"\b{_SUBJECT}[ ](?:has[ ]been|is|was)[ ](?P<how>withdrawn|cancelled|superseded|obsoleted|replaced)\b",
    re.IGNORECASE,
)
_STATUS = re.compile(
    r"^[ \t>*_#|-]{0,8}status[ *_]{0,4}:[ *_]{0,4}(?P<how>[A-Za-z ]{1,30})", re.IGNORECASE | re.MULTILINE
)
_EDITION_LINE = re.compile(
    rf"^[ \t>*_#|-]{{0,8}}(?P<said>(?:\d{{1,2}}(?:st|nd|rd|th)|{'|'.join(_ORDINALS)})[ ]{_KIND}"
    rf"|(?:{_KIND})[ *_]{{0,4}}:?[ *_]{{0,4}}(?:{_NUMBER}(?:-\w[\w.-]{{0,20}})?|(?-i:[A-Z])))(?![A-Za-z\d])"
    r"(?P<rest>[^\n]{0,40})$",
    re.IGNORECASE | re.MULTILINE,
)
_DATE_LINE = re.compile(
    rf"^[ \t>*_#|-]{{0,8}}(?:published|issued|date|publication date|date of issue|effective(?: date)?)[ *_]{{0,4}}:"
    rf"[ *_]{{0,4}}(?P<date>{_DATE})(?![\d-])",
    re.IGNORECASE | re.MULTILINE,
)
_COVER = 1_500
"""Characters of a cover, which states the edition on its own line."""


def edition_statement(text: str) -> EditionStatement:
    """Read what the beginning of a document says about its own edition and the earlier ones."""
    beginning, cover = text[:_BEGINNING], text[:_COVER]
    line = _EDITION_LINE.search(cover)
    date = _DATE_LINE.search(cover)
    published = date["date"] if date else ""
    if line is not None and not published:
        published = next((mark.date for mark, _, _ in marks_in(line.group()) if mark.date), "")
    replaces = [match["what"].strip() for match in (*_LABELLED.finditer(beginning), *_SENTENCE.finditer(beginning))]
    gone, status = _GONE.search(beginning), _STATUS.search(cover)
    word = gone["how"] if gone else status["how"] if status else ""
    return EditionStatement(
        edition=re.sub(r"[ *_:]{1,10}", " ", line["said"]).strip() if line else "",
        published=published,
        replaces=tuple(dict.fromkeys(replaces)),
        status=parse_status(word),
    )


def replaced_in(statement: str) -> list[str]:
    """List the bare numbers of "Obsoletes: 7540, 8740", which RFCs print without their publisher."""
    head = re.match(r"(?:[ ,]{0,3}\d{1,5}){1,20}", statement)
    return re.findall(r"\d{3,5}", head.group()) if head else []
