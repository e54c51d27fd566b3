"""Terms clauses as ISO and IEC print them: a number alone, the terms below it, the definition, notes and source.

All formats share this grammar: `TermsClause` tells readers which lines are numbers of entries, `read_entry` interprets
the paragraphs below such a number.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from knowledge_mcp.language.clauses import SectionRole, role_of_title
from knowledge_mcp.language.glossary.entries import is_origin
from knowledge_mcp.language.openings import NOTE_TITLES, TO_ENTRY
from knowledge_mcp.model.document import NOTE_KINDS, PROSE_KINDS, BlockKind

Paragraph = tuple[BlockKind, str]
"""Kind and text of one block."""

_NUMBER = re.compile(r"(?:(?:\d{1,3}|[A-Z])(?:\.\d{1,3}){1,6}|\d{3}-\d{2}-\d{2,3})\.?")
"""The number of an entry: "3.1", "3.1.4", "A.2.1", "112-01-01"."""
_NUMBERED_TERM = re.compile(
    r"(?P<number>(?:\d{1,3}|[A-Z])(?:\.\d{1,3}){1,6}|\d{3}-\d{2}-\d{2,3})(?P<stop>\.?)\s+"
    r"(?P<title>[^\W\d_][^\n.:;]{0,90}[^\W_]\)?)"
)
_GERMAN = re.compile(r"(?:.*\W)?(?:begriffe?|benennungen|definitionen|glossar)\b", re.IGNORECASE)
"""Titles of German terms clauses, whose terms start with a capital, as titles do."""
_PART_OF_CLAUSE = re.compile(r"Allgemein|Begriffe\b|Definitionen\b|Abkürzungen\b|Symbole\b|Formelzeichen\b")
_LONGEST_NUMBER = 24
_PARTS = re.compile(r"[.-]")


def entry_number(text: str) -> str | None:
    """Return the number of an entry if a line or paragraph contains nothing else, without the full stop after it."""
    bare = text.strip(" *_") if len(text) <= _LONGEST_NUMBER else ""
    return bare.rstrip(".") if _NUMBER.fullmatch(bare) else None


class TermsClause:
    """Follows the headings of a document; knows whether a terms clause is open and which numbers its entries have."""

    __slots__ = ("_capitals", "_level", "_number", "is_open")

    def __init__(self) -> None:
        self.is_open = False
        self._number = ""
        self._level = 0
        self._capitals = False

    def heading(self, number: str | None, title: str, level: int) -> None:
        """Process the next heading: one that is not deeper than the clause ends it, and may open another."""
        if self.is_open and (level > self._level or self._holds(number or "")):
            return
        self.is_open = role_of_title(title) is SectionRole.DEFINITIONS
        self._number, self._level = number or "", level
        self._capitals = _GERMAN.match(title) is not None

    def level_of(self, number: str) -> int | None:
        """Return the level of the entry with a number; None if no open clause could contain it."""
        if not self.is_open:
            return None
        if self._holds(number):
            return self._level + len(_PARTS.findall(number)) - len(_PARTS.findall(self._number))
        return None if self._number and "-" not in number else self._level + 1

    def opens(self, text: str) -> tuple[str, str, int] | None:
        """Read a paragraph that opens an entry: its number, title and level; None if it does not.

        It is either a number alone, which is then also its title, or a number and a term. The term starts in lower
        case, except in German and after a full stop ("4.1. Moving object").
        """
        if not self.is_open or len(text) > _LONGEST:
            return None
        number, title = entry_number(text), text.strip(" *_")
        if number is None:
            match = _NUMBERED_TERM.fullmatch(title)
            if match is None or len(title.split()) > _MOST_WORDS or not self._holds(match["number"]):
                return None
            capital = match["title"][0].isascii() and match["title"][0].isupper()
            may_be_title = not self._capitals or _PART_OF_CLAUSE.match(match["title"])
            if capital and may_be_title and not match["stop"]:
                return None
            number, title = match["number"], match["title"]
        else:
            title = number
        level = self.level_of(number)
        return None if level is None else (number, title, level)

    def _holds(self, number: str) -> bool:
        return bool(self._number) and number.startswith((f"{self._number}.", f"{self._number}-"))


@dataclass(frozen=True, slots=True)
class TermEntry:
    """The parts of one entry.

    Attributes:
        names: preferred terms, then admitted, deprecated and short ones, as printed without their labels.
        words: the definition, including its list.
        behind: notes, examples and the source, each with its list.
        count: number of paragraphs in the entry.
    """

    names: tuple[str, ...]
    words: str
    behind: tuple[str, ...]
    count: int


_LABEL = re.compile(
    r"(?:(?:terme|término)\s+)?(?:deprecated|admitted|preferred|obsolete|superseded|abbreviated|abbreviation|acronym|symbol"
    r"|synonym|veraltet|abgelehnt|verworfen|(?:zu\s+)?vermeiden(?:de)?|zugelassen|abgekürzt|Abkürzung|Kurzform|déconseillé|rejeté"
    r"|admis|obsolète|abrégé|abréviation|symbole|synonyme|desaconsejado|rechazado|admitido|obsoleto|abreviado|abreviatura"
    r"|símbolo|sinónimo)(?:e?\s+(?:term|form|name|Benennung))?s?\s*:\s*",
    re.IGNORECASE,
)
_GRAMMAR = re.compile(
    r",\s+(?:<[^<>]{2,60}>|noun|verb|adj(?:ective|\.)?|adv(?:erb|\.)?|n\.?|v\.?|[mfn]\.?|(?:m|f|n)\s+pl\.?)\Z"
)
_GENDER = re.compile(r"[^\W\d_],\s+[mfn](?:\s+pl)?\.?\Z")
_LANGUAGE = re.compile(r"(?P<code>ar|cs|da|de|en|es|fi|fr|hu|it|ja|ko|nb|nl|nn|no|pl|pt|ro|ru|sk|sl|sr|sv|uk|zh)\s+\S")
"""A line with the term in another language: "de Trennschalter, m"."""
_LANGUAGES = 2
"""Different codes at the start of lines that are needed to read them as languages: "de", "it" and "no" are also words.
"""
_DOMAIN_ALONE = re.compile(r"<[^<>\n]{2,60}>")
_DOMAIN_BEHIND = re.compile(r"\S\s*<[^<>\n]{2,60}>\Z")
_OPENS_WORDS = re.compile(
    r"(?:<|«\s|(?:an?|the|any|each|see|cf\.?|same as|voir|un|une|le|la|les|eine?|der|das|siehe|el|los|una|véase)\s)",
    re.IGNORECASE,
)
_SAYS = re.compile(
    r"\b(?:that|which|who|whose|whom|where|when|whereby|is|are|was|were|has|have|can|may|shall|must|used|intended|qui|que|dont"
    r"|ist|sind|wird|werden|dient|destiné|destinado|utilisée?)\b|,\s(?:der|die|das|dem|den|deren|dessen|welche[rsmn]?)\b"
)
_TO_ENTRY = re.compile(rf"(?:{NOTE_TITLES})s?\s+\d+\s+{TO_ENTRY}", re.IGNORECASE)
_SOON = 4
"""Paragraphs after a note that are searched for another note or the source; if found, those between are the note's."""
_JOINED = re.compile(
    r"\s(?:of|at|in|on|for|to|from|by|with|without|or|and|the|an?|de|du|des|à|et|ou|pour|dans|del|con|para|y|der|von|zur|zum|für|und|oder)\s"
)
_MOST_WORDS, _LONGEST, _FEW_WORDS = 10, 100, 4
"""Maximum words and characters of a term, and words up to which a line is too short to be a definition's sentence."""


def read_entry(paragraphs: Sequence[Paragraph], first: str = "") -> TermEntry | None:
    """Separate terms, definition and notes in the paragraphs of an entry; None if there is no definition.

    A line above the definition is a name if it is labelled as one ("DEPRECATED:") or reads like one: short, without a
    full stop, not a clause of a sentence. The definition is one paragraph, with the list that it introduces and
    paragraphs that continue in lower case. Text after the notes does not belong to the entry.

    Args:
        paragraphs: in order, up to the next number or heading.
        first: the term on the number's line; "" if the first paragraph has it.
    """
    lines = _before_other_languages(_lines(paragraphs, of_first=not first))
    prose = 0
    while prose < len(lines) and lines[prose].kind in PROSE_KINDS and not is_origin(lines[prose].text):
        prose += 1
    place = 0 if first else 1
    if prose <= place or (not first and not _may_be_term(lines[0])):
        return None
    while place + 1 < prose and _is_name(lines[place], lines[place + 1]):
        place += 1
    if _LABEL.match(lines[place].text):
        return None
    names = [first] if first else []
    names += [line.text for line in lines[:place]]
    words = [lines[place].text]
    if _DOMAIN_ALONE.fullmatch(words[0]) and place + 1 < prose:
        place += 1
        words.append(lines[place].text)
    place += 1
    while place < prose and _continues(words[-1], lines[place - 1], lines[place]):
        words.append(lines[place].text)
        place += 1
    behind, place = _behind(lines, place)
    clean = [_without_grammar(name) for name in names]
    return TermEntry(tuple(clean), "\n".join(words), tuple(behind), lines[place - 1].paragraph + 1)


@dataclass(frozen=True, slots=True)
class _Line:
    """One paragraph, or one line of the first, where only line ends may separate terms and definition."""

    kind: BlockKind
    text: str
    paragraph: int


def _lines(paragraphs: Sequence[Paragraph], *, of_first: bool) -> list[_Line]:
    found: list[_Line] = []
    for place, (kind, text) in enumerate(paragraphs):
        parts = text.split("\n") if place == 0 and of_first else [text]
        found += [_Line(kind, part.strip(), place) for part in parts if part.strip()]
    return found


def _before_other_languages(lines: list[_Line]) -> list[_Line]:
    """Keep the part of a vocabulary entry in its first language; terms of other languages have a gender or a code."""
    coded = [match["code"] if (match := _LANGUAGE.match(line.text)) else "" for line in lines]
    many = len({code for code in coded if code}) >= _LANGUAGES
    for place, line in enumerate(lines):
        if place > 1 and (_GENDER.search(line.text) or (many and coded[place])):
            return lines[:place]
    return lines


def _may_be_term(line: _Line) -> bool:
    bare = _without_grammar(line.text)
    return len(bare) <= 2 * _LONGEST and line.kind is BlockKind.PARAGRAPH and bare[-1:] not in {"", ".", ":"}


def _without_grammar(name: str) -> str:
    """Remove the label and the grammar from a term: "DEPRECATED: gadget", "audit, verb"."""
    bare = _LABEL.sub("", name, count=1).strip(" *_")
    grammar = _GRAMMAR.search(bare)
    if grammar is not None:
        bare = bare[: grammar.start()] + (f" {grammar.group().lstrip(', ')}" if "<" in grammar.group() else "")
    return bare


def _is_name(line: _Line, following: _Line) -> bool:
    """Return whether a line between the first term and the last paragraph is another term."""
    text = line.text
    if _LABEL.match(text):
        return True
    if line.kind is not BlockKind.PARAGRAPH or _DOMAIN_ALONE.fullmatch(text):
        return False
    if following.kind is BlockKind.LIST_ITEM or len(text) > _LONGEST or len(text.split()) > _MOST_WORDS:
        return False
    if text[-1] in ".:;,!?" or _OPENS_WORDS.match(text):
        return False
    if text[0].islower() and following.text[0].isupper() and following.text.endswith(".") and _JOINED.search(text):
        return False  # a definition in lower case; the sentence after it is not part of the entry
    return len(text.split()) <= _FEW_WORDS or not looks_like_sentence(text) or _DOMAIN_BEHIND.search(text) is not None


def looks_like_sentence(words: str) -> bool:
    """Return whether text contains a verb or a relative pronoun, as definitions do and terms rarely do."""
    return _SAYS.search(words) is not None


def _continues(words: str, before: _Line, line: _Line) -> bool:
    """Return whether a paragraph after the first one of the definition still belongs to it."""
    if line.kind is BlockKind.LIST_ITEM:
        return before.kind is BlockKind.LIST_ITEM or words.endswith((":", "—", "following"))
    return line.paragraph == before.paragraph or line.text[0].islower() or words.endswith(":")


def _behind(lines: Sequence[_Line], place: int) -> tuple[list[str], int]:
    """List notes, examples and source from a position on, and return where they end."""
    behind: list[str] = []
    while place < len(lines):
        kind, text = lines[place].kind, lines[place].text
        if kind in NOTE_KINDS or is_origin(text):
            behind.append(text)
        elif behind and (kind is BlockKind.LIST_ITEM or behind[-1].endswith((":", ";")) or _is_inside(lines, place)):
            behind[-1] += f" {text}"
        else:
            break
        place += 1
    return behind, place


def _is_inside(lines: Sequence[_Line], place: int) -> bool:
    """Return whether a paragraph belongs to a note, because another note or the source follows soon."""
    soon = lines[place + 1 : place + _SOON]
    return any(is_origin(line.text) or _TO_ENTRY.match(line.text) is not None for line in soon)
