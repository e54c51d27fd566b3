"""Finds names in questions (clause numbers, requirement ids, symbols, terms), and how exactly a chunk matches one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from itertools import pairwise

from knowledge_mcp.language.openings import ANNEX_WORDS, FIGURE_WORDS, TABLE_WORDS
from knowledge_mcp.model.chunk import Chunk

_MOST = 3
"""Maximum names of one question that are looked up."""

_TOKEN = re.compile(r"[^\s,;!?\"'`´‘’“”<>{}|]+")
_MOST_EDGES = 20
"""Maximum passes that strip a word's edges; a more deeply wrapped word is not a name."""
_EDGES = ".:/-–—_*#§"
_CLAUSE = re.compile(r"(?:[A-Za-z]|\d{1,3})(?:\.\d{1,4})+[a-z]?")
_CODED = re.compile(r"(?=.*\d)(?=.*[A-Za-z])\w++(?:[-.:/‐‑]\w++|\(\w{1,4}\)(?:_\w++)?+)*+")
_SYMBOL = re.compile(r"[A-Za-z_$][\w$]*(?:(?:\.|::|#|->)[A-Za-z_$~][\w$]*)*(?:\(\))?")
_LOOKS_LIKE_CODE = re.compile(r"[a-z0-9][A-Z]|\w_\w|^_\w|::|->|\w\.[a-z]\w*\(|#\w|\(\)$")
_SPACED = re.compile(
    rf"\b(?P<shown>(?i:{TABLE_WORDS}|tab|{FIGURE_WORDS}|fig|abb))(?:\.?[ ]|\.)"
    rf"(?P<number>(?:[A-Z]\.)?\d{{1,3}}(?:[.-]\d{{1,3}})*)\b"
    rf"|\b(?P<annex>(?i:{ANNEX_WORDS}|app\.))[ ](?P<letter>[A-Z])(?!\.?\w)"
    r"|\b(?P<series>[A-Z]{2,10})[ ]\d{1,5}(?:[.-]\d{1,4})*[A-Z]?(?::(?:19|20)\d\d)?(?![.-]?\w)"
)
_KINDS = {
    "table": (rf"{TABLE_WORDS}|Tab", "Table Tabelle Tableau Tabla Tabella"),
    "figure": (rf"{FIGURE_WORDS}|Fig|Abb", "Figure Abbildung Bild Figura"),
    "annex": (rf"{ANNEX_WORDS}|app\.", "Annex Annexe Appendix Anhang Anexo"),
}
"""What a word and a number or letter name: the words in the languages of standards, and those to search for."""
_ANNEX = re.compile(r"[^\W\d]{2,} [a-z]")
_PERIOD = re.compile(r"(?:[FC]Y ?\d{2,4}|Q[1-4]|H[12])+", re.IGNORECASE)
_SHOUTS = re.compile(r"[A-Z]|[-_:/‐‑(]")
_PARTS = re.compile(r"[^\W\d_]+|\d+(?:\.\d+)*")
_SEPARATORS = re.compile(r"::|\\\.|\\#|\\->")
_ANY_SEPARATOR = r"(?:\\.|::|\\#|->)"
_AT_JOINTS = re.compile(r"-|(?<=[a-z])\.")
_JOINT = r"[\s\-_.:/‐‑(]?"

_PLACES = frozenset(
    "abschnitt annex appendix art article artikel ch chapter cl clause kapitel para paragraph rule sec sect section"
    " subclause subsection §".split()
)
"""Words after which a number is a clause number."""

_CUES = _PLACES | frozenset(
    "a about control def define defined defines definition describe described details do does explain find for func "
    "function get give id identifier in is item lookup method me no number of on open please point read req "
    "requirement require requires say says show state states symbol table tell text that the what where which".split()
)
"""Words that may accompany a name without asking for anything else."""

_INNER = r"(?:section|clause|paragraph|abschnitt)[ ]"
_WITHIN = re.compile(
    rf"\b(?:{_INNER}(?P<number>\d{{1,3}}(?:\.\d{{1,3}})*)[ ](?:of|in|von|des)[ ]"
    r"(?:chapter|section|clause|annex|appendix|kapitel|anhang)[ ](?P<above>\d{1,3}|(?-i:[A-Z]))"
    rf"|(?:chapter|annex|appendix|kapitel|anhang)[ ](?P<first>\d{{1,3}}|(?-i:[A-Z])),?[ ]{_INNER}"
    r"(?P<then>\d{1,3}(?:\.\d{1,3})*))\b(?!\.\d)",
    re.IGNORECASE,
)
"""A place by two numbers: "section 4 of chapter 3" is 3.4. Articles and parts are left out: their paragraphs and
sections are numbered otherwise.
"""
_UNDOTTED = re.compile(r"(?P<letter>[A-Z])(?P<number>\d{1,2}(?:\.\d{1,2}){0,3})")
"""A clause of an annex as people write it: "A2" for A.2."""

_ENHANCED = re.compile(r"(?P<control>\b[A-Z]{2,10}-\d{1,3}) (?=\(\d{1,2}\))")
"""A control before the number of its enhancement: "AC-2 (1)" for AC-2(1)."""
_BELOW = re.compile(
    r"(?P<above>\d[\d.]{0,20})(?:\(\w{1,4}\)){0,4}\((?P<item>\w{1,4})\)"
    r"|(?:(?P<annex>[a-z])\.)?(?P<row>\d{1,3}(?:\.\d{1,3}){1,4})"
)
"""A place that is no heading: item (c) of 9(4)(c), row 8.24 of the table in annex A for A.8.24."""

_ITEMS = frozenset("condition finding informative principle question recommendation step".split())
"""Words before the number of a list item, which is printed with the word or, below a heading, alone."""
_LONGEST_HEADING = 80
"""Characters of a line that may be a heading above a list; longer ones are sentences."""
_BEGINS_NUMBERED = re.compile(r"\W{0,4}(\d{1,4})(?!\w)")
_COUNTED_ITEMS = frozenset("control criterion guideline measure objective practice".split())
"""Words before the number of an item that is counted in several parts: "control 7.3" heads a page or begins a row."""


class Exactness(IntEnum):
    """How a chunk matches a name, from not at all to being what it names."""

    ABSENT = 0
    BESIDE = 1
    """Only the text above the chunk contains it."""
    MENTIONED = 2
    OPENING = 3
    """Its text or one of its lines starts with it."""
    TITLE = 4
    """Its heading or its document has the name."""
    HEADING = 5
    """Its own heading starts with the name, and the document is not about it; returned only if this is the least
    wanted.
    """
    OWN = 6
    """It is the chunk's clause number, or the name of a statement or definition in it."""


@dataclass(frozen=True, slots=True)
class Name:
    """A name that a question asks for.

    Attributes:
        text: as asked, without the text around it.
        key: folded for comparison.
        is_clause: it has the form of a clause number.
        is_cited: a word such as "clause" precedes it.
        item: for a list item, its kind, such as "condition"; otherwise empty.
    """

    text: str
    key: str
    is_clause: bool
    is_cited: bool = False
    item: str = ""

    @property
    def pattern(self) -> re.Pattern[str]:
        """A pattern that matches the whole name, with any separators between its parts; never inside a longer name."""
        return _pattern(self.key)

    @property
    def is_identifier(self) -> bool:
        """Whether it is a name even among other words: "3021-PL-099" is, "24-hour" and "Q2" are not."""
        if self.key[0].isdecimal() and not self.is_clause:
            numbers = [part for part in _PARTS.findall(self.text) if part[0].isdecimal()]
            return len(numbers) > 1 and max(map(len, numbers)) > 2 and self.text.isupper()
        return self.is_clause or _PERIOD.fullmatch(self.key) is None

    @property
    def kind(self) -> str:
        """One of `table`, `figure` and `annex`, or empty."""
        kind, _, number = self.key.partition(" ")
        return kind if number and kind in _KINDS else ""

    @property
    def is_place(self) -> bool:
        """Whether it is a place in some document, so that only the document makes it unique."""
        return self.is_clause or bool(self.kind)

    @property
    def searched(self) -> str:
        """The words to search for passages that may have it."""
        return f"{_KINDS[self.kind][1]} {self.key.removeprefix(self.kind)}" if self.kind else self.text

    def part_of(self, whole: str) -> Name:
        """Return the longer name that begins with another: "APP.3.2.A11" for A11 of "APP.3.2"."""
        text = f"{whole}.{self.text}"
        return Name(text, text.casefold(), False)

    @property
    def beginning(self) -> re.Pattern[str]:
        """A pattern that matches the whole name or the beginning of a longer one: ISO 9001 in ISO 9001:2015."""
        return _pattern(self.key, may_go_on=True)

    @property
    def number(self) -> str:
        """The number of the clause with this name: "a" for "annex a", otherwise the name itself."""
        return self.key[-1] if _ANNEX.fullmatch(self.key) else self.key


@dataclass(frozen=True, slots=True)
class QuestionNames:
    """The names in one question.

    Attributes:
        names: in order, without duplicates.
        alone: nothing else is asked.
        others: the other words, folded.
    """

    names: tuple[Name, ...]
    alone: bool
    others: tuple[str, ...] = ()


@lru_cache(maxsize=256)
def names_in_question(question: str) -> QuestionNames:
    """List the names in a question; among other words a bare number counts only after a word such as "clause"."""
    found: dict[str, Name] = {}
    rest: list[str] = []
    doubtful: list[str] = []
    before = ""
    question = _ENHANCED.sub(r"\g<control>", _WITHIN.sub(_as_one_number, question))
    for match in reversed(list(_SPACED.finditer(question))):
        if (match["series"] or "").casefold() not in _CUES:
            question = f"{question[: match.start()]} {question[match.end() :]}"
            _add(found, match.group(), key=_spaced_key(match))
    for match in _TOKEN.finditer(question):
        token = _bare(match.group())
        word = token.casefold()
        if item := _item_before(token, before):
            rest = rest[: len(rest) - (before not in _CUES)]
            found.setdefault(f"{item} {token}", Name(f"{item} {token}", f"{item} {token}", False, item=item))
        elif _CLAUSE.fullmatch(token) or (token.isdecimal() and before in _PLACES):
            if before in _PLACES or match.group().startswith("§"):
                _add(found, token, is_cited=True)
            else:
                doubtful.append(token)
        elif _is_coded(token) or _is_symbol(token):
            _add(found, token)
            if (clause := _UNDOTTED.fullmatch(token)) is not None:
                dotted = f"{clause['letter']}.{clause['number']}"
                _add(found, dotted, is_cited=True) if before in _PLACES else doubtful.append(dotted)
        elif word and word not in _CUES:
            rest.append(word)
        before = word or match.group()
    if not rest:
        for token in doubtful:
            _add(found, token)
    return QuestionNames(tuple(found.values())[:_MOST], alone=bool(found) and not rest, others=tuple(rest))


def _item_before(token: str, before: str) -> str:
    """Return the kind of a list item if a word is one and a number follows it, else an empty string."""
    item = before.removesuffix("s")
    counted = item in _ITEMS if token.isdecimal() else item in _COUNTED_ITEMS and _CLAUSE.fullmatch(token)
    return item if counted else ""


def _as_one_number(match: re.Match[str]) -> str:
    above, number = match["above"] or match["first"], match["number"] or match["then"]
    return f"section {number if number.startswith(f'{above}.') else f'{above}.{number}'}"


def accompanies_names(word: str) -> bool:
    """Return whether a word, such as "clause", may accompany a name without asking for anything else."""
    return word.casefold() in _CUES


def _spaced_key(match: re.Match[str]) -> str:
    """Return the key of a name of two words: the same for "Tab. 2", "Tabelle 2" and "table 2"."""
    word, number = match["shown"] or match["annex"], match["number"] or match["letter"]
    kinds = (kind for kind, (words, _) in _KINDS.items() if word and re.fullmatch(words, word, re.IGNORECASE))
    return f"{next(kinds)} {number}".casefold() if word else ""


def exactness(chunk: Chunk, name: Name, least: Exactness = Exactness.ABSENT) -> Exactness:
    """Return how exactly a chunk matches a name; matches below `least` may be ABSENT, because texts are long."""
    if name.item:
        return _as_item(chunk, name)
    if chunk.clause_number is not None and chunk.clause_number.casefold().rstrip(".") == name.number:
        return Exactness.OWN
    if any(each.identifier is not None and _same(name, each.identifier) for each in chunk.statements):
        return Exactness.OWN
    terms = (term for each in chunk.definitions for term in (each.term, *each.aliases))
    if not name.is_clause and any(_same(name, term) for term in terms):
        return Exactness.OWN
    if least is Exactness.OWN:
        return Exactness.ABSENT
    if least is Exactness.HEADING:
        headed = _opens(name, chunk.section_title)  # if the document has the name, any section may start with it
        return Exactness.HEADING if headed and not _is_called(chunk, name) else Exactness.ABSENT
    titles = (chunk.section_title, chunk.document_title, *chunk.section_hierarchy[-1:])
    if any(_opens(name, title) for title in titles) or _is_in_annex(chunk, name):
        return Exactness.TITLE
    return _text_exactness(chunk, name) if least < Exactness.TITLE else Exactness.ABSENT


def _is_called(chunk: Chunk, name: Name) -> bool:
    """Return whether a chunk's document has a name: in its title, at the start of its path, or in its file name."""
    called = chunk.context.partition("\n")[0].partition(" > ")[0]
    return any(map(name.pattern.search, (chunk.document_title, called)))


def _as_item(chunk: Chunk, name: Name) -> Exactness:
    """Return how a chunk matches a list item: by name, or by number with or without the item's kind in the text.

    A row of a table is an item only with its kind: plots and drawings are numbered too.
    """
    if any(_opens(name, line) for line in (chunk.section_title, *chunk.content.splitlines())):
        return Exactness.OWN
    number = name.key.removeprefix(name.item).strip()
    found = list(_item_line(number).finditer(chunk.content))
    lines = [each[0] for each in found]
    if chunk.clause_number == number or found:
        if any(_is_below_its_kind(f"{chunk.section_title}\n{chunk.content[: each.start()]}", name) for each in found):
            return Exactness.OWN
        titles = " ".join((chunk.section_title, *chunk.section_hierarchy)).casefold()
        if "." in number and name.item in titles:
            return Exactness.OWN  # row 7.3 of the table "Controls"
        if name.item in f"{chunk.content} {chunk.context} {titles}".casefold():
            return Exactness.TITLE
        if chunk.clause_number == number or any("|" not in each for each in lines):
            return Exactness.OPENING
    return Exactness.MENTIONED if name.pattern.search(chunk.content) else Exactness.ABSENT


def _is_below_its_kind(above: str, name: Name) -> bool:
    """Return whether a line above an item is a heading for its kind, and no earlier item of the same list."""
    number = int(name.key.removeprefix(name.item).strip().partition(".")[0])
    for line in above.splitlines():
        if name.item in line.casefold() and len(line) <= _LONGEST_HEADING and not line.rstrip().endswith("."):
            begun = _BEGINS_NUMBERED.match(line)
            if begun is None or int(begun[1]) > number:
                return True
    return False


def _is_in_annex(chunk: Chunk, name: Name) -> bool:
    return name.number != name.key and any(
        title.casefold().startswith(f"{name.number} ") for title in chunk.section_hierarchy
    )


def _text_exactness(chunk: Chunk, name: Name) -> Exactness:
    """Return how a chunk's text matches a name."""
    if any(_opens(name, line) for line in chunk.content.splitlines()):
        return Exactness.OPENING
    if name.pattern.search(chunk.content):
        return Exactness.MENTIONED
    return Exactness.BESIDE if name.pattern.search(chunk.context) else Exactness.ABSENT


def names_it(chunk: Chunk, name: Name) -> bool:
    """Return whether a chunk or the text above it contains a name, or a longer one that starts with it.

    A clause whose number could be a quantity, such as 12 or 99.9, must be the number of a heading, or follow a word
    such as "clause".
    """
    if _begins_line(chunk, name):
        return True
    if name.is_cited and name.key.replace(".", "", 1).isdecimal():
        headed = exactness(chunk, name, Exactness.TITLE) is not Exactness.ABSENT
        titles = (chunk.clause_number or "", chunk.section_title, *chunk.section_hierarchy)
        numbered = _numbered(name.key)
        return headed or any(map(name.beginning.search, titles)) or numbered.search(chunk.content) is not None
    if exactness(chunk, name, Exactness.MENTIONED) is not Exactness.ABSENT:
        return True
    if name.item:
        return False
    above = (chunk.clause_number or "", chunk.document_title, chunk.section_title, *chunk.section_hierarchy)
    return any(map(name.beginning.search, (chunk.content, *above))) or _names_apart(chunk, name, above)


def _begins_line(chunk: Chunk, name: Name) -> bool:
    """Return whether a line of a chunk is a place that has no heading; see `_BELOW`."""
    place = _BELOW.fullmatch(name.key)
    if place is None:
        return False
    titles = (chunk.clause_number or "", chunk.section_title, *chunk.section_hierarchy)
    if place["item"]:
        begun = re.compile(rf"^\W{{0,4}}{place['item']}[.)]", re.IGNORECASE | re.MULTILINE)
        above = _pattern(place["above"])
        return any(map(above.search, titles)) and begun.search(chunk.content) is not None
    annex = re.compile(rf"(?:(?:{ANNEX_WORDS}) )?{place['annex']}(?!\w)", re.IGNORECASE) if place["annex"] else None
    row = re.compile(rf"^\|\s{{0,3}}{re.escape(place['row'])}(?![\w.]*\w)", re.MULTILINE)
    return (annex is None or any(map(annex.match, titles))) and row.search(chunk.content) is not None


def _names_apart(chunk: Chunk, name: Name, above: Sequence[str]) -> bool:
    """Return whether the document has a part of a name: "DORA", with row 9.4(c), or 800-63B of "SP 800-63B"."""
    word, _, number = name.key.partition(" ")
    if not number or name.kind:
        return False
    pattern = _pattern(number, may_go_on=True)
    called = f"{chunk.document_title} {chunk.source_path} {chunk.context}".casefold().replace("_", " ")
    if "-" in number and pattern.search(called):
        return True
    return word in _PARTS.findall(called) and any(map(pattern.search, (chunk.content, *above)))


def best_exactness(chunk: Chunk, names: Sequence[Name], least: Exactness = Exactness.ABSENT) -> Exactness:
    """Return the best of the matches of a chunk with several names, as `exactness` does."""
    return max((exactness(chunk, each, least) for each in names), default=Exactness.ABSENT)


def _add(found: dict[str, Name], token: str, *, is_cited: bool = False, key: str = "") -> None:
    key = key or token.casefold().removesuffix("()")
    if key not in found:
        found[key] = Name(token, key, _CLAUSE.fullmatch(token) is not None or token.isdecimal(), is_cited)


def _bare(token: str) -> str:
    """Strip what is not part of a name: trailing dots, unbalanced brackets."""
    for _ in range(_MOST_EDGES):
        edges = _EDGES.replace("_", "") if "__" in token else _EDGES  # __init__
        stripped = token.rstrip(edges) if token.startswith("_") else token.strip(edges)
        surplus = stripped.count(")") - stripped.count("(")
        if surplus > 0 and stripped.endswith(")"):
            closing = len(stripped) - len(stripped.rstrip(")"))
            stripped = stripped[: -min(surplus, closing)]
        if stripped[:1] in {"(", "["} or stripped[-1:] in {"(", "[", "]"}:
            stripped = stripped.strip("([]")
        if stripped == token:
            break
        token = stripped
    return token


def _is_coded(token: str) -> bool:
    return _CODED.fullmatch(token) is not None and _SHOUTS.search(token) is not None


def _is_symbol(token: str) -> bool:
    return _SYMBOL.fullmatch(token) is not None and _LOOKS_LIKE_CODE.search(token) is not None


@lru_cache(maxsize=256)
def _numbered(number: str) -> re.Pattern[str]:
    words = "|".join(sorted(_PLACES - {"§"} | {"see"}))
    return re.compile(rf"(?:\b(?:{words})s?|§)[\s.]{{0,3}}{re.escape(number)}(?!\w)", re.IGNORECASE)


@lru_cache(maxsize=256)
def _item_line(number: str) -> re.Pattern[str]:
    """Match the start of a line that is a numbered item: "7. Hours", "(7) Hours", "7 Hours"."""
    return re.compile(rf"^[^\w\n]{{0,4}}{re.escape(number)}(?:[.):\]]|[ \t])(?![\d.])", re.MULTILINE)


@lru_cache(maxsize=256)
def _pattern(key: str, *, may_go_on: bool = False) -> re.Pattern[str]:
    """Match the parts of a name with any separators, but dots between numbers stay dots; `FR01` matches `FR 1`."""
    kind, _, number = key.partition(" ")
    if kind in _KINDS and number:
        end = r"(?!\w)" if number.isalpha() else r"(?![\w(]|[.\-:]\w)"
        return re.compile(
            rf"(?<!\w)(?:{_KINDS[kind][0]}){_JOINT}{_JOINT.join(map(re.escape, _AT_JOINTS.split(number)))}{end}",
            re.IGNORECASE,
        )
    parts = list(_PARTS.finditer(key))
    if len(parts) < 2 or key.startswith(("_", "$")) or not any(part.group()[0].isdecimal() for part in parts):
        return re.compile(rf"(?<!\w){_SEPARATORS.sub(_ANY_SEPARATOR, re.escape(key))}(?!\w)", re.IGNORECASE)
    joined = re.escape(key[: parts[0].start()]) + _part(parts[0].group(), first=True)
    for before, part in pairwise(parts):
        joined += _or_as_written(_JOINT, key[before.end() : part.start()]) + _part(part.group(), first=False)
    end = _or_as_written(r"\)?", key[parts[-1].end() :])
    after = r"(?!\w)" if may_go_on else r"(?![\w(]|[.\-:]\w)"
    return re.compile(rf"(?<!\w)(?<!\w[.\-]){joined}{end}{after}", re.IGNORECASE)


def _or_as_written(usual: str, written: str) -> str:
    """Match the usual separator, or the one that the name itself has there, such as the `)(` of `AC-2(3)(a)`."""
    return usual if re.fullmatch(usual, written) else f"(?:{re.escape(written)}|{usual})"


def _part(part: str, *, first: bool) -> str:
    """Match a part; leading zeros of a number are ignored, without backtracking."""
    if first or not (part.isdecimal() and part.isascii()):
        return re.escape(part)
    return f"0*+{part.lstrip('0')}" if part.strip("0") else "0++"


def _same(name: Name, other: str) -> bool:
    folded = other.casefold().removesuffix("()")
    if folded == name.key:
        return True
    return folded[:1] == name.key[:1] and name.pattern.fullmatch(other) is not None


def _opens(name: Name, text: str) -> bool:
    return name.pattern.match(text.lstrip(" \t\n*_#§([\"'")) is not None


_NAME = re.compile(r"[A-Za-z_$][\w$]*(?:(?:::|\.|#|->)[A-Za-z_$~][\w$]*)*(?:\(\))?")
_LOOKS_LIKE_SYMBOL = re.compile(
    r"[a-z0-9][A-Z]|[A-Z][a-z]+[A-Z]|\w_\w|^_\w|::|->|\w\.\w|#\w|\(\)$|^[A-Z][A-Z0-9_]{2,}$"
)
_SYMBOL_SEPARATORS = re.compile(r"::|->|#")
_GENERICS = re.compile(r"(?<!operator)(?<=[\w$>])<[^<>]*>")
_MOST_NESTED = 4
"""Maximum nesting of generics that are removed from a name."""
_PATH = re.compile(
    r"(?<![\w.-])[\w.-]++/[\w./-]"
    r"|(?<![\w-])-*+\w[\w-]*+\.(?:py|js|ts|tsx|go|rs|java|c|h|cpp|cs|rb|md|json|ya?ml|toml)\b"
)
_QUOTED = re.compile(r"[\"'`][^\"'`]{3,}[\"'`]")
_CUED = re.compile(
    r"(?:where (?:is|are)|find|show(?: me)?|go to|open)\s+(?:the\s+)?(?:(?:function|method|class|type|struct)\s+)?"
    r"[`'\"]?(?P<name>[A-Za-z_$][\w$.:]*)[`'\"]?(?:\(\))?\s+(?:defined|declared|implemented)\s*\??"
    r"|(?:function|method|class|type|struct|interface|trait|enum|def|fn|func)\s+"
    r"[`'\"]?(?P<kind_name>[A-Za-z_$][\w$.:]*)[`'\"]?(?:\(\))?",
    re.IGNORECASE,
)
"""A question that asks only for a symbol."""

_CALLED = re.compile(r"([A-Za-z_$][\w$]{0,99}+(?:\.[A-Za-z_$][\w$]{0,99}+){0,9}+)\(")
_TICKED = re.compile(r"`{1,2}([A-Za-z_$][\w$.]*)(?:\(\))?`{1,2}")
_FRAME = re.compile(r"\bline \d+, in ([A-Za-z_]\w*)")
"""A line of a traceback."""

_MOST_NAMES = 5
_MOST_NAMES_OF_A_REPORT = 12

MOST_PLACES = 3
"""A name that a report only mentions is a hint if it is defined in at most this many places."""

WEIGHT_OF_NAMES = 4.5
WEIGHT_OF_MIXED = 3.0
WEIGHT_OF_PROSE = 1.0
"""Weight of all words of a question relative to a cosine, by the kind of question (`benchmarks/ablation.py`)."""


def is_name(text: str) -> bool:
    """Return whether a whole question is a symbol's name."""
    return _NAME.fullmatch(text.strip()) is not None


def asks_for_symbol(text: str) -> bool:
    """Return whether a question asks only for a symbol: by its name, or by "where is … defined" and similar."""
    return is_name(text) or _CUED.fullmatch(text.strip()) is not None


def is_report(text: str) -> bool:
    """Return whether a question has several lines, as bug reports with code, output and tracebacks do."""
    return "\n" in text.strip()


def names_in(text: str) -> list[str]:
    """List the likely symbol names: the whole question if it is a name, otherwise the parts that look like one.

    In a report, also calls, text in backticks, and the functions of its traceback.
    """
    stripped = text.strip()
    if is_name(stripped):
        return [_plain(stripped)]
    if cued := _CUED.fullmatch(stripped):
        return [_plain(cued.group("name") or cued.group("kind_name"))]
    found = _looking_like_code(text)
    if not is_report(text):
        return found
    quoted = (match.group(1) for pattern in (_TICKED, _CALLED, _FRAME) for match in pattern.finditer(text))
    return list(dict.fromkeys((*found, *map(_plain, quoted))))[:_MOST_NAMES_OF_A_REPORT]


def _looking_like_code(text: str) -> list[str]:
    found = (_plain(match.group()) for match in _NAME.finditer(text) if _LOOKS_LIKE_SYMBOL.search(match.group()))
    return list(dict.fromkeys(found))[:_MOST_NAMES]


def weight_of_words(text: str) -> float:
    """Return the weight of a question's words: high for names, paths and quotations, low for plain prose."""
    if asks_for_symbol(text):
        return WEIGHT_OF_NAMES
    if _looking_like_code(text) or _PATH.search(text) or _QUOTED.search(text):
        return WEIGHT_OF_MIXED
    return WEIGHT_OF_PROSE


def defines(chunk: Chunk, name: str) -> bool:
    """Return whether the definition of a symbol with exactly this name, plain or qualified, starts in a chunk."""
    plain = _plain(name)
    for each in chunk.definitions:
        for known in (each.term, *each.aliases):
            dotted = _plain(known)
            if dotted == plain or dotted.endswith(f".{plain}"):
                return True
    return False


def stands_in(chunk: Chunk, name: str) -> bool:
    """Return whether a chunk defines the symbol, or is inside it."""
    if defines(chunk, name):
        return True
    plain = _plain(name)
    path = f".{'.'.join(map(_plain, chunk.section_hierarchy))}."
    return f".{plain}." in path or f" for {plain}." in path


def without_generics(name: str) -> str:
    """Remove generic parameters and specialisations from a name: `Stack<T>::push` becomes `Stack::push`."""
    for _ in range(_MOST_NESTED):
        name = _GENERICS.sub("", name)
    return name


def _plain(name: str) -> str:
    return without_generics(_SYMBOL_SEPARATORS.sub(".", name.strip().removesuffix("()")))
