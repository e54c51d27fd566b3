"""Reads one glossary entry: term, synonyms, subject field, definition, notes and source, without markup."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from knowledge_mcp.language.openings import EXAMPLE_CAPITALS, EXAMPLE_TITLES, NOTE_CAPITALS, NOTE_TITLES, TO_ENTRY
from knowledge_mcp.model.chunk import Definition
from knowledge_mcp.model.document import Span

_WHITE = re.compile(r"\s+")
_DOMAIN = re.compile(r"(?:(?<!\s)\s++)?[<⟨〈](?P<domain>[^<>⟩〉\n]{2,60})[>⟩〉]\s*+")
_SOURCES = "SOURCE|QUELLE|FUENTE|FONTE|BRON|KÄLLA|KILDE|ŹRÓDŁO|ИСТОЧНИК|来源|來源|出典|출처"
_NOTE = re.compile(
    rf"(?:(?<!\s)\s++)?(?:[\[［【(（](?:{_SOURCES})\s?[:：]|\b(?:{_SOURCES})\s?[:：]"
    rf"|\b(?:{NOTE_TITLES})s?\s+\d+\s+{TO_ENTRY}\b|\b(?:{NOTE_CAPITALS})(?:\s+\d+)?\b\s*[:.–—]?\s"
    rf"|\b(?:{NOTE_TITLES}|{EXAMPLE_TITLES})s?(?:\s+\d+)?\s*:\s|\b(?:{EXAMPLE_CAPITALS})(?:\s+\d+)?\b\s*[:.–—]?\s)"
)
_ORIGIN = re.compile(rf"\W{{0,3}}(?:{_SOURCES})\s?[:：]\s*(?P<origin>\S.*)")
_LABEL_ALONE = re.compile(
    rf"\W*+(?:(?:{NOTE_TITLES}|{EXAMPLE_TITLES})s?|{NOTE_CAPITALS}|{EXAMPLE_CAPITALS})\b[\s\d]*+(?:{TO_ENTRY})?\W*+",
    re.IGNORECASE,
)
_PARENTHESIS = re.compile(r"(?:(?<!\s)\s++)?\((?P<inner>[^()]{1,60})\)\s*+\Z")
_SYMBOL = re.compile(r"(?<=[^\W\d_]{3})\s\((?P<symbol>[A-ZΑ-Ωα-ω][a-z\d]{0,2}|[a-z]\d)\)\Z")
"""The symbol of a quantity after its name: "Force coefficient (Cf)"."""
_ALSO = re.compile(
    r"(?:,|(?<![\s,]))\s*+\(?\b(?:also\s+(?:called|known\s+as|referred\s+to\s+as)|admitted(?:\s+term)?:?|synonyms?:?|abbreviated(?:\s+as)?|aka|a\.k\.a\.)\s+"
    r"(?P<other>[^);]+)\)?",
    re.IGNORECASE,
)
_MARKS = re.compile(r"[*`“”\"]{2,}|[`“”\"]|(?<![^\s(])[*_]+(?=\S)|(?<=[^\s*_])[*_]+(?![^\s:.,;)])")
_BARE_MARKS = re.compile(r"[*`“”\"]+")
_GRAMMAR = re.compile(r"(?:noun|verb|adj|adverb|n\.|v\.|adj\.|see |of |plural)")
_SMALL = frozenset("a an and for in of on or the to with by at from".split())


def split_term(printed: str) -> tuple[str, tuple[str, ...]]:
    """Split a printed term into the term and its synonyms: "mean time to repair (MTTR); repair time"."""
    bare = _WHITE.sub(" ", printed).strip()
    words = (_MARKS.sub("", bare) or bare).strip(" :,–—«»").removesuffix(".")
    aliases: list[str] = []
    also = _ALSO.search(words)
    if also is not None and also.start() > 0:
        aliases.extend(part.strip() for part in re.split(r",|\bor\b", also.group("other")))
        words = words[: also.start()].strip(" ,")
    first, *others = [part.strip() for part in words.split(";")]
    words = first
    aliases = [*others, *aliases]
    symbol = _SYMBOL.search(words)
    if symbol is not None:
        aliases.append(symbol["symbol"])
        words = words[: symbol.start()]
    if " / " in words:
        aliases.extend(part.strip() for part in words.split(" / "))
    bracket = _PARENTHESIS.search(words)
    if bracket is not None and bracket.start() > 0:
        inner, before = bracket.group("inner").strip(), words[: bracket.start()].strip()
        other = inner.removeprefix("or ")
        if _GRAMMAR.match(inner):
            words = before
        elif inner != other or _is_other_name(other, before):
            aliases.insert(0, other)
            words = before
        else:
            aliases.insert(0, before)
    return words.strip(), tuple(dict.fromkeys(a for a in aliases if a and a != words))


def _is_other_name(inner: str, words: str) -> bool:
    """Return whether the text in brackets is another name of the same thing: an abbreviation, or a derived word."""
    if expansion_fits(inner.removesuffix("s"), words) or expansion_fits(words, inner):
        return True
    if inner.isupper() and inner.isalpha() and 2 <= len(inner) <= 5:
        return all(letter in words.upper() for letter in inner) and inner[0] == words[0].upper()
    return inner.isalpha() and len(inner) > 5 and inner[:4].lower() == words[:4].lower()


def make_definition(
    printed: str, words: str, span: Span, clause_number: str | None, *, expansion: bool = False
) -> Definition:
    """Build a definition from its printed term and words.

    Args:
        printed: the term, possibly with synonyms.
        words: the definition; a subject field `<...>` is split off, and so are notes, examples and the source at its
            end.
        span: the whole entry.
        clause_number: the entry's clause.
        expansion: the words spell out an abbreviation, and are therefore also a synonym.
    """
    term, aliases = split_term(printed)
    domain: str | None = None
    found = _DOMAIN.match(words)
    if found is not None:
        domain = found.group("domain").strip()
        words = words[found.end() :]
    inline = _DOMAIN.search(term)
    if inline is not None:
        domain = domain or inline.group("domain").strip()
        term = f"{term[: inline.start()]} {term[inline.end() :]}".strip()
    note = _NOTE.search(words)
    behind = ""
    if note is not None and note.start() > 0:
        words, behind = words[: note.start()], words[note.start() :]
    text = _WHITE.sub(" ", words).strip()
    if expansion:
        spelled = re.split(r"[;.(]|\s[—–-]\s", _BARE_MARKS.sub("", text), maxsplit=1)[0].strip()
        if spelled and len(spelled.split()) <= 9:
            aliases = (*aliases, spelled)
    made = Definition(term, text, span, tuple(dict.fromkeys(aliases)), clause_number, domain)
    return with_notes(made, [behind]) if behind else made


def with_names(definition: Definition, names: Iterable[str]) -> Definition:
    """Add further terms printed above a definition, each possibly with a subject field and synonyms."""
    aliases = list(definition.aliases)
    for printed in names:
        name, others = split_term(_DOMAIN.sub(" ", printed))
        aliases += [name, *others]
    return replace(definition, aliases=tuple(dict.fromkeys(a for a in aliases if a and a != definition.term)))


def with_notes(definition: Definition, texts: Iterable[str]) -> Definition:
    """Add the notes, examples and source from the texts after an entry; one text may contain several."""
    notes, origin = list(definition.notes), definition.origin
    for text in texts:
        starts = list(_starts(text))
        if not text[: starts[0] if starts else None].strip():
            starts = starts[1:]
        for start, end in zip([0, *starts], [*starts, len(text)], strict=True):
            piece = _WHITE.sub(" ", text[start:end]).strip()
            source = _ORIGIN.match(piece)
            if source is not None:
                origin = origin or _unbracketed(source.group("origin"))
            elif piece and _LABEL_ALONE.fullmatch(piece) is None:
                notes.append(piece)
    return replace(definition, notes=tuple(dict.fromkeys(notes)), origin=origin)


def is_origin(text: str) -> bool:
    """Return whether a paragraph names the source of the entry before it: "[SOURCE: ISO 9000:2015, 3.1.2]"."""
    return _ORIGIN.match(_WHITE.sub(" ", text)) is not None


def _starts(text: str) -> Iterator[int]:
    """Yield where notes and sources begin; a source in brackets may say that "Note 1 to entry" was left out."""
    end = 0
    for match in _NOTE.finditer(text):
        if match.start() < end:
            continue
        yield match.start()
        opening = match.group().lstrip()[:1]
        if opening and opening in _OPEN:
            begin = text.index(opening, match.start()) + 1
            end = begin + len(_unbracketed(text[begin:]))


_OPEN, _CLOSE = "[(［【（", "])］】）"


def _unbracketed(origin: str) -> str:
    """Remove the closing bracket of a source and everything after it."""
    depth = 1
    for place, letter in enumerate(origin):
        depth += (letter in _OPEN) - (letter in _CLOSE)
        if depth == 0:
            return origin[:place].strip()
    return origin.strip().rstrip(_CLOSE)


def expansion_fits(abbreviation: str, words: str) -> bool:
    """Return whether the words can spell out the abbreviation: its letters occur in order, the first at the start."""
    letters = [letter.lower() for letter in abbreviation if letter.isalpha()]
    if len(letters) < 2 or sum(1 for letter in abbreviation if letter.isupper()) < 2:
        return False
    spelled = re.split(r"[;.(\n]", words, maxsplit=1)[0]
    initials = [word[0].lower() for word in re.findall(r"[^\W_]+", spelled) if word.lower() not in _SMALL]
    if not initials or initials[0] != letters[0]:
        return False
    remaining = iter(letters)
    current = next(remaining, None)
    for letter in spelled.lower():
        if letter == current:
            current = next(remaining, None)
    return current is None


_FIRST = re.compile(r".{1,400}?(?:[.;](?=\s|\Z)|:(?=\s)|\Z)", re.DOTALL)
_COPULA = (
    r"(?:(?:is|are|was)(?!\s+(?:used|spread|listed|given|available|required|not)\b)|means?|refers?|denotes?|describes?|designates?|represents?|specif(?:y|ies)|formally|indicates?"
    r"|consists?|comprises?|includes?|stands?|provides?|allows?|enables?|can\s+be\s+(?:defined|described)|shall\s+mean)"
)
_FINITE = re.compile(
    r"\b(?:is|are|was|were|has|have|had|does|do|can|cannot|could|may|might|must|should|shall|will|would|SHOULD|MUST|SHALL|MAY"
    r"|interprets?|deems?|requires?|contains?|uses?|applies|apply|allows?|describes?|defines?)\b"
)
_RELATIVE = re.compile(r"\b(?:that|which|who|whom|whose|where|when|whereby|in\s+order\s+to)\b|[,(]")
_OPENING = re.compile(
    r"\W*(?:in\s+[^,.]{3,60},\s*|when\s+[^,.]{3,40},\s*|for\s+the\s+purposes?\s+of[^,.]{3,60},\s*)?(?:(?:the|an?|each|any)\s+)?"
    r"(?:(?:words?|terms?|phrase|concept\s+of)\s+)?\W*",
    re.IGNORECASE,
)
_CALLED = r"(?:called|termed|known\s+as|named|referred\s+to\s+as|said\s+to\s+be)\s+(?:an?\s+|the\s+)?\W*"
_POINTER = re.compile(
    r"\W*(?:see|see\s+also|same\s+as|synonym\s+(?:for|of)|voir|siehe|véase)\s+(?P<term>[^.;(]{2,80})(?:\((?:[A-Z]\.)?[\d.-]{1,20}\))?\W*\Z",
    re.IGNORECASE,
)
_LONGEST_POINTER = 300
_LINK = re.compile(r"(?:#\S*|<?https?://\S+|\S+\.(?:md|html?|xml|json)\S*)\Z")
_WORDS = re.compile(r"[^\W_]{2}")
_ADDRESS = re.compile(r"(?:is |are )?available (?:at|from|under)\b.{0,20}(?:https?://|www\.)", re.IGNORECASE)


def is_meaning(words: str) -> bool:
    """Return whether the text after a term can be a meaning: words, not a sign, a number or a link."""
    bare = words.strip()
    return _WORDS.search(bare) is not None and _LINK.match(bare) is None and _ADDRESS.match(bare) is None


def is_defining(term: str, words: str) -> bool:
    """Return whether the first sentence defines the term.

    It says what the term is or means ("A pump is ...", "... are called pumps"), or it is not a full sentence but could
    replace the term ("machine that moves water").
    """
    match = _FIRST.match(words.strip())
    first = match.group() if match else ""
    if first[:1].islower():
        return True
    name = r"[\s-]+".join(
        re.escape(part.rstrip("s")) + r"\w{0,2}" for part in re.split(r"[\s-]+", term.strip()) if part
    )
    opening = _OPENING.match(first)
    begin = opening.end() if opening else 0
    if re.compile(rf"{name}\W*(?:\([^)]*\)\W*)?{_COPULA}\b", re.IGNORECASE).match(first, begin):
        return True
    if re.search(rf"{_CALLED}{name}|[\"“‘]{name}[\"”’]", first, re.IGNORECASE):
        return True
    finite = _FINITE.search(first)
    relative = _RELATIVE.search(first)
    return finite is None or (relative is not None and relative.start() < finite.start() and first[0] != "I")


def without_pointers(definitions: Sequence[Definition]) -> list[Definition]:
    """Turn entries that only point to another ("See database.") into names of that one, if it is defined."""
    by_name = {each.term.casefold(): each for each in definitions}
    pointers: dict[int, str] = {}
    targets = [pointed_at(each.text) for each in definitions]
    pointing = {id(each) for each, target in zip(definitions, targets, strict=True) if target is not None}
    for place, (each, target) in enumerate(zip(definitions, targets, strict=True)):
        if target in by_name and id(by_name[target]) not in pointing and target != each.term.casefold():
            pointers[place] = target
    more: dict[str, list[str]] = {}
    for place, target in pointers.items():
        more.setdefault(target, []).extend((definitions[place].term, *definitions[place].aliases))
    return [
        replace(each, aliases=tuple(dict.fromkeys((*each.aliases, *more.get(each.term.casefold(), ())))))
        if by_name[each.term.casefold()] is each
        else each
        for place, each in enumerate(definitions)
        if place not in pointers
    ]


def with_abbreviations(definitions: Sequence[Definition]) -> list[Definition]:
    """Add to terms the abbreviations that are spelled out elsewhere in the document, so that a lookup finds both."""
    short: dict[str, list[str]] = {}
    for each in definitions:
        for alias in each.aliases:
            if alias.casefold() == each.text.casefold():
                short.setdefault(alias.casefold(), []).append(each.term)
    return [
        replace(each, aliases=tuple(dict.fromkeys((*each.aliases, *short[each.term.casefold()]))))
        if each.term.casefold() in short
        else each
        for each in definitions
    ]


def pointed_at(words: str) -> str | None:
    """Return the term that a meaning only points to, case-folded; None if it says more."""
    match = _POINTER.match(words) if len(words) <= _LONGEST_POINTER else None
    return match.group("term").strip("\"“”'‘’ ").casefold() if match else None
