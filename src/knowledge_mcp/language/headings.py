"""What a heading line says: its number, its title, whether it calls itself informative."""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["NumberedTitle", "split_clause_number"]


@dataclass(frozen=True, slots=True)
class NumberedTitle:
    """Hold what a heading line says.

    Attributes:
        number: clause number without trailing dot or parenthesis ("5.3.1", "A.1", "B", "IV"), None if there is none.
        title: the words after it; the whole line where nothing is left ("Chapter 3").
        informative: what "(informative)" or "(normative)" in the line says, None where it says nothing.
        keyword: "annex", "chapter" … in lower case where such a word stands before the number, else empty.
    """

    number: str | None
    title: str
    informative: bool | None = None
    keyword: str = ""


_PART = r"(?:\d{1,3}[a-z]?|[A-Za-z])"
_KEYWORD = re.compile(
    r"(?P<keyword>annex|appendix|attachment|chapter|section|clause|part|article|schedule|§)\s*"
    rf"(?:(?P<number>(?:[A-Z]|\d{{1,3}}[a-z]?|[IVXLC]{{1,6}})(?:\.{_PART})*)(?=[\s.):,;–—-]|$))?",
    re.IGNORECASE,
)
_BARE = re.compile(
    rf"(?P<number>\d{{1,3}}[a-z]?(?:\.{_PART})*(?=[.)]?(?:\s|$)|[.)]?[–—:])"  # 5  5.3.1  5.3.1.  5)
    rf"|[A-Z](?:\.{_PART})+(?=[.)]?(?:\s|$)|:)"  # A.1
    r"|[A-Z](?=[.)]\s)"  # A.
    r"|[IVX]{2,6}(?=[.)]\s))"  # II.
)
_ROMAN = re.compile(r"(?=[IVXLC])(?:XC|XL|L?X{0,3})(?:IX|IV|V?I{0,3})")
_SEPARATOR = re.compile(r"[.):,;\s]*(?:[–—-]\s+)?")
_FORCE = re.compile(
    r"(?:(?<!\s)\s++)?[(\[]\s*+(?P<force>informative|non-normative|normative)\s*+[)\]]\s*+",
    re.IGNORECASE,
)


def split_clause_number(text: str) -> NumberedTitle:
    """Read a heading line: its number, its title, and whether it calls itself informative.

    "5.3.1.2 Title", "5. Title", "A.1 Title", "Annex B (informative) Title", "Chapter 3", "§ 4.2 Title" are numbered; "A
    new approach", "2024 budget" and "3 %" are not.
    """
    line = " ".join(text.split())
    plain, informative = _take_force(line)
    match = _KEYWORD.match(plain)
    keyword = match.group("keyword").lower() if match else ""
    if match is None or not _keyword_stands_alone(plain, match):
        match, keyword = _BARE.match(plain), ""
    if match is None:
        return NumberedTitle(None, plain or line, informative)
    number = match.group("number")
    title = plain[match.end() :]
    if number is None:
        return NumberedTitle(None, plain, informative, keyword)
    title = title[_end_of_separator(title) :]
    if keyword:
        return NumberedTitle(number, title.lstrip("–—- ") or plain, informative, keyword)
    if not any(character.isalpha() for character in title) or not _is_possible(number):
        return NumberedTitle(None, plain, informative)
    return NumberedTitle(number, title, informative)


def _end_of_separator(title: str) -> int:
    match = _SEPARATOR.match(title)
    return match.end() if match else 0


def _take_force(line: str) -> tuple[str, bool | None]:
    # most lines have no bracket, and the search begins anew at every blank
    match = _FORCE.search(line) if "(" in line or "[" in line else None
    if match is None:
        return line, None
    rest = f"{line[: match.start()]} {line[match.end() :]}".strip()
    return rest, match.group("force").lower() != "normative"


def _keyword_stands_alone(line: str, match: re.Match[str]) -> bool:
    """Tell "Part II Rules" and "Annex" from "Partial results" and "Section breaks"."""
    number = match.group("number")
    if number is None:
        return len(line) == match.end() or (match.group("keyword").lower() == "annex" and line[match.end() - 1] == " ")
    if match.group("keyword") == "§":
        return number[0].isdigit()
    if not line[len(match.group("keyword"))].isspace():
        return False
    if number[0].islower():
        return False
    return not (number.isalpha() and len(number) > 1) or _ROMAN.fullmatch(number) is not None


def _is_possible(number: str) -> bool:
    return not number.isalpha() or len(number) == 1 or _ROMAN.fullmatch(number) is not None
