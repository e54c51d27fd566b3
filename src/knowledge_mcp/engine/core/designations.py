"""Designations of documents ("IEEE 29148:2018", "RFC 9000", "MIL-STD-498"), and the records that they name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import PurePosixPath
from urllib.parse import unquote, urlsplit

from knowledge_mcp.model.collection import DESIGNATION_KEYS, DocumentRecord
from knowledge_mcp.support.checkpoints import check_each

_TOKEN = re.compile(r"[a-z]+|\d+")
_WORD = re.compile(r"[^\W\d_]+|\d+")
_GAP = re.compile(r"[\s/_.\-]*")
_YEAR = re.compile(r"(?:19|20)\d\d")
_GENERIC = frozenset(
    "std standard tr ts guide part pub publication special sp no version v draft pas amd cor the pdf html doc"
    " regulation directive decision commission council delegated implementing".split()
)
"""Words before a number that do not name an issuer; "SP" alone is not an issuer either."""
_EDITIONS = frozenset({"r", "rev", "revision", "ed", "edition", "v", "ver", "version"})
_CONNECTING = frozenset("a an and as at by for from in of on or per the to under with".split())
_CLAUSE = re.compile(r"(?:[A-Z]\.)?\d{1,3}(?:\.\d{1,3})*|[A-Z](?:\.\d{1,3})+|(?:Annex|Table|Figure) [\w.-]{1,20}")
_MOST_WORDS = 6
_WITH_DOTS = (
    r"(?<![\w.])(?:(?:3GPP[\s_-]{1,3})?T[RS][\s_-](?P<number>\d{2}\.\d{3}(?:-\d{1,2})?)(?!\d)"
    r"(?:[\s,_-]{1,3}V(?P<version>\d{1,2}\.\d{1,2}\.\d{1,2}))?"
    r"|(?P<title>\d{1,2})[\s_-]{1,3}(?P<code>CFR|C\.F\.R\.|USC|U\.S\.C\.)[\s_-]{1,3}(?:(?:[Pp]arts?[\s_-]|§|Sec\.)[\s§]{0,3})?"
    r"(?P<section>\d{1,5}[a-z]?(?:\.\d{1,4}[a-z]?)?)(?![\w.]\w))"
)
"""Specifications of 3GPP and sections of the laws of the United States, whose numbers contain dots."""
_DOTTED, _DOTTED_SLUG = re.compile(_WITH_DOTS), re.compile(_WITH_DOTS, re.IGNORECASE)
_UNION = frozenset({"eu", "ec", "eec"})
_UNION_IN_BRACKETS = re.compile(r"\((EU|EC|EEC)\)")
"""Numbers of European Union laws: "(EU) 2016/679", "(EU) No 305/2011" or "2014/33/EU"."""


@dataclass(frozen=True, slots=True)
class Designation:
    """A designation in parts.

    Attributes:
        bodies: the issuers, lower case: {"iso", "iec", "ieee"}.
        core: its number in parts, with a preceding letter: ("29148",), ("800", "53"), ("x", "509").
        edition: year, revision or letter ("2018", "5", "e"), empty if not stated.
    """

    bodies: frozenset[str]
    core: tuple[str, ...]
    edition: str = ""

    @property
    def words(self) -> str:
        """Write it as search words."""
        return " ".join((*sorted(self.bodies), "-".join(self.core)))


@dataclass(frozen=True, slots=True)
class DesignationMatch:
    """How well a record's document matches a designation.

    Attributes:
        record: the document.
        edition: its own, empty if its names do not state one.
        is_other_edition: another edition than the one named.
        is_part: only one part of the series named: ISO 10303-11 for ISO 10303.
        is_whole: one of its names is exactly the designation.
    """

    record: DocumentRecord
    edition: str
    is_other_edition: bool = False
    is_part: bool = False
    is_whole: bool = False


@dataclass(frozen=True, slots=True)
class _Token:
    text: str
    start: int
    end: int


def designations(name: str, *, slug: bool = False) -> Iterator[Designation]:
    """List the possible designations in a name; if "-" replaces all other characters, the name is a slug.

    In a title a designation is at the beginning or after punctuation ("Requirements (IEEE 29148)"), with its issuer in
    capitals; one that is only mentioned ("Guide to ISO 9001") does not count. In a slug it is at the beginning.
    """
    for designation, _, _ in designations_at(name, slug=slug):
        yield designation


def designations_at(name: str, *, slug: bool) -> Iterator[tuple[Designation, int, int]]:
    """Yield the possible designations in a name, each with its start and end."""
    for found in _scan(name, slug=slug):
        if found[1] == 0 if slug else _opens(name, found[1]):
            yield found


def mentioned(text: str) -> Iterator[Designation]:
    """Yield every designation mentioned in a text, with its issuer in capitals."""
    for designation, _, _ in mentions_at(text):
        yield designation


def mentions_at(text: str) -> Iterator[tuple[Designation, int, int]]:
    """Yield every designation mentioned in a text, each with its start and end."""
    yield from _scan(text, slug=False)


def designation_of(target: str) -> tuple[Designation, str] | None:
    """Parse the normal form of a reference into the designation and the clause after it, empty if there is none.

    "IEEE 29148:2018 6.2" is clause 6.2 of IEEE 29148:2018. None if it is not exactly a designation.
    """
    for designation, start, end in _scan(target, slug=False):
        rest = target[end:].strip(" ,.")
        if start == 0 and (not rest or _CLAUSE.fullmatch(rest)):
            return designation, rest
    return None


def _scan(name: str, *, slug: bool) -> Iterator[tuple[Designation, int, int]]:
    """Yield each designation with its start and end."""
    name = _UNION_IN_BRACKETS.sub(r" \1 ", name)
    folded = name.casefold()
    text = folded if len(folded) == len(name) else name.lower()
    begun = 0
    tokens = [_Token(match.group(), match.start(), match.end()) for match in _TOKEN.finditer(text)]
    for match in (_DOTTED_SLUG if slug else _DOTTED).finditer(name):
        yield from _numbered(name, text, [each for each in tokens if begun <= each.start < match.start()], slug=slug)
        yield _dotted(match), *match.span()
        begun = match.end()
    yield from _numbered(name, text, [each for each in tokens if each.start >= begun], slug=slug)


def _dotted(match: re.Match[str]) -> Designation:
    """Build the designation of a 3GPP specification, or of a section of a code of laws."""
    if match["number"]:
        return Designation(frozenset({"3gpp"}), tuple(re.split(r"[.-]", match["number"])), match["version"] or "")
    code = "cfr" if "f" in match["code"].lower() else "usc"
    return Designation(frozenset({code}), (match["title"], *match["section"].lower().split(".")))


def _numbered(name: str, text: str, tokens: list[_Token], *, slug: bool) -> Iterator[tuple[Designation, int, int]]:
    """Yield the designations with an issuer and a number, each with its start and end."""
    for number, token in enumerate(tokens):
        if token.text.isalpha() or number == 0 or not tokens[number - 1].text.isalpha():
            continue
        first = _issuer(name, tokens, number, slug=slug)
        if first is not None and (read := _read(text, tokens, first, number)) is not None:
            yield read[0], tokens[first].start, read[1]


def _issuer(name: str, tokens: list[_Token], number: int, *, slug: bool) -> int | None:
    """Return where the words begin before a number that may name its issuer: those in capitals, in a slug all."""
    first = number
    while first > 0 and number - first < _MOST_WORDS:
        token = tokens[first - 1]
        printed = name[token.start : token.end]
        gap = name[token.end : tokens[first].start]
        fits = slug or printed.isupper() or token.text in _GENERIC
        connects = token.text in _CONNECTING and gap != ""  # the letter of "A23.3" connects nothing
        if not (token.text.isalpha() and fits and not connects and _GAP.fullmatch(gap)):
            break
        first -= 1
    return first if first < number else None


def _opens(text: str, start: int) -> bool:
    before = text[:start].rstrip()
    return not before or not before[-1].isalnum()


def _read(text: str, tokens: list[_Token], first: int, number: int) -> tuple[Designation, int] | None:
    words = [token.text for token in tokens[first:number]]
    core: list[str] = []
    if len(words) > 1 and len(words[-1]) == 1 and words[-1] not in _GENERIC:
        core.append(words.pop())
    bodies = frozenset(word for word in words if word not in _GENERIC and len(word) > 1)
    core.append(tokens[number].text)
    index = number + 1
    while index < len(tokens) and _are_joined(text, tokens[index - 1], tokens[index]):
        token = tokens[index].text
        if token.isalpha() or (_YEAR.fullmatch(token) and bodies.isdisjoint(_UNION)):
            break
        core.append(token)
        index += 1
    if not bodies and len(core) > 1 and index < len(tokens) and tokens[index].text in _UNION:
        return Designation(frozenset({tokens[index].text}), tuple(core)), tokens[index].end
    if not bodies:
        return None
    edition, used = _edition(text, tokens, index)
    return Designation(bodies, tuple(core), edition), tokens[index + used - 1].end


def _are_joined(text: str, first: _Token, second: _Token) -> bool:
    return re.fullmatch(r"[-.:/_]?", text[first.end : second.start]) is not None


def _edition(text: str, tokens: list[_Token], index: int) -> tuple[str, int]:
    """Read the edition after a number (a year, "Rev. 5", "r5", or an attached letter as in "882E") and its tokens."""
    if index >= len(tokens):
        return "", 0
    token, gap = tokens[index], text[tokens[index - 1].end : tokens[index].start]
    if _YEAR.fullmatch(token.text) and re.fullmatch(r"\s?[-:_(]\s?|", gap):
        return token.text, 1
    following = tokens[index + 1].text if index + 1 < len(tokens) else ""
    if token.text in _EDITIONS and following.isdigit() and re.fullmatch(r"[\s,.(_-]*", gap):
        return following, 2
    return (token.text, 1) if len(token.text) == 1 and not gap else ("", 0)


def names_of(record: DocumentRecord) -> list[tuple[str, bool]]:
    """List a record's names, each with whether it is a slug: title, metadata, id, file name."""
    path = unquote(urlsplit(record.source_path).path) or record.source_path
    metadata = dict(record.metadata)
    stated = [metadata[key] for key in DESIGNATION_KEYS if metadata.get(key)]
    stem = PurePosixPath(path.replace("\\", "/")).stem
    return [(record.title, False), *((each, False) for each in stated), (record.id, True), (stem, True)]


def words_of(name: str) -> set[str]:
    """Split a name into its words and numbers, without the "s" of plurals."""
    found = _WORD.findall(name.casefold())
    return {each.removesuffix("s") if len(each) > 3 else each for each in found}


class Directory:
    """Find documents by designation or by the words of their names; each document's names are read once.

    Args:
        records: the documents.
    """

    def __init__(self, records: Iterable[DocumentRecord]) -> None:
        self._known: dict[str, list[tuple[DocumentRecord, Designation, bool]]] = {}
        self._called: dict[str, set[str]] = {}
        for record in check_each(records):
            for name, slug in names_of(record):
                for word in words_of(name):
                    self._called.setdefault(word, set()).add(record.id)
                for known, start, end in designations_at(name, slug=slug):
                    is_whole = start == 0 and not name[end:].strip(" ()[]")
                    self._known.setdefault(known.core[0], []).append((record, known, is_whole))

    def called(self, words: Iterable[str]) -> str | None:
        """Return the id of the only document whose names contain all of some words; None if there is not one."""
        found: set[str] | None = None
        for part in chain.from_iterable(map(words_of, words)):
            having = self._called.get(part, set[str]())
            found = set(having) if found is None else found & having
        return next(iter(found)) if found is not None and len(found) == 1 else None

    def alike(self, designation: Designation) -> list[DesignationMatch]:
        """List the documents related to a designation, each once, in the records' order."""
        best: dict[str, DesignationMatch] = {}
        for record, known, is_whole in self._known.get(designation.core[0], ()):
            if not known.bodies & designation.bodies or known.core[: len(designation.core)] != designation.core:
                continue
            likeness = DesignationMatch(
                record,
                known.edition,
                is_other_edition=bool(designation.edition and known.edition and designation.edition != known.edition),
                is_part=len(known.core) > len(designation.core),
                is_whole=is_whole,
            )
            if record.id not in best or _rank(likeness) < _rank(best[record.id]):
                best[record.id] = likeness
        return list(best.values())

    def named(self, designation: Designation, clause: str = "") -> tuple[list[DesignationMatch], str]:
        """List the documents that a designation and a clause name, with the clause.

        A section of the Code of Federal Regulations is a clause of its part: 29 CFR 1910.134 is § 1910.134 of 29 CFR
        1910.
        """
        alike = self.alike(designation)
        if alike or clause or "cfr" not in designation.bodies or len(designation.core) < 3:
            return alike, clause
        part = Designation(designation.bodies, designation.core[:2])
        return self.alike(part), ".".join(designation.core[1:])


def _rank(likeness: DesignationMatch) -> tuple[bool, bool, bool, bool]:
    return likeness.is_part, likeness.is_other_edition, not likeness.edition, not likeness.is_whole
