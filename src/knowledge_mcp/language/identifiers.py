"""Explicit identifiers of requirements: `[REQ-12]`, `SRS-4.2.1`, `AC-2(3)`, `R1.2`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from knowledge_mcp.language.force import Convention, force_of
from knowledge_mcp.language.multilingual.places import NUMBERED
from knowledge_mcp.language.openings import COMMENTARY_WORDS
from knowledge_mcp.model.document import PROSE_KINDS, BlockKind, Document
from knowledge_mcp.support.checkpoints import check_each

_WORD = r"[^\W\d_][\w./-]{0,47}(?:\(\w{1,3}\)){0,3}"
_BRACKETED = re.compile(rf"\[(?P<id>{_WORD})\]")
_FIRST = re.compile(
    rf"(?P<open>[*_`\[({{<]{{0,4}})(?P<id>{_WORD})(?P<close>[*_`\])}}>:|–—]{{0,4}})(?P<gap>\s*(?:[|–—-]\s)?\s*)"
)
_WHOLE = re.compile(r"[^\W\d_]{1,12}(?=[0-9_./-])[\w./-]*?(?<=[0-9])[a-z]?(?:\(\w{1,3}\)){0,3}\Z")
_MARKER = re.compile(r"\s*(?:[-*•–·▪]|\(?[A-Za-z0-9]{1,3}[.)])\s+")
_FOREIGN = re.compile(
    r"(?:(?:non|pre|post)-)?(?:ISO|IEC|IEEE|RFC|EN|DIN|BS|ANSI|ASTM|ASME|ITU|NIST|FIPS|SP|MIL|STD|DI|DOD|TABLE|FIGURE|FIG|SECTION|CLAUSE|ANNEX"
    r"|APPENDIX|NOTE|EXAMPLE|CHAPTER|PART|STEP|VERSION|VER|REV|REVISION|EDITION|DRAFT|ITEM|PAGE|VOL|CWE|CVE|UTF|SHA|MD|TLS|SSL|HTTP|IPV|AES|RSA|HTML"
    r"|CSS|ES|USB|PDF|UML|XML|OAUTH|IP|TCP|UNIT|LEVEL|CLASS|TYPE|PHASE|DAY|WEEK|YEAR|EQ|EQUATION|ECMA|OMG|W|BCP|STD)[\W_\d]",
    re.IGNORECASE,
)
_PLACE = re.compile(rf"(?:{NUMBERED}|Teil|Beispiel|Anmerkung|Stufe|Klasse|Niveau|Classe|Nivel|Livello)[\s-]{{0,3}}\d")
_ANNEXED = re.compile(r"[A-Z](?<![RFNSQ])-\d{1,3}(?:\.\d{1,3})+\.?(?:\(|\Z)")
"""A clause of an annex, or the note to a clause: "D-1.7.2", "A-9.8.8.3.(1)"; the letters left out name requirements."""
_SHAPED = re.compile(r"[^\W\d_a-zß-ÿ]|[a-z]{1,5}[A-Z]")
_SPACED = re.compile(r"(?P<id>[A-Z]{2,6} \d{1,4}(?:\.\d{1,4})*)(?:\s*[:–—-]|\.)\s*[A-Z\"“]")
_ID_ROW = re.compile(
    r"\|\s*[*_]*(?:requirement\s+|req\.?\s+)?(?:id|identifier|number|no\.?)[*_]*\s*"
    r"\|\s*+(?P<id>[^|\s](?:[^|]*[^|\s])?)\s*+\|",
    re.I,
)


PUBLIC_NAMES = (
    *("reqif.foreignid", "object identifier", "foreignid", "id", "identifier", "global id", "item id", "req id"),
    *("requirement id", "uid", "key"),
)
"""Attribute names, lower case, that tools use for the name people give an item; other identifiers are for programs."""


def is_foreign(text: str) -> bool:
    """Return whether a name is that of a place ("Artikel 5"), step, standard or similar, and not of a requirement."""
    return _FOREIGN.match(text) is not None or _PLACE.match(text) is not None


def is_identifier(text: str) -> bool:
    """Return whether the whole text looks like a requirement's identifier, not like another document's number."""
    return _WHOLE.match(text) is not None and _SHAPED.match(text) is not None and not is_foreign(text)


def requirement_identifier(sentence: str) -> str | None:
    """Find the identifier that a sentence starts with or contains in brackets; None if there is none."""
    marker = _MARKER.match(sentence)
    match = _FIRST.match(sentence, marker.end() if marker else len(sentence) - len(sentence.lstrip()))
    if match is not None:
        printed = match.group("id")
        name = printed.rstrip("._-/")
        marked = (
            bool(match.group("open") or match.group("close")) or name != printed or match.group("gap").strip() != ""
        )
        if is_identifier(name) and (match.group("gap") or match.group("close")):
            following = sentence[match.end() :].lstrip('*_`"“[(')[:1]
            if following and (marked or (re.search(r"[-_.(]", name) and following.isupper())):
                return name
    spaced = _SPACED.match(sentence, marker.end() if marker else 0)
    if spaced is not None and not is_foreign(spaced.group("id")):
        return spaced.group("id")
    if (named := _NAMED.match(sentence)) is not None:
        return named.group("id")
    for found in _BRACKETED.finditer(sentence):
        inner = found.group("id")
        if re.match(r"[A-Za-z]{2}", inner) and re.search(r"[-_.]", inner) and is_identifier(inner):
            return inner
    return None


def heading_identifier(label: str) -> str | None:
    """Find the identifier that a heading's label starts with ("AC-2 ACCOUNT MANAGEMENT"); None if there is none."""
    words = label.strip().strip("*_`").split(None, 1)
    if not words:
        return None
    first = words[0].strip("[]():.–—*_`")
    if first.count(")") < first.count("("):
        first += ")"
    is_named = is_identifier(first) and re.search(r"[-_]", first) and not _ANNEXED.match(first)
    return first if is_named else None


def file_identifier(stem: str) -> str | None:
    """Find the identifier that a file name starts with; it must end in its own number ("REQ-12 Login")."""
    found = heading_identifier(stem)
    return found if found is not None and re.search(r"[-_.]\d+[a-z]?\Z", found) else None


def table_identifier(table: str) -> str | None:
    """Find the identifier in a small table of properties (a row `| ID | REQ-12 |`); None if there is none."""
    match = _ID_ROW.search(table) if table.count("\n") <= 15 else None
    if match is None:
        return None
    inner = match.group("id").strip("*_` ")
    is_named = re.search(r"[^\W\d_]|#", inner) is not None and _HEADED_ID.fullmatch(inner) is not None
    return inner if is_identifier(inner) or (is_named and not is_foreign(inner)) else None


_PARTS = re.compile(r"[^\W\d_]+|\d+")
_TOPIC_PATTERN = re.compile(
    r"[\[(<{\"'`]?(?:[A-Za-z]{1,12}(?:[-_./][A-Za-z][A-Za-z0-9]{0,15}){0,5}[-_./]?\d[A-Za-z0-9]*(?:[-_./][A-Za-z0-9]+)*"
    r"(?:\(\w{1,3}\))*|[A-Z]{1,12} \d{1,6}(?:\.\d{1,4})*|[a-z]{2,6} \d{1,6}(?:\.\d{1,4})*)[\])>}\"'`]?"
)
_WITHIN = re.compile(
    r"(?<![\w./-])(?:[A-Za-z]{1,12}(?:[-_][A-Za-z][A-Za-z0-9]{0,15}){0,5}[-_.]?\d[A-Za-z0-9]*(?:[-_.][A-Za-z0-9]+)*"
    r"(?:\(\w{1,3}\))*|[A-Z]{2,6} \d{1,6}(?:\.\d{1,4})*)(?![\w(-])"
)
_CLAUSE = re.compile(
    r"(?:(?:clause|section|sub-?clause|paragraph|§)\s*)?(?P<number>\d{1,3}(?:\.\d{1,3})+|[A-Z](?:\.\d{1,3})+)\.?",
    re.IGNORECASE,
)


def identifier_key(text: str) -> tuple[str, ...]:
    """Reduce an identifier to its words and numbers: `SRS-4.2.1` and `srs 4.2.1` are equal, `FR01` and `FR 1` too."""
    return tuple(str(int(part)) if part.isdecimal() else part.lower() for part in _PARTS.findall(text))


def is_below(key: tuple[str, ...], prefix: tuple[str, ...]) -> bool:
    """Return whether an identifier starts with another, part by part: SRS-4.2.1 with SRS-4.2, not REQ-12 with REQ-1."""
    return len(key) > len(prefix) and key[: len(prefix)] == prefix


def identifiers_in_topic(topic: str) -> list[str]:
    """List the likely requirement identifiers: the whole topic, or otherwise all inside it, in order."""
    words = topic.strip().rstrip(".,;:?!")
    if clause_in_topic(words) is not None:
        return []
    if _TOPIC_PATTERN.fullmatch(words):
        return [words[1:-1] if words[:1] in "[(<{\"'`" else words]
    return list(dict.fromkeys(match.group() for match in _WITHIN.finditer(words)))


def clause_in_topic(topic: str) -> str | None:
    """Return the clause number that is the whole topic ("5.3.1", "clause A.2"), None if it is not one."""
    match = _CLAUSE.fullmatch(topic.strip())
    return None if match is None else match.group("number").upper()


def spellings(identifier: str) -> str:
    """Build a search text of an identifier's spellings: as asked, with dashes, with blanks, without either."""
    match = re.fullmatch(r"([A-Za-z]+)[-_. ]?(\d[\w.()/-]*)", identifier)
    if match is None:
        return identifier
    letters, number = match.group(1), re.sub(r"^0+(?=\d)", "", match.group(2))
    return " ".join(dict.fromkeys((identifier, f"{letters}-{number}", f"{letters}{number}", f"{letters} {number}")))


_LABEL = re.compile(
    r"[*_`\[({<]{0,4}(?P<id>(?P<family>[^\W\d_]{1,12}(?:[-_.][^\W\d_]{1,12}){0,4})(?P<gap>[-_. ]?)"
    r"(?P<number>\d{1,6}(?:(?:[.-]|\.[A-Z]{1,2})\d{1,4}){0,5}[a-z]?(?:\(\w{1,3}\)){0,3}))(?P<close>[*_`\])}>:|.]{0,4})"
    r"(?P<sep>\s*(?:[–—-]|:)\s*|\s+|(?<=[\])}>:|])|\Z)"
)
_OPENING = re.compile(r"(?:[-*•–·▪]\s+)?")
_VOID = re.compile(
    r"\W*(?:void|deleted|removed|reserved|withdrawn|not\s+used|unused|(?:this\s+\w+\s+)?intentionally\s+(?:left\s+)?blank"
    r"|superseded|obsolete|n/?a|tb[dcsr]|none|satisf|see\b|>>)\b",
    re.IGNORECASE,
)
ASIDES = (
    r"(?:Rationale|Justification|Discussion|Supplemental\s+Guidance|Guidance|Comments?|Remarks?"
    r"|Verification(?:\s+[Mm]ethods?)?|Acceptance\s+[Cc]riteria|Fit\s+[Cc]riteri(?:on|a)|Trace(?:ability|s)?|Source)"
)
"""Labels of what is said about a requirement and is not part of it."""
_ASIDE = re.compile(rf"(?<![^\s|])[*_]*{ASIDES}[*_]*\s*:")
_ASIDE_HEADER = re.compile(
    rf"[*_]*(?:{ASIDES}|{COMMENTARY_WORDS}|Method\s+of\s+verification|Notes?|Explanations?|Explanatory\s+text|Interpretations?"
    r"|Begründung|Anmerkung(?:en)?|Bemerkung(?:en)?|Hinweise?|Remarques?|Observaciones)[*_]*\s*:?",
    re.IGNORECASE,
)
_ID_HEADER = re.compile(
    r"(?!(?:parent|source|related|linked|trace|test|verification|hazard|risk)\b)(?:\w{1,20}[\s_.-]){0,2}(?:ids?|identifiers?)#?"
    r"|(?:(?:requirements?|reqs?\.?|spec(?:ification)?|controls?|rule|clause|condition|item|measure|ref\.?|lfd\.?)[\s_]?)?"
    r"(?:ids?|numbers?|no\.?|nr\.?|n[°º]|\#|key|tag|label)",
    re.IGNORECASE,
)
"""A head above the rows' own identifiers, and not those of other things; of these, "Test ID" and "Parent ID"."""
_KIND = "(?:Requirement|Recommendation|Permission|Anforderung|Exigence|Requisito)"
_CARD = re.compile(rf"{_KIND}\s\d{{1,4}}[a-z]?", re.IGNORECASE)
_NAMED = re.compile(
    rf"\W{{0,4}}(?P<id>(?i:{_KIND})\s\d{{1,4}}(?:[-.]\d{{1,4}}){{0,3}}[a-z]?)(?:\s*[:.–—]\s*|\s+)"
    r"(?=[“\"'(]?[^\W\d_](?<![a-zß-ÿ])(?![A-Z]))"
)
"""A kind and a number before a sentence: "Requirement 5-2 The server shall …", not "Requirement 5 applies"."""
_PATH = re.compile(r"(?:/\w[\w.-]{0,60}){2,6}(?=\s)")
_PROPERTY = re.compile(
    r"[-*•_\s]*(?:requirement\s+)?(?:id|identifier|req(?:uirement)?\.?\s*(?:no\.?|number|#)|tag)[*_]*\s*[:=][*_]*\s*"
    r"[*_`\[(]{0,3}(?P<id>[A-Za-z][A-Za-z]{0,11}(?:[-_.][A-Za-z0-9]{1,16}){0,6}[-_. ]?\d[\w.()/-]{0,20}?"
    r"|(?:/\w[\w.-]{0,60}){2,6})[*_`\])]{0,3}",
    re.IGNORECASE,
)
_TAG = re.compile(r"[\[{<](?P<id>[A-Za-z]{2,12}(?:[-_.][A-Za-z0-9]{1,16}){0,5}[-_. ]?\d[\w.-]{0,12})[\]}>]\.?")
_HEADED_ID = re.compile(r"#?(?:[^\W\d_]{0,12}[-_. /:]?\d[\w.()/:-]{0,30}|[^\W\d_]{1,12}(?:[-_./:][^\W_]{1,16}){1,6})")
_LEAST = 3
"""Minimum number of labels in a family."""


@dataclass(slots=True)
class _Family:
    numbers: set[str] = field(default_factory=set[str])
    blocks: int = 0
    obliging: int = 0


@dataclass(frozen=True, slots=True)
class Labels:
    """The families of labels that a document uses for requirements, in capitals ("SRS", "A-REQ").

    Attributes:
        families: those at the start of paragraphs, items and rows.
        headings: those at the start of headings ("FR1: Login").
        groups: keys of what other labels are below: R1 if there is R1.1.
    """

    families: frozenset[str]
    headings: frozenset[str] = frozenset()
    groups: frozenset[tuple[str, ...]] = frozenset()

    def opening(self, words: str) -> str | None:
        """Return the label of a known family that a sentence starts with, None if there is none."""
        match = _match(words)
        return match.group("id") if match is not None and _family(match) in self.families else None

    def heading(self, title: str) -> str | None:
        """Return the label of a known family that a heading starts with, None if there is none."""
        match = _LABEL.match(title.strip())
        return match.group("id") if match is not None and _family(match) in self.headings else None

    def is_group(self, label: str, words: str) -> bool:
        """Return whether a label with no more than a title is that of a group of labels: "R1: Accounts" above R1.1."""
        return identifier_key(label) in self.groups and not words.rstrip().endswith((".", ";", ":"))

    def knows(self, identifier: str) -> bool:
        """Return whether an identifier belongs to a known family."""
        match = _LABEL.match(identifier)
        return match is not None and _family(match) in self.families


def detect_labels(document: Document, convention: Convention) -> Labels:
    """Find the families of labels: each has at least three numbers, and force after at least half of its labels."""
    found: dict[str, _Family] = {}
    groups: set[tuple[str, ...]] = set()
    for words in check_each(_openings(document)):
        match = _match(words)
        if match is None or is_foreign(match.group("id")):
            continue
        key = identifier_key(match.group("id"))
        groups.update(key[:length] for length in range(1, len(key)))
        family = found.setdefault(_family(match), _Family())
        family.numbers.add(match.group("number"))
        family.blocks += 1
        family.obliging += force_of(words[match.end() :], convention) is not None
    return Labels(
        frozenset(
            name
            for name, family in found.items()
            if len(family.numbers) >= _LEAST and 2 * family.obliging >= family.blocks and _is_distinctive(name)
        ),
        _heading_families(document),
        frozenset(groups),
    )


def _heading_families(document: Document) -> frozenset[str]:
    """Find the families at the start of headings; one that is divided into clauses is none: "Task 101" with "101.1"."""
    found: dict[str, set[str]] = {}
    divided = {section.parent for section in document.sections if section.number and section.number[0].isdigit()}
    for section in document.sections:
        match = _LABEL.match(section.label)
        if match is not None and section.index not in divided and not is_foreign(match.group("id")):
            found.setdefault(_family(match), set()).add(match.group("number"))
    return frozenset(name for name, numbers in found.items() if len(numbers) >= _LEAST and _is_distinctive(name))


def _openings(document: Document) -> Iterator[str]:
    """Yield the text of paragraphs and items, and each row of tables without its first bar."""
    for block in document.blocks:
        words = block.span.of(document.text)
        if block.kind in PROSE_KINDS:
            yield words
        elif block.kind is BlockKind.TABLE:
            yield from (row.strip().lstrip("|").strip() for row in words.split("\n"))


def _match(words: str) -> re.Match[str] | None:
    """Match a label at the start of a text that continues like a sentence: with a capital, a quotation or a dash."""
    begin = _OPENING.match(words)
    match = _LABEL.match(words, begin.end() if begin else 0)
    if match is None:
        return None
    separated = bool(match.group("close")) or match.group("sep").strip() != ""
    following = words[match.end() :].lstrip('*_`"“[(|<\\ ')[:1]
    if not following or (not separated and not following.isupper()):
        return None
    if match.group("gap") == " " and not separated:
        return None  # "SRS 4 Libwarc" is ambiguous
    if match.group("sep").strip() and following.isdigit():
        return None  # "SRS 4-6" is a range
    return match


def _family(match: re.Match[str]) -> str:
    return match.group("family").upper()


def _is_distinctive(family: str) -> bool:
    return len(family) >= 2 or family in {"R", "F", "N", "S", "Q"}


def cell_label(header: str, cell: str, first: bool, labels: Labels) -> str | None:
    """Read a table cell as an identifier: below a header for identifiers, or of a known family in the first column."""
    words = cell.strip().strip("*_`[]").strip()
    if not words or len(words) > 40:
        return None
    if _ID_HEADER.fullmatch(header.strip().strip("*_").strip()) and _HEADED_ID.fullmatch(words):
        return None if _PLACE.match(words) else words
    match = _LABEL.fullmatch(words)
    return words if first and match is not None and labels.knows(words) else None


def card_identifier(cells: Sequence[str]) -> str | None:
    """Read the first cells of a row that opens the card of a requirement: "Requirement 5", "Requirement 5 | /req/stop".

    Return its name in the second cell, if that is one word or begins with a path, otherwise the first cell; None if no
    card begins.
    """
    first, *others = (cell.strip(" *_`") for cell in cells)
    if _CARD.fullmatch(first) is None:
        return None
    named = (name for name in others if name[-1:].isalnum() and any(mark in name for mark in "-_./"))
    paths = (path.group() for name in others if (path := _PATH.match(name)))
    return next((name for name in [*paths, *named] if len(name.split()) == 1), first)


def is_card_of_requirement(name: str) -> bool:
    """Return whether the name of a card says that it obliges: "Requirement 5", not "Permission 5"."""
    return not name.strip(" *_`").lower().startswith(("recommendation", "permission"))


def is_card_name(words: str) -> bool:
    """Return whether a line is only the kind of a requirement and its number: "Requirement 5"."""
    return _CARD.fullmatch(words.strip(" *_`:.")) is not None


def stated_identifier(words: str) -> str | None:
    """Read a property line that contains an identifier ("ID: REQ-5"); None if it does not."""
    match = _PROPERTY.fullmatch(words.strip())
    return match.group("id") if match is not None else None


def trailing_tag(words: str) -> str | None:
    """Read a sentence that is only a tag in brackets ("[REQ-5]"); None if it is not."""
    match = _TAG.fullmatch(words.strip())
    return match.group("id") if match is not None and not is_foreign(match.group("id")) else None


def own_end(text: str, start: int, end: int) -> int:
    """Return where a paragraph's own text ends and its rationale, source or method of verification begins."""
    match = _ASIDE.search(text, start, end)
    return end if match is None else match.start()


def is_aside_header(header: str) -> bool:
    """Return whether a column is about requirements: rationale, source, method of verification."""
    return _ASIDE_HEADER.fullmatch(header.strip()) is not None


def is_void(words: str, label: str) -> bool:
    """Return whether the text after a label says that nothing is required."""
    rest = words.partition(label)[2] if label else words
    return _VOID.match(rest) is not None or not re.search(r"[A-Za-z]{2}", rest)
