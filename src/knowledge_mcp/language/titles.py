"""Chooses a document's title: candidates from its file, its cover and its running lines are judged and vote.

First the words of a candidate are judged, because scans and programs leave fragments that are not titles. Convincing
candidates are weighted by their position, by whether the text contains their words, and by the candidates that agree.
If none convinces, the title is the file's name, because it is what everybody knows the document by.
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
    """Where a candidate was found; the value is its weight: declared titles rank before what looks like one."""

    RUNNING = 2
    SMALLER = 3
    """Text of the cover that is not in the largest font."""
    HEADING = 4
    LARGEST = 5
    """The text in the largest font of the first page with text."""
    STATED = 6
    """The file's own property."""
    SUBJECT = 8
    """The subject of a letter, memo or fax."""


@dataclass(frozen=True, slots=True)
class TitleCandidate:
    """A possible title, and where it was found; `recognised` if its letters were read by OCR."""

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
    r"|(?:the )?official (?:journal|gazette)(?: of (?:the )?\w.{0,40})?|of the european (?:union|communities)"
    r"|federal register|amtsblatt(?: der .{1,40})?|bundesgesetzblatt.{0,40}|journal officiel(?: d.{1,60})?"
    r"|gazzetta ufficiale(?: d.{1,60})?|(?:bolet[ií]n|diario|diário) oficial(?: d.{1,60})?"
    r"|(?:non-)?legislative acts|[LC] series|regulations|directives|decisions|rules and regulations|proposed rules"
    r"|verordnungen|richtlinien|r[eè]glements"
    r"|(?:tele)?fax(?: (?:cover )?sheet| message)?|memo(?:randum)?|layout ?\d*|presentation ?\d*|new document",
    re.IGNORECASE,
)
"""Kinds of documents as printed on covers, gazettes and their parts, and default names of programs for untitled
documents."""
_FOOTNOTE = re.compile(r"(?:(?<=[^\W\d_])\d{1,2}\)|[¹²³⁴-⁹†‡§]|\*){1,3}$")
_LABEL = re.compile(
    r"(?:attn|cc|date|edition|fax|from|issue|no|page|phone|re|ref|rev|revision|subject|tel|to|version|vol)\b[ .:]",
    re.IGNORECASE,
)
_PROJECT = re.compile(r"(?:client|contract|customer|program(?:me)?|project)\b[ .:#-]{1,3}\w[\w-]{0,60}", re.IGNORECASE)
"""The name of the project or customer of a document: its title only if there is no other."""
_LETTER = re.compile(
    r"\b(?:(?P<subject>subject|re|betreff|betrifft|objet|asunto|oggetto)"
    r"|to|from|date|attn|fax|phone|tel|pages|cc|an|von|datum|à|de|para)\s?:\s",
    re.IGNORECASE,
)
_HEAD_OF_LETTER = 1500
"""Characters that may contain a letter's head."""
_EDGES = " \t-–—•*:;,|_"
_OPEN_ENDS = frozenset("a an and as at by for from in is of on or said says that the to was were with".split())
_WORD = re.compile(r"[^\W\d_]{2,}")
_VOWEL = re.compile(r"[aeiouyàáâãäåæèéêëìíîïòóôõöøœùúûüý]", re.IGNORECASE)
_SENTENCE = re.compile(r"[.!?]\s+[A-Z][a-z]+\s+[a-z]+\s+[a-z]+")
LONGEST_TITLE, _SHORTEST = 400, 3
"""Longest title in characters, of an act with what it repeals; and shortest."""
_WORDY = 0.7
"""Minimum share of words with a vowel, abbreviations aside; text in every Latin-script language has more."""
_LETTERS = 0.5
"""Minimum share of letters: designations with a date are above, fragments of drawings and barcodes below."""
_KNOWN = 0.5
"""Minimum share of a property's words in the text; templates and programs leave titles of other documents."""
_ENOUGH_TEXT = 100
"""Minimum different words of a text that can disprove a property; a drawing has fewer."""
_VOTE = 1.5
"""Weight of an agreeing candidate: more than one step between sources, less than two."""
_LAST = 1.0
"""Weight of a title of last resort: below every source."""
_LABELS = 3
"""Minimum labelled lines at the start of a letter; a single one occurs in many texts."""
_PARTS = re.compile(r" (?:[|–—·•»-]|::) ")
_AGREES = 0.6
"""Minimum share of the shorter candidate's words that two agreeing candidates have in common."""


def plain_name(file_name: str) -> str:
    """Convert a file name to a title: without its extension, with blanks for underscores."""
    stem = PurePath(file_name).stem
    return " ".join(stem.replace("_", " ").split()) or stem or file_name


def choose_title(candidates: Sequence[TitleCandidate], file_name: str, text: str) -> str:
    """Choose a document's title.

    Args:
        candidates: in order of preference for equal weights.
        file_name: the fallback, in plain form.
        text: the document's text, or its beginning, whose words support or disprove candidates.
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
    designations += [each.text for each in candidates if each.source is TitleSource.LARGEST and _is_sure_part(each)]
    is_designated = any(each.casefold() in best.casefold() for each in designations)
    return best if is_designated or not designations else f"{designations[0]} {best}"


_PART = re.compile(r"(?=\S{0,6}\d)(?=\S{0,20}[A-Z])[A-Z\d]{2,12}(?:[-/][A-Z\d]{1,12}){0,3}")


def is_part_number(text: str) -> bool:
    """Return whether a text is the number of a part: "LM317", "74HC00". Data sheets have it above the title."""
    return _PART.fullmatch(text.strip()) is not None


def _is_sure_part(candidate: TitleCandidate) -> bool:
    return not candidate.recognised and is_part_number(candidate.text)


def _votes(one: TitleCandidate, other: TitleCandidate) -> bool:
    """Return whether a candidate may support another; a heading in the smaller text of a cover is the same text."""
    return one is not other and {one.source, other.source} != {TitleSource.SMALLER, TitleSource.HEADING}


def _as_printed(title: str, text: str) -> str:
    """Write abbreviations in a title as the text does: "(SARIF)" if a property has "(Sarif)"."""
    found = re.search(r"\s+".join(map(re.escape, title.split())), text, re.IGNORECASE)
    if found is None or found[0].isupper():
        return title
    pairs = zip(title.split(), found[0].split(), strict=True)
    return " ".join(printed if printed.isupper() else word for word, printed in pairs)


_TEMPLATE = re.compile(r".*(?:template|vorlage|plantilla|sjabloon|szablon|skabelon|dokumentmall)", re.IGNORECASE)
"""A title that ends with the word for a template."""


def is_left_by_template(title: str, text: str) -> bool:
    """Return whether a title is that of the template that a document was made from: the text does not print it."""
    printed = r"\s+".join(map(re.escape, title.split()))
    return _TEMPLATE.fullmatch(title) is not None and re.search(printed, text, re.IGNORECASE) is None


def subject_of(text: str) -> str:
    """Return the subject of a letter, memo or fax; empty if the text does not start like one."""
    found = [*_LETTER.finditer(text[:_HEAD_OF_LETTER]), None]
    for label, following in itertools.pairwise(found):
        if label is not None and label["subject"] and len(found) > _LABELS:
            return text[label.end() : following and following.start()].partition("\n")[0].strip(_EDGES)
    return ""


def _subject(text: str, candidates: Sequence[TitleCandidate]) -> list[TitleCandidate]:
    recognised = any(each.recognised for each in candidates)
    return [TitleCandidate(subject, TitleSource.SUBJECT, recognised)] if (subject := subject_of(text)) else []


_FILE = re.compile(r"\S+\.(?:docx?|fmx\.xml|html?|md|odt|pdf|xml)", re.IGNORECASE)


def without_site(title: str, headings: Sequence[str]) -> str:
    """Remove the site's name from the title of a web page, keeping the one part that is a heading of the page.

    A title whose other parts contain digits stays whole, because they may be a designation or an edition. A file name
    is not a title.
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
    """Return a candidate's words without trailing marks; empty if they are not a title."""
    words = _FOOTNOTE.sub("", " ".join(candidate.text.split()).strip(_EDGES)).strip(_EDGES)
    if not _SHORTEST <= len(words) <= LONGEST_TITLE or _LABEL.match(words):
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


_TEMPLATES = frozenset("template skeleton vorlage muster modèle gabarit plantilla modello sjabloon".split())
"""Last words of the properties of a document that was made from a template, whose text does not say that it is one."""


def _reads(words: str, *, recognised: bool) -> bool:
    """Return whether text consists of words, not fragments."""
    found = _WORD.findall(words)
    if words.islower() and len(found) < 3:  # a lower-case name, or the end of a line
        return False
    if not any(len(word) > 3 for word in found) and len(set(found)) < 2:  # labels of a drawing: "USR0 USR1"
        return False
    latin = [word for word in found if word.isascii()]
    real = [word for word in latin if _VOWEL.search(word) or (word.isupper() and len(word) <= 6)]
    if len(real) < _WORDY * len(latin):
        return False
    if not recognised:
        return True
    # OCR turns dirt into short pieces; two whole words are not that
    return sum(len(word) > 3 for word in found) >= 2 and 2 * sum(map(len, found)) > len(words)


def _is_sure(candidate: TitleCandidate, designation: str) -> bool:
    """Return whether a designation is not a recognised label of a drawing, which has no known publisher."""
    return not candidate.recognised or bool(find_references(designation))


def _fits(words: str, file_name: str, known: set[str]) -> bool:
    """Return whether a property was written for this document: not a file name, and the text contains its words."""
    if "_" in words or words.casefold() == PurePath(file_name).stem.casefold():
        return False
    last = words.rsplit(maxsplit=1)[-1].casefold()
    if last in _TEMPLATES and last not in known:
        return False
    own = {word.casefold() for word in _WORD.findall(words) if len(word) > 3}
    return len(known) < _ENOUGH_TEXT or not own or len(own & known) >= _KNOWN * len(own)


def _is_printed(candidate: TitleCandidate, words: str, known: set[str]) -> bool:
    """Return whether the text contains every word of a property; this counts like an agreeing candidate."""
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
"""Capitalised words before a number that are not publishers."""


def _designation_alone(text: str) -> str:
    """Return the designation that a candidate consists of, apart from a date or remark after it; otherwise empty."""
    words = " ".join(text.split()).strip(_EDGES)
    found = _DESIGNATION.match(words)
    if found is None or found["body"].casefold() in _NO_BODIES:
        return ""
    rest = words[found.end() :]
    while (date := _DATE_AFTER.match(rest)) is not None:
        rest = rest[date.end() :]
    return "" if rest.strip(_EDGES) else found.group()
