"""Finds the items that a text names: by ids as written or with variations, in lists, ranges and table rows."""

from __future__ import annotations

import itertools
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from knowledge_mcp.language.multilingual.recognition import CONJUNCTIONS
from knowledge_mcp.language.requirements.denied import is_denied_before, is_denied_behind
from knowledge_mcp.language.requirements.mentions import is_mention
from knowledge_mcp.language.sentences import line_around, sentence_around
from knowledge_mcp.model.document import Span
from knowledge_mcp.support.checkpoints import check_each

Key = tuple[str, ...]

_TOKEN = re.compile(r"[^\W\d_]+|\d+")
_JOINTS = frozenset({"", "-", "_", ".", ":", "/", " ", "\u2010", "\u2011", "\u2012", "\u2013", "\xa0"})
"""Interchangeable separators between the words of an id: "SYS-REQ-3" equals "SYS_REQ_3" and "SYS REQ 3"."""
_TIGHT = frozenset({"", "-", "_", "."})
"""The same between a number and the letter after it: "12a" and "12-A"; "12 a" is not an id."""
_LONGEST_NUMBER = 18
"""Maximum digits of a number whose leading zeros are ignored."""
_MOST_TOKENS = 24
"""Maximum tokens of an id that is searched in texts. One of hundreds is not an id, and every similar place of a text
would be compared with all of them.
"""
_LONGEST_TEST = 300
"""Maximum characters of a test's name before the id in it."""
_LONGEST_RANGE = 1000
"""Maximum items in a range; longer ones are not ranges of ids."""
_UP_TO = re.compile(
    r"[\])]?\s{0,3}(?:to|through|thru|bis|à|a|\.{2,3}|[…–—-])\s{0,3}[\[(]?"
    r"(?P<stem>[^\W\d][\w.:/-]{0,60}?[ -]?)?(?P<last>\d{1,9})(?![\w-]|\.\w)"
)
"""What makes a range of the id before it: "REQ-1 to REQ-5", "REQ-1..5"."""
_COMMA = rf"\s{{0,3}}[,;&+]\s{{0,3}}(?:(?:{CONJUNCTIONS})\s)?|/|[ ]{{1,3}}(?:{CONJUNCTIONS})[ ]{{1,3}}"
_AND = re.compile(rf"(?P<mark>{_COMMA})(?P<more>\d{{1,9}}[a-z]?|[a-z])(?!\w|-\D|\.\w)")
_JOINED = re.compile(rf"[\])]?(?:{_COMMA})[\[(]?")
"""Separator of two names in a list."""
_MARKS = re.compile(r"[\s\[(*_`>•-]{0,12}")
"""What may precede the id at the start of a line."""
_ENDS = re.compile(
    rf"\s{{0,3}}(?:\Z|[,;.:)\]/&+|\n>=→…–—-]|(?:(?:{CONJUNCTIONS})|to|bis|are|is|sind|ist|sont|son)\b|satisf|implement|cover|trace)"
)
"""What follows a number that continues a list of ids; "SYS-3 and 5 others" is not a list."""
_PIECES = re.compile(r"[,;|\n]|\s(?=\S{0,40}[\d#-])")


@dataclass(frozen=True, slots=True)
class _Name:
    text: str
    tokens: tuple[str, ...]
    gaps: tuple[str, ...]  # between the tokens
    head: str  # before the first token
    tail: str  # after the last token

    @property
    def is_mixed(self) -> bool:
        return any(map(str.isdecimal, self.tokens)) and not all(map(str.isdecimal, self.tokens))

    @property
    def is_path(self) -> bool:
        """Whether it is a path from a root, as requirements and tests of the OGC have: "/req/core/root-op"."""
        return self.head == "/" in self.gaps

    @property
    def is_unambiguous(self) -> bool:
        """Whether the id as written is unambiguous in a sentence."""
        if self.is_mixed or self.is_path:
            return True
        if any(map(str.isdecimal, self.tokens)):
            return bool(self.head.strip()) or len({*self.gaps}) > 1
        return "" not in self.gaps and len(self.tokens) > 1 and self.text.isupper()


@dataclass(frozen=True, slots=True)
class NamedItems:
    """The ids that a text names.

    Attributes:
        meant: those that it meets, tests or refines.
        denied: those that it says it does not meet.
        mentioned: the sentence that names each of the others, and each denied one.
    """

    meant: set[str] = field(default_factory=set[str])
    denied: set[str] = field(default_factory=set[str])
    mentioned: dict[str, str] = field(default_factory=dict[str, str])


class ItemNames:
    """Finds the names of two sets of items in texts, each of which is the text of one item.

    A name of the item's own set is never read as one of the other: "SYS-1-2" is not a range if it is an item. An id may
    be written with other hyphens, blanks, case and leading zeros if only one item can be meant.
    """

    def __init__(self, sides: Sequence[Mapping[str, str]]) -> None:
        """Build the index from the names of both sets, with their ids."""
        self._sides = sides
        self._names: dict[Key, list[_Name]] = defaultdict(list)
        self._prefixes: set[Key] = set()
        for name in dict.fromkeys(name for side in sides for name in side):
            parsed = _parsed(name)
            if parsed is None or len(parsed.tokens) > _MOST_TOKENS:
                continue
            key = _key(parsed.tokens)
            self._names[key].append(parsed)
            self._prefixes.update(key[:end] for end in range(1, len(key) + 1))
        self._firsts = {key[0] for key in self._names}

    def in_text(self, text: str, side: int) -> NamedItems:
        """Return the ids of one set that a text names."""
        found = NamedItems()
        known = self._sides[side]
        together: list[tuple[int, int, list[str]]] = []  # names separated only by "and" or a comma
        for each in self._places(text):
            if together and _JOINED.fullmatch(text, together[-1][1], each[0]) is None:
                _add_names(text, together, known, found)
                together = []
            together.append(each)
        _add_names(text, together, known, found)
        return found

    def opening(self, line: str, side: int) -> tuple[set[str], str]:
        """Return the ids of one set at the start of a line, "SRS 1-3 satisfy FR 1", and the text after them."""
        first = _TOKEN.search(line)
        if first is None or _key((first.group(),)) not in self._prefixes:
            return set(), line
        ids: set[str] = set()
        end = 0
        for start, stop, names in self._places(line):
            if (_JOINED if ids else _MARKS).fullmatch(line, end, start) is None:
                break
            own = {self._sides[side][each] for each in names if each in self._sides[side]}
            if not own:
                break
            ids |= own
            end = stop
        return ids, line[end:]

    def _places(self, text: str) -> Iterator[tuple[int, int, list[str]]]:
        """Yield the places of names, each with the names that follow in the same list or range."""
        tokens = [(each.start(), each.end()) for each in _TOKEN.finditer(text)]
        behind = 0
        for place, (start, end) in enumerate(check_each(tokens)):
            word = text[start:end]
            if start < behind or (word.lower() not in self._firsts and not word.isdecimal()):
                continue  # most words start no name
            at = self._at(text, tokens, place)
            if at is not None:
                listed, behind = self._listed(text, at[0], at[1])
                yield start - len(at[1].head), behind, [at[1].text, *listed]

    def in_list(self, text: str, side: int) -> set[str]:
        """Return the ids of one set in a list of links or a cell with nothing else, including bare numbers."""
        names = self._sides[side]
        pieces = [text.strip(), *(each.strip(" []()") for each in _PIECES.split(text))]
        return {names[each] for each in pieces if each in names} | self.in_text(text, side).meant

    def _at(self, text: str, tokens: Sequence[tuple[int, int]], place: int) -> tuple[int, _Name] | None:
        """Return the longest name that starts at a token, with its end."""
        key: Key = ()
        found: tuple[int, _Name] | None = None
        for at in range(place, len(tokens)):
            key = (*key, *_key((text[slice(*tokens[at])],)))
            if key not in self._prefixes:
                break
            for each in self._meant_by(key, text, tokens[place : at + 1]):
                end = tokens[at][1] + len(each.tail)
                if self._is_whole(text, tokens[place][0] - len(each.head), end, each):
                    found = (end, each)
        return found

    def _meant_by(self, key: Key, text: str, tokens: Sequence[tuple[int, int]]) -> Iterator[_Name]:
        start, end = tokens[0][0], tokens[-1][1]
        named = self._names.get(key, ())
        fitting = [
            each
            for each in named
            if text.startswith(each.tail, end) and text.endswith(each.head, 0, start) and each.is_unambiguous
        ]
        exact = [each for each in fitting if text[start - len(each.head) : end + len(each.tail)] == each.text]
        if exact or len(named) > 1:
            yield from exact
        else:
            yield from (each for each in fitting if each.is_mixed and _is_variant(each, text, tokens))

    def _is_whole(self, text: str, start: int, end: int, name: _Name) -> bool:
        """Return whether a name is not part of a longer one: "TC-SYS-1", "SYS-1.2", "SYS-1a"."""
        before, after = text[start - 1 : start], text[end : end + 1]
        if before == "_" or after == "_":
            return _is_in_test(text, start, end)
        if before.isalnum() or after.isalnum() or (before in {"-", "."} and text[start - 2 : start - 1].isalnum()):
            return False
        if name.is_path and after == "/":
            return False
        if after not in {"-", "."} or not text[end + 1 : end + 2].isalnum():
            return True
        if after == "." and re.match(r"\.[^\W\d_][a-zß-ÿ]", text[end : end + 3]) and text[end + 1].isupper():
            return True  # the start of a sentence without a blank
        return next(self._range(text, end, name), None) is not None

    # ---- lists and ranges

    def _listed(self, text: str, end: int, name: _Name) -> tuple[list[str], int]:
        """Return the names that follow in the same list, "REQ-1, 3 and 5 to 7", and where the list ends."""
        found: list[str] = []
        tokens = name.tokens
        while tokens[-1].isdecimal() or (tokens[-2:-1] and tokens[-2].isdecimal()):
            for each, stop in self._range(text, end, name, tokens):
                found.append(each)
                end = stop
            more = _AND.match(text, end)
            if more is None or not (more["mark"] == "/" or _ENDS.match(text, more.end())):
                break
            tokens = _in_place_of(tokens, more["more"])
            named = self._names.get(_key(tokens), ()) if tokens else ()
            if len(named) != 1:
                break
            found.append(named[0].text)
            end = more.end()
        return found, end

    def _range(
        self, text: str, end: int, name: _Name, tokens: tuple[str, ...] | None = None
    ) -> Iterator[tuple[str, int]]:
        """Yield the names of a range after the first, with its end."""
        tokens = tokens or name.tokens
        last = _UP_TO.match(text, end) if tokens[-1].isdecimal() else None
        if last is None:
            return
        stem, begin, stop = last["stem"], int(tokens[-1]), int(last["last"])
        if stem is not None and _key(_TOKEN.findall(stem)) != _key(tokens[:-1]):
            return
        if not begin < stop <= begin + _LONGEST_RANGE or (*_key(tokens[:-1]), str(stop)) not in self._names:
            return
        for number in range(begin + 1, stop + 1):
            named = self._names.get((*_key(tokens[:-1]), str(number)), ())
            yield from ((each.text, last.end()) for each in named[:1])


def _add_names(
    text: str, together: Sequence[tuple[int, int, list[str]]], known: Mapping[str, str], found: NamedItems
) -> None:
    """Add the ids of one list; "SYS-3 and SYS-4 are open" denies both, "SYS-3, SYS-4 (open)" only the last."""
    if not together:
        return
    start, end = together[0][0], together[-1][1]
    joint = text[together[-2][1] : together[-1][0]].strip(" ,") if len(together) > 1 else ""
    is_every = is_denied_before(text, start) or (joint.isalpha() and is_denied_behind(text, end, aside=False))
    is_mentioned = is_mention(text, start, end)
    for place, (_, _, names) in enumerate(together, 1):
        ids = {known[each] for each in names if each in known}
        is_denied = is_every or (place == len(together) and is_denied_behind(text, end))
        if ids and (is_denied or is_mentioned):
            found.mentioned.update(dict.fromkeys(ids, _sentence(text, start, end)))
        if is_denied or not is_mentioned:
            (found.denied if is_denied else found.meant).update(ids)


def _sentence(text: str, start: int, end: int) -> str:
    """Return the sentence, or row, of a name."""
    return sentence_around(text, Span(start, end), line_around(text, start, end)).of(text).strip(" |")


def _parsed(name: str) -> _Name | None:
    places = [(each.start(), each.end()) for each in _TOKEN.finditer(name)]
    if not places:
        return None
    gaps = tuple(name[one[1] : other[0]] for one, other in itertools.pairwise(places))
    tokens = tuple(name[start:end] for start, end in places)
    return _Name(name, tokens, gaps, name[: places[0][0]], name[places[-1][1] :])


def _key(tokens: Iterable[str]) -> Key:
    return tuple(
        str(int(each)) if each.isdecimal() and len(each) <= _LONGEST_NUMBER else each.lower() for each in tokens
    )


def _is_variant(name: _Name, text: str, places: Sequence[tuple[int, int]]) -> bool:
    """Return whether the same words and numbers are joined in a way that means the same id."""
    written = [text[start:end] for start, end in places]
    gaps = [text[one[1] : other[0]] for one, other in itertools.pairwise(places)]
    for place, (own, gap) in enumerate(zip(name.gaps, gaps, strict=True)):
        before, after = written[place].isdecimal(), written[place + 1].isdecimal()
        if before and after:
            fits = own == gap or "_" in {own, gap}
        elif before:
            fits = own == gap or {own, gap} <= _TIGHT
        else:
            fits = {own, gap} <= _JOINTS and (
                gap not in {" ", "\xa0"} or (len(written[place]) > 1 and written[place] == name.tokens[place].upper())
            )
        if not fits:
            return False
    return True


def _is_in_test(text: str, start: int, end: int) -> bool:
    """Return whether a name is part of a test's name, "test_SYS_12_stops"; elsewhere a joined word is another name."""
    begin = start
    while begin > start - _LONGEST_TEST and (text[begin - 1 : begin] == "_" or text[begin - 1 : begin].isalnum()):
        begin -= 1
    return (
        text[begin : begin + 4].lower() == "test"
        and text[start - 1 : start] in {"_", ""}
        and not (text[end : end + 1].isalnum() or text[end : end + 2][1:].isdecimal())
    )


def _in_place_of(tokens: tuple[str, ...], more: str) -> tuple[str, ...]:
    """Replace the last number or letter of an id: by "12", "12a" or "b" after "SYS-11a"."""
    base = tokens if tokens[-1].isdecimal() else tokens[:-1]
    if more.isalpha():
        return (*base, more) if base != tokens else ()
    return (*base[:-1], *_TOKEN.findall(more))
