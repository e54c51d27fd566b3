"""Marks of a sentence as printed, and the parts that only name places: references, editions, addresses."""

from __future__ import annotations

import re
from dataclasses import dataclass

from knowledge_mcp.language.multilingual.places import NUMBERED

RAISED = "⁰¹²³⁴-⁹"
"""Raised digits, for use in a character class."""
LETTERS, RAISED_LETTERS = "abcdefgh", "ᵃᵇᶜᵈᵉᶠᵍʰ"
"""Letters that mark notes of tables, and the same raised; later letters are exponents."""
MARK_OF_NOTE = re.compile(rf"[{RAISED}{RAISED_LETTERS}]{{1,3}}⁾? ")
"""A raised mark before the words of a note; one that cites a note touches the word before it."""
_NOTE_OF_TABLE = re.compile(
    rf"(?:[{RAISED_LETTERS}]{{1,3}}⁾?|[{RAISED}]{{1,3}}(?:⁾|(?=\s|[^\W\d_]{{3}}))|[*†‡§]{{1,3}}[)⁾]?)(?P<blank>\s)?(?=[^\W\d_])"
)
"""A mark before the first word of a note; "²H" is an isotope."""
_NEXT_NOTE = re.compile(rf"(?<=[.;:)])\s(?=[{RAISED}{RAISED_LETTERS}]{{1,3}}⁾?\s?[^\W\d_])")
_RAISED_MARK = re.compile(rf"(?<=\w)(?:[{RAISED_LETTERS}](?:,[{RAISED_LETTERS}]){{0,5}}⁾?(?!\w)|[{RAISED}]{{1,2}}⁾)")
"""A mark that is not part of the number or unit before it: "40ᵃ", "12.5ᵇ⁾", "3 mm¹⁾"."""
_NOTE_MARK = (
    rf"\[\^[^\]\s]{{1,40}}\]|(?<!⁽)[{RAISED}]{{1,3}}⁾|(?:(?<=[a-z]{{3}})|(?<=[.,;:)\]”\"])|^)[{RAISED}]{{1,3}}(?!\w)"
)
_NOTE_MARKS = re.compile(_NOTE_MARK)
_ELSEWHERE = rf"(?<![\w.-])(?:(?!po?[iu]?nt)(?:{NUMBERED}|pp?\.|(?<!\d\s)(?-i:LO|[ADLRS])\.)|§{{1,2}})"
"""Words before the numbers of places in all languages, except "point": "dew point 5 °C" is a limit.

So is a letter before the number of an article: "L. 111-2".
"""
_DEGREE_MARK = (
    r"(?:^[\s•*-]{0,8}|(?<=[:;]\s))[1-9]?\d°(?=\s(?!(?-i:[CFK])\b))"
    r"|\b(?:aux?|du|des|les?)\s[1-9]?\d°(?:(?:,|\set|\sou|\sà)\s[1-9]?\d°){0,9}(?=\s(?:de|du)\b)"
)
"""Numbers of items in French laws, at their beginning and where they are referred to: "1° …", "au 2° du I"."""
_COUNTS = (
    rf"\s?(?:%|°|(?:(?-i:[kcmµ]?[mgslAVW]|h|t|[kM]?Pa|Hz)|bar|min|mois|jours?|ans|heures?|minutes?|días?|mes(?:es)?|años"
    rf"|horas?|minutos?)\b)|\s(?!(?:{NUMBERED})\b)(?-i:[A-ZÄÖÜ])"
)
"""What follows a number that counts something: a unit, or a capitalised German noun."""
_LISTED = (
    r"(?:,\s\d{1,3}[a-z]?){0,9}(?:\s(?:und|oder|bis|sowie|et|ou|y|e|o)\s\d{1,3}[a-z]?"
    rf"(?!\w|[.,]\d|{_COUNTS})){{1,2}}"
)
PLACE_REFERENCE = re.compile(
    r"\b(?:clauses|sections|subclauses|tables|figures|chapters|articles|paragraphs|steps|items|notes)"
    r"(?:\s\d{1,3}(?:\.\d{1,3}){0,8}(?:,(?:\s(?:and|or))?|\s(?:and|or|to|through))){1,9}\s\d{1,3}(?:\.\d{1,3}){0,8}"
    r"(?=[,;:)\]]|\.?\Z|\.\s|\s(?:of|in|for|and|or|is|are|shall|must|should|may|above|below|appl(?:y|ies)|give|define)\b)"
    rf"|{_ELSEWHERE}\s{{0,3}}(?=\d)(?:\d[\w.:/-]{{0,40}}{_LISTED}|\d[\w.:/-]{{0,40}})"
    r"|(?:\b(?:clauses?|sections?|subclauses?|annex|appendix|tables?|figures?|fig\.|chapters?|parts?|articles?|paragraphs?"
    r"|(?<!\bfor )examples?|notes?|items?|steps?|equations?|Teil|Beispiel|Anmerkung|exemple"
    r"|(?-i:Secs?\.|SP|FIPS(?:\sPUB)?|NIST(?:IR)?|ANSI|ASTM|ASME|BS|DIN|VDE|VDI|NF|NFPA|UL|ETSI|ECMA|CEN|CISPR|SAE|ITU-T|UAX|BCP)"
    r"|rfc|iso(?:/iec)?|iec|ieee|en|version|edition|draft|rev(?:ision|\.)?)[\s-]{0,3}|§{1,2}\s{0,3})(?=[^\s\d]{0,20}\d)[\w.:/-]{1,60}"
    r"|\b(?:version|edition|revision|rev\.?)\s?(?:==?|:)\s?v?\d[\w.-]{0,40}|(?<![\w.])v?\d{1,3}(?:\.\d{1,3}){0,3}\.x\b"
    r"|(?:\b(?:see|in|per) issues?|\bpull requests?)\s{1,3}#?\d{1,6}\b|(?<![\w&])#\d{1,6}\b|\bdoi:\s?\S{1,200}"
    r"|(?:©|\(c\)|\bcopyright)\s{0,3}(?:©\s{0,3})?\d{4}(?:\s?[-–,]\s?\d{4}){0,9}"
    rf"|{_NOTE_MARK}|{_DEGREE_MARK}"
    r"|(?<=[\w\]])\[\d{1,6}\](?=\.[A-Za-z_])"
    r"|\[\[[^\]\s]{1,60}\]\]|(?<![\w\]])\[(?:\d{1,3}|[A-Za-z][\w.-]{1,40}\d)\]"
    r"|\bhttps?://\S{1,500}|\b\d{4}-\d{2}-\d{2}(?:T\d\d:[\d:.]{2,15}(?:Z|[+-]\d\d:\d\d)?)?\b|\b[0-9a-f]{6,8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{6,12}\b|^[\s•*-]{0,8}\(?[A-Z]{0,2}\d{1,3}(?:[a-z]{1,2}\d{0,2}[a-z]?)?\+{0,2}[.)](?=\s)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class PrintedMark:
    """A word of force, a number or a reference in a sentence.

    Attributes:
        key: the normalised form for comparison.
        text: as printed.
        start, end: offsets in the sentence, including the unit.
        unit: the name of the unit after a number, which `text` does not include.
        counts: whether a word has force; if capitals carry it, lower-case words have none.
        bound: what kind of limit a number is, empty if it is none.
        limit: a number as printed with the words that make it a limit.
    """

    key: str
    text: str
    start: int
    end: int
    unit: str = ""
    counts: bool = True
    bound: str = ""
    limit: str = ""


def mask_places(sentence: str) -> str:
    """Replace references, editions, addresses, dates and UUIDs, which are not limits, by letters of equal length.

    Marks of notes after numbers and units become blanks.
    """
    if not sentence.isascii():
        sentence = _RAISED_MARK.sub(lambda mark: " " * len(mark[0]), sentence)
    return PLACE_REFERENCE.sub(_masked, sentence)


def _masked(match: re.Match[str]) -> str:
    """Replace a match by letters; a sign at the start stays, because a letter would join the word before it."""
    first = match.group()[0]
    return ("x" if first.isalnum() else first) + "x" * (len(match.group()) - 1)


def note_mark_places(text: str) -> list[tuple[int, int]]:
    """List the start and end of each footnote mark."""
    return [found.span() for found in _NOTE_MARKS.finditer(text)]


def note_marks(text: str) -> list[str]:
    """List the footnote marks: "[^2]", and a raised number after a word, before the note, or before ")"."""
    return [] if text.isascii() and "[^" not in text else _NOTE_MARKS.findall(text)  # most lines have none


def begins_note(text: str) -> str:
    """Return the mark at the start of a footnote; empty if the text is not one."""
    found = _NOTE_MARKS.match(text)
    return found[0] if found is not None and text[found.end() : found.end() + 1].isspace() else ""


def is_note_of_table(text: str) -> bool:
    """Return whether a text begins with a mark as below a table: "ᵃ For gases", "¹⁾ At 20 °C", "* With flange"."""
    return _NOTE_OF_TABLE.match(text) is not None


def touching_mark(text: str) -> int:
    """Return the length of the mark of a note of a table that touches the note's first word: "ᵇFor"; 0 if none does."""
    found = _NOTE_OF_TABLE.match(text)
    return found.end() if found is not None and not found["blank"] else 0


def parted_notes(text: str) -> list[str]:
    """Part notes of a table that follow each other in one text at their raised marks."""
    return _NEXT_NOTE.split(text)


def without_note_marks(sentence: str) -> str:
    """Remove the footnote marks: "[^2]", and a raised number after a word."""
    return _NOTE_MARKS.sub("", sentence)


def places_in(sentence: str) -> list[PrintedMark]:
    """List the references, editions, addresses and dates; their keys are in lower case with single blanks."""
    return [
        PrintedMark(" ".join(match.group().lower().split()), match.group(), *match.span())
        for match in PLACE_REFERENCE.finditer(sentence)
    ]
