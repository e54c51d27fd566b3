"""What a document is called: candidates from its file, its cover and its running lines, judged, and put to the vote.

A candidate is judged as words first: scans and programs leave scraps that are none. What is convincing is weighed by
where it stands, by whether the text has its words, and by who agrees. Where nothing convinces, the file's name is what
everybody knows the document by.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from pathlib import PurePath

from knowledge_mcp.language.references import find_references


class TitleSource(IntEnum):
    """Where a candidate stands; the value is its weight: what was written as a title counts before what looks so."""

    RUNNING = 2
    SMALLER = 3
    """Print of the cover that is not its largest."""
    HEADING = 4
    LARGEST = 5
    """The largest print of the first page with text."""
    STATED = 6
    """The file's own property."""
    SUBJECT = 8
    """What a letter, memo or fax says that it is about."""


@dataclass(frozen=True, slots=True)
class TitleCandidate:
    """Hold what may be a title, and where it stands; `recognised` where its letters were read by OCR."""

    text: str
    source: TitleSource
    recognised: bool = False


_MADE_UP = re.compile(
    r"untitled.*|microsoft (?:word|powerpoint|excel).*|powerpoint.presentation|adobe .{1,40}|slide ?\d*|document ?\d*"
    r"|(?:front |back |title )?(?:title|cover)(?: page)?(?: \(.{1,20}\))?"
    r"|scan(?:ned)?.{0,40}|image ?\d*|print|.*\.(?:docx?|pdf|dvi|tex|indd|fm|book|qxd|od[ts]|rtf|pptx?|xlsx?)",
    re.IGNORECASE,
)
_KIND = re.compile(
    r"(?:(?:final |committee )?draft )?(?:international|european|national|british) standard|technical report"
    r"|norme (?:internationale|européenne)|europäische norm|technical specification|recommendation"
    r"|(?:technical )?corrigendum ?\d*|amendment ?\d*|amendement ?\d*"
    r"|(?:tele)?fax(?: (?:cover )?sheet| message)?|memo(?:randum)?|layout ?\d*|presentation ?\d*|new document",
    re.IGNORECASE,
)
"""What a cover says of the kind of document, and programs of one without a name."""
_FOOTNOTE = re.compile(r"(?:(?<=[^\W\d_])\d{1,2}\)|[¹²³⁴-⁹†‡§]|\*){1,3}$")
_LABEL = re.compile(
    r"(?:attn|cc|date|edition|fax|from|issue|no|page|phone|re|ref|rev|revision|subject|tel|to|version|vol)\b[ .:]",
    re.IGNORECASE,
)
_PROJECT = re.compile(r"(?:client|contract|customer|program(?:me)?|project)\b[ .:#-]{1,3}\w[\w-]{0,60}", re.IGNORECASE)
"""The name of what a document was made for: its title only where nothing else is."""
_LETTER = re.compile(
    r"\b(?:(?P<subject>subject|re|betreff|betrifft|objet|asunto|oggetto)"
    r"|to|from|date|attn|fax|phone|tel|pages|cc|an|von|datum|à|de|para)\s?:\s",
    re.IGNORECASE,
)
_HEAD_OF_LETTER = 1500
"""Characters in which a letter's head stands."""
_EDGES = " \t-–—•*:;,|_"
_OPEN_ENDS = frozenset("a an and as at by for from in is of on or said says that the to was were with".split())
_WORD = re.compile(r"[^\W\d_]{2,}")
_VOWEL = re.compile(r"[aeiouyàáâãäåæèéêëìíîïòóôõöøœùúûüý]", re.IGNORECASE)
_SENTENCE = re.compile(r"[.!?]\s+[A-Z][a-z]+\s+[a-z]+\s+[a-z]+")
_LONGEST, _SHORTEST = 250, 3
_WORDY = 0.7
"""Share of words with a vowel that print has in every language written in Latin letters, abbreviations apart."""
_LETTERS = 0.5
"""Share of signs that are letters: designations with a date lie above, scraps of drawings and barcodes below."""
_KNOWN = 0.5
"""Share of a property's words that the text must have; templates and programs leave titles of other documents."""
_ENOUGH_TEXT = 100
"""Different words of a text from which on it can speak against a property; a drawing has fewer."""
_VOTE = 1.5
"""What one that agrees is worth: more than one step between the places where candidates stand, less than two."""
_LAST = 1.0
"""Weight of what is a title where nothing else is: below every place."""
_LABELS = 3
"""Labelled lines from which on a text begins as a letter does: one is said of many things."""
_PARTS = re.compile(r" (?:[|–—·•»-]|::) ")
_AGREES = 0.6
"""Share of the shorter candidate's words that two candidates have in common where they name the same thing."""


def plain_name(file_name: str) -> str:
    """Write a file's name as a title: without its extension, blanks for underscores."""
    stem = PurePath(file_name).stem
    return " ".join(stem.replace("_", " ").split()) or stem or file_name


def choose_title(candidates: Sequence[TitleCandidate], file_name: str, text: str) -> str:
    """Choose a document's title.

    Args:
        candidates: in order of preference where they weigh the same.
        file_name: what it falls back to, in plain form.
        text: the document's text, or its beginning, whose words speak for and against.
    """
    known = {word.casefold() for word in _WORD.findall(text)}
    designations = [found for each in candidates if (found := _designation_alone(each.text)) and _is_sure(each, found)]
    worded = (each for each in candidates if not _designation_alone(each.text))
    judged = [
        (each, words) for each in (*worded, *_subject(text, candidates)) if (words := _judged(each, file_name, known))
    ]
    best, most = "", 0.0
    for each, words in judged:
        agreeing = sum(_votes(other, each) and _agree(words, theirs) for other, theirs in judged)
        weight = each.source.value + _VOTE * (agreeing + _is_printed(each, words, known))
        weight = min(weight, _LAST) if _PROJECT.fullmatch(words) else weight
        if weight > most:
            best, most = words, weight
    if not best:
        return designations[0] if designations else plain_name(file_name)
    best = _as_printed(best, text)
    is_designated = any(each.casefold() in best.casefold() for each in designations)
    return best if is_designated or not designations else f"{designations[0]} {best}"


def _votes(one: TitleCandidate, other: TitleCandidate) -> bool:
    """Tell whether a candidate speaks for another: a heading among the smaller print of a cover is the same print."""
    return one is not other and {one.source, other.source} != {TitleSource.SMALLER, TitleSource.HEADING}


def _as_printed(title: str, text: str) -> str:
    """Write abbreviations of a title as the text does: "(SARIF)" where a property has "(Sarif)"."""
    found = re.search(r"\s+".join(map(re.escape, title.split())), text, re.IGNORECASE)
    if found is None or found[0].isupper():
        return title
    pairs = zip(title.split(), found[0].split(), strict=True)
    return " ".join(printed if printed.isupper() else word for word, printed in pairs)


def subject_of(text: str) -> str:
    """Return what a letter, memo or fax says that it is about; empty where the text does not begin as one does."""
    found = [*_LETTER.finditer(text[:_HEAD_OF_LETTER]), None]
    for label, following in itertools.pairwise(found):
        if label is not None and label["subject"] and len(found) > _LABELS:
            return text[label.end() : following and following.start()].partition("\n")[0].strip(_EDGES)
    return ""


def _subject(text: str, candidates: Sequence[TitleCandidate]) -> list[TitleCandidate]:
    recognised = any(each.recognised for each in candidates)
    return [TitleCandidate(said, TitleSource.SUBJECT, recognised)] if (said := subject_of(text)) else []


_FILE = re.compile(r"\S+\.(?:docx?|fmx\.xml|html?|md|odt|pdf|xml)", re.IGNORECASE)


def without_site(title: str, headings: Sequence[str]) -> str:
    """Leave the site's name out of the title of a web page: what is left is the one part that is a heading of the page.

    A title whose other parts have digits stays whole: they may be a designation or an edition. The name of a file is
    no title.
    """
    title = " ".join(title.split())
    if _FILE.fullmatch(title):
        return ""
    parts = [part for part in _PARTS.split(title) if part]
    printed = {" ".join(heading.split()).casefold() for heading in headings}
    named = [part for part in parts if part.casefold() in printed]
    if len(parts) == len(named) or len(named) != 1 or title.casefold() in printed:
        return title
    rest = "".join(part for part in parts if part != named[0])
    return title if any(map(str.isdigit, rest)) else named[0]


def _judged(candidate: TitleCandidate, file_name: str, known: set[str]) -> str:
    """Return a candidate's words without what hangs on them; empty where they are no title."""
    words = _FOOTNOTE.sub("", " ".join(candidate.text.split()).strip(_EDGES)).strip(_EDGES)
    if not _SHORTEST <= len(words) <= _LONGEST or _LABEL.match(words):
        return ""
    if _MADE_UP.fullmatch(words) or _KIND.fullmatch(words) or (words[0] in "([" and words[-1] in ")]"):
        return ""
    if candidate.text.rstrip().endswith(",") or words.split()[-1].casefold().strip(".") in _OPEN_ENDS:
        return ""
    if candidate.source is not TitleSource.STATED and _SENTENCE.search(words):
        return ""
    letters = sum(map(str.isalpha, words))
    if letters < _SHORTEST or letters < _LETTERS * len(words.replace(" ", "")):
        return ""
    if not _reads(words, recognised=candidate.recognised):
        return ""
    if candidate.source is TitleSource.STATED and not _fits(words, file_name, known):
        return ""
    return words


def _reads(words: str, *, recognised: bool) -> bool:
    """Tell words from scraps."""
    found = _WORD.findall(words)
    if words.islower() and len(found) < 3:  # a name in small letters, or the end of a line
        return False
    if not any(len(word) > 3 for word in found) and len(set(found)) < 2:  # labels of a drawing: "USR0 USR1"
        return False
    latin = [word for word in found if word.isascii()]
    real = [word for word in latin if _VOWEL.search(word) or (word.isupper() and len(word) <= 6)]
    if len(real) < _WORDY * len(latin):
        return False
    if not recognised:
        return True
    # what OCR makes of dirt are short pieces; two whole words are none of it
    return sum(len(word) > 3 for word in found) >= 2 and 2 * sum(map(len, found)) > len(words)


def _is_sure(candidate: TitleCandidate, designation: str) -> bool:
    """Tell a designation from a label of a drawing that was recognised: that has no issuer anybody refers to."""
    return not candidate.recognised or bool(find_references(designation))


def _fits(words: str, file_name: str, known: set[str]) -> bool:
    """Tell a property that was written for this document: no name of a file, and its words are in the text."""
    if "_" in words or words.casefold() == PurePath(file_name).stem.casefold():
        return False
    own = {word.casefold() for word in _WORD.findall(words) if len(word) > 3}
    return len(known) < _ENOUGH_TEXT or not own or len(own & known) >= _KNOWN * len(own)


def _is_printed(candidate: TitleCandidate, words: str, known: set[str]) -> bool:
    """Tell a property whose every word the text has: the text speaks for it as another candidate does."""
    own = {word.casefold() for word in _WORD.findall(words) if len(word) > 3}
    return candidate.source is TitleSource.STATED and bool(own) and own <= known


def _agree(one: str, other: str) -> bool:
    first, second = ({word.casefold() for word in _WORD.findall(each) if len(word) > 2} for each in (one, other))
    least = min(len(first), len(second))
    return least > 0 and len(first & second) >= _AGREES * least


_DESIGNATION = re.compile(
    r"(?=[^ ]{0,40}[A-Z]{2})(?P<body>[A-Z][A-Za-z]{0,11})(?:/[A-Z]{2,8}){0,3}[ -]"
    r"(?:[A-Z][A-Za-z]{0,11}(?:/[A-Z]{2,8}){0,3}[ -]){0,3}(?:[A-Z]{1,5}[ -]?)?\d{2,6}"
    r"(?:[-.:/](?!(?i:amd|cor)\b)\w{1,8}){0,4}(?:[/+](?i:amd|cor)\.? ?\d{1,2}(?::\d{4})?){0,3}"
)
_DATE_AFTER = re.compile(r"\s+(?:\d{1,2} \w{3,9} \d{2,4}|\d{4}-\d\d-\d\d|\([^()]{1,60}\))")
_NO_BODIES = frozenset(
    "annex appendix april august box chapter december february figure january july june march may november october"
    " page part room section september sheet table volume".split()
)
"""Words in capitals before a number that name no issuer."""


def _designation_alone(text: str) -> str:
    """Return the designation that a candidate is, but for a date or a remark behind it; empty where it is more."""
    words = " ".join(text.split()).strip(_EDGES)
    found = _DESIGNATION.match(words)
    if found is None or found["body"].casefold() in _NO_BODIES:
        return ""
    rest = words[found.end() :]
    while (date := _DATE_AFTER.match(rest)) is not None:
        rest = rest[date.end() :]
    return "" if rest.strip(_EDGES) else found.group()
