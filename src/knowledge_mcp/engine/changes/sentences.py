"""Which sentences of two editions of a clause belong together."""

from __future__ import annotations

import itertools
import math
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

from knowledge_mcp.engine.changes.aligning import ClauseLink
from knowledge_mcp.engine.changes.clauses import Clause
from knowledge_mcp.engine.changes.marking import number_marks
from knowledge_mcp.engine.changes.wording import stem_of, words_and_numbers, words_and_signs, words_of
from knowledge_mcp.language.multilingual.recognition import language_of
from knowledge_mcp.language.requirements.denied import has_withdrawn_text
from knowledge_mcp.language.sentences import BAR, BLANK_LINE, cell_texts, is_row, sentence_spans
from knowledge_mcp.support.checkpoints import check_each

Places = tuple[int, ...]
"""Positions of sentences on one side."""
PlacePair = tuple[Places, Places]
"""Positions of paired sentences on both sides."""
Weights = Mapping[str, float]
"""Weights of words."""
ALL_ALIKE: Weights = MappingProxyType({})
"""Every word has the same weight."""
ALIKE = 0.5
"""Minimum share of common words for a sentence to be an edited version of another."""
SAME = 0.75
"""Minimum share for separate changes of force and numbers; below it, the sentence was rewritten."""
_MOST_NEAR = 400
"""Maximum sentences of the other side that one is compared with: those that share its rarest words."""

_LABEL = re.compile(r"\(?(?P<label>[a-z]{1,5}|\d{1,3})[.)]\s+")
_MARK = re.compile(
    r"\A[\s•*_`(\[-]{0,6}(?P<mark>(?=[\w.-]{0,30}\d)[A-Za-z0-9][\w.-]{0,29}?)(?:[*_`]{0,3}[)\]:]+|\.(?=\s)|(?=\s[(\[<]))\s?"
)
"""The label before the words of an item, with a digit: "2j2)", "(2a)", "SRS-12:"."""
_PROPERTY = re.compile(r"\A(?P<name>[^\W\d_][\w /-]{1,30}):\s\S(?:.{0,158}[^.;\s])?\Z")
"""A property line, as in requirement files: "STATUS: Draft"."""
ROW_RULE = re.compile(r"\|[\s:|-]*")
"""The row of rules below the header of a table, for `fullmatch`."""


def sentences_of(clause: Clause) -> list[str]:
    """Split a clause into units for comparison: sentences, table rows, and lines of code, which alone are indented."""
    found: list[str] = []
    for paragraph in BLANK_LINE.split(clause.text):
        lines = paragraph.split("\n")
        if any(line.lstrip().startswith("|") for line in lines) or any(line[:1] in {" ", "\t"} for line in lines[1:]):
            found.extend(line.strip() for line in lines if not ROW_RULE.fullmatch(line.strip()))
        else:
            found.extend(" ".join(span.of(paragraph).split()) for span in sentence_spans(paragraph))
    return [each for each in found if each]


def pair_sentences(before: Sequence[str], after: Sequence[str], weights: Weights) -> Iterator[PlacePair]:
    """Pair the sentences that differ, in reading order: each with the most similar remaining one, or with none.

    A row whose name both sides have once is only paired with the row of this name, unless its sentence has another
    number now, because requirements were numbered again. Sentences that were joined or split are grouped on their side.
    """
    left, right = _unmatched(before, after)
    bags = {place: _bag_of(before[place]) for place in left}
    others = {place: _bag_of(after[place]) for place in right}
    names, others_names = _row_names(before), _row_names(after)
    there = {name: other for other, name in others_names.items() if other in others}
    here = {name: one for one, name in names.items() if one in bags}
    kept = here.keys() & there.keys()

    def may_join(one: int, other: int, share: float) -> bool:
        name, its = names.get(one), others_names.get(other)
        named = kept & {name, its}
        if name == its or not named:
            return True
        if not all(each is not None and any(map(str.isdigit, each)) for each in (name, its)) or share < SAME:
            return False
        is_nearest = all(share > likeness(bags[here[each]], others[there[each]], weights) for each in named)
        return is_nearest and bool(_sentence_of_row(before[one]) and _sentence_of_row(after[other]))

    joined = _joined(bags, others, weights, may_join)
    for more in (_named_alike, _of_same_values, _containing, _beginning_alike):
        taken = set(joined.values())
        joined |= more(
            {place: before[place] for place in left if place not in joined},
            {place: after[place] for place in right if place not in taken},
        )
    back = {other: one for one, other in joined.items()}
    lefts = _taken_in(bags, others, joined, names)
    rights = _taken_in(others, bags, back, others_names)
    merged = {each for places in lefts.values() for each in places}
    spent = {each for places in rights.values() for each in places} | set(back)
    alone = [other for other in right if other not in spent]
    for one in left:
        if one in merged:
            continue
        while alone and one in joined and alone[0] < joined[one]:
            yield (), (alone.pop(0),)
        if one in joined:
            other = joined[one]
            yield tuple(sorted((one, *lefts.get(other, ())))), tuple(sorted((other, *rights.get(one, ()))))
        else:
            yield (one,), ()
    for other in alone:
        yield (), (other,)


def _sentence_of_row(text: str) -> str:
    """Return the sentence that a row says, or a long text itself; empty where there are only names."""
    own = own_text(text)
    return own if is_sentence(own) else ""


def is_sentence(cell: str) -> bool:
    """Return whether the text of a cell is long enough for a sentence and not a name."""
    return cell.count(" ") >= _SENTENCE_BLANKS


def _bag_of(text: str) -> Counter[str]:
    """Count the words of a sentence, with the same words for the same limits: "at most" for "not exceed".

    Of a row that says a sentence, only that one counts: the columns about it may be others.
    """
    text = _sentence_of_row(text) or text
    for mark in reversed(number_marks(text)[0]):
        if mark.bound:
            text = f"{text[: mark.start]} {mark.bound} {mark.text} {mark.unit} {text[mark.end :]}"
    return Counter(words_and_numbers(text))


def counted_on(pairs: Iterable[PlacePair], texts: Sequence[str], others: Sequence[str]) -> set[PlacePair]:
    """Find list items that only have another letter or number, because an item before them was added or removed.

    Items that changed places are excluded: of the relabelled items, only those that kept their order count.
    """
    found: list[PlacePair] = []
    for left, right in pairs:
        if len(left) == len(right) == 1:
            one, other = texts[left[0]], others[right[0]]
            mine, its = _LABEL.match(one), _LABEL.match(other)
            if mine and its and mine["label"].isdigit() == its["label"].isdigit():
                found += [(left, right)] if one[mine.end() :] == other[its.end() :] else []
    ends: list[PlacePair] = []  # by length, the last pair of the sequence that ends earliest
    before: dict[PlacePair, PlacePair | None] = {}
    for pair in sorted(found):
        at = bisect_left(ends, pair[1], key=lambda end: end[1])
        before[pair] = ends[at - 1] if at else None
        ends[at : at + 1] = [pair]
    kept: set[PlacePair] = set()
    last = ends[-1] if ends else None
    while last is not None:
        kept.add(last)
        last = before[last]
    return kept


def _row_names(texts: Sequence[str]) -> dict[int, str]:
    """Map rows to their names, as far as no other row has the same; a bare number is none."""
    names = {place: _name_of(text) for place, text in enumerate(texts) if is_row(text)}
    counts = Counter(names.values())
    return {place: name for place, name in names.items() if name and not name.isdecimal() and counts[name] == 1}


def _joined(
    bags: Mapping[int, Counter[str]],
    others: Mapping[int, Counter[str]],
    weights: Weights,
    may_join: Callable[[int, int, float], bool],
) -> dict[int, int]:
    """Join sentences that have at least half of their words in common, the most similar first."""
    postings: dict[str, list[int]] = {}
    for other, bag in others.items():
        for word in bag:
            postings.setdefault(word, []).append(other)
    scored: list[tuple[float, int, int, int]] = []
    for one, bag in check_each(bags.items()):
        near: set[int] = set()
        for word in sorted((word for word in bag if word in postings), key=lambda word: (len(postings[word]), word)):
            if len(near) + len(postings[word]) > _MOST_NEAR and near:
                break
            near.update(_nearest(postings[word], one))
        scored += [
            (-share, abs(one - other), one, other)
            for other in near
            if (share := likeness(bag, others[other], weights)) >= ALIKE and may_join(one, other, share)
        ]
    return in_turn((one, other) for _, _, one, other in sorted(scored))


def _nearest(places: Sequence[int], one: int) -> Sequence[int]:
    """Return the places, given in order, that are nearest to one, as many as are compared."""
    at = bisect_left(places, one)
    around = places[max(at - _MOST_NEAR, 0) : at + _MOST_NEAR]
    return sorted(around, key=lambda other: (abs(one - other), other))[:_MOST_NEAR]


def in_turn(pairs: Iterable[tuple[int, int]]) -> dict[int, int]:
    """Join pairs of which neither side is joined yet, in the order given."""
    joined: dict[int, int] = {}
    taken: set[int] = set()
    for one, other in pairs:
        if one not in joined and other not in taken:
            joined[one] = other
            taken.add(other)
    return joined


def _named_alike(lefts: Mapping[int, str], rights: Mapping[int, str]) -> dict[int, int]:
    """Join remaining sentences with the same name: the first cell of a row, an identifier, or the label of an item.

    A bare number changes when items are inserted before it, so it is a name only if one side says that it was
    withdrawn.
    """
    names, others = (_places_of_names(side) for side in (lefts, rights))
    found: dict[int, int] = {}
    for name, ours in names.items():
        theirs = others.get(name, ())
        if len(ours) == len(theirs) and (
            not name.isdecimal() or any(is_gone(text) for text in (*map(lefts.get, ours), *map(rights.get, theirs)))
        ):
            found |= zip(ours, theirs, strict=True)
    return found


def _places_of_names(side: Mapping[int, str]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for place, text in side.items():
        if name := _name_of(text):
            found.setdefault(name, []).append(place)
    return found


def _of_same_values(lefts: Mapping[int, str], rights: Mapping[int, str]) -> dict[int, int]:
    """Join remaining sentences with an equal value in other words: "one in ten welds", "10 % of the welds"."""
    if len(lefts) * len(rights) > _MOST_NEAR:
        return {}
    language = language_of(" ".join((*lefts.values(), *rights.values())))
    ours, theirs = ({place: _with_values(text, language) for place, text in side.items()} for side in (lefts, rights))
    return in_turn(
        (one, other)
        for one, (values, bag) in ours.items()
        for other, (its, words) in theirs.items()
        if values & its and likeness(bag, words, ALL_ALIKE) >= ALIKE
    )


def _with_values(text: str, language: str) -> tuple[frozenset[str], Counter[str]]:
    """Return the values of a sentence in base units, and the stems of its words with them."""
    values: list[str] = []
    for mark in reversed(number_marks(text, language)[0]):
        if mark.limit:
            values.append(mark.key)
            text = f"{text[: mark.start]} {text[mark.end :]}"
    return frozenset(values), Counter((*(stem_of(word) for word in words_of(text)), *values))


_SENTENCE_BLANKS = 7
"""Blanks in a cell that is a sentence and not a name."""
_LEAST_CONTAINED = 4
"""Minimum words of a sentence that a longer one contains as a whole; fewer are a phrase."""


def _containing(lefts: Mapping[int, str], rights: Mapping[int, str]) -> dict[int, int]:
    """Join remaining sentences of which one begins or ends with the other: it gained or lost a long condition."""
    if len(lefts) * len(rights) > _MOST_NEAR:
        return {}
    ours, theirs = ({place: words_and_signs(text) for place, text in side.items()} for side in (lefts, rights))
    return in_turn(
        (one, other) for one, words in ours.items() for other, its in theirs.items() if _contains_whole(words, its)
    )


def _contains_whole(words: Sequence[str], others: Sequence[str]) -> bool:
    short, long = sorted((words, others), key=len)
    size = len(short)
    return size >= _LEAST_CONTAINED and short in (long[:size], long[-size:])


_LEAST_BEGUN, _BEGUN = 6, 0.5
"""Minimum words that two sentences begin with, and their minimum share of the shorter one: what is demanded of what."""


def _beginning_alike(lefts: Mapping[int, str], rights: Mapping[int, str]) -> dict[int, int]:
    """Join remaining sentences that begin with the same words except for numbers, those with the most words first."""
    if len(lefts) * len(rights) > _MOST_NEAR:
        return {}
    ours, theirs = ({at: _without_figures(own_text(text)) for at, text in side.items()} for side in (lefts, rights))
    scored: list[tuple[int, int, int]] = []
    for one, words in ours.items():
        for other, its in theirs.items():
            alike = sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(words, its, strict=False)))
            if alike >= max(_LEAST_BEGUN, _BEGUN * min(len(words), len(its))):
                scored.append((-alike, one, other))
    return in_turn((one, other) for _, one, other in sorted(scored))


def _without_figures(text: str) -> list[str]:
    return ["0" if word[0].isdigit() else word for word in words_and_numbers(text)]


def own_text(text: str) -> str:
    """Return what a row says without what it has about it: its longest cell; any other text unchanged."""
    return max(cell_texts(text), key=len, default=text) if is_row(text) else text


def _name_of(text: str) -> str:
    """Return the name of a sentence: the first cell of a row with others, the label before its words, a property."""
    cells = [cell.strip(" *_`|") for cell in cell_texts(text)] if is_row(text) else []
    if cells:
        return cells[0].casefold() if len(cells) > 1 and any(map(str.isalnum, cells[0])) else ""
    mark = _MARK.match(text)
    named = None if mark is not None else _PROPERTY.match(text)
    return mark["mark"].casefold() if mark is not None else named["name"].casefold() if named is not None else ""


def is_property(text: str) -> bool:
    """Return whether a text is a property line: "STATUS: Draft"."""
    return _PROPERTY.match(text) is not None


def is_gone(text: str | None) -> bool:
    """Return whether a sentence or row is empty, or says that what it names is withdrawn: "(2) (repealed)"."""
    if not text:
        return False
    if is_row(text):
        return has_withdrawn_text(next((cell for cell in cell_texts(text)[1:] if cell), ""), "")
    mark = _MARK.match(text)
    rest = text[mark.end() :] if mark is not None else text
    return not words_and_signs(rest) or has_withdrawn_text(rest, "")


def _taken_in(
    bags: Mapping[int, Counter[str]],
    others: Mapping[int, Counter[str]],
    joined: Mapping[int, int],
    names: Mapping[int, str],
) -> dict[int, list[int]]:
    """Map sentences of the other side to neighbours of their partner whose words they contain besides the partner's.

    Rows with a name stand for themselves.
    """
    found: dict[int, list[int]] = {}
    for one, other in joined.items():
        rest = others[other] - bags[one]
        for step in (-1, 1):
            near = one + step
            while (
                near in bags
                and near not in joined
                and near not in names
                and (bags[near] & rest).total() >= SAME * bags[near].total()
            ):
                found.setdefault(other, []).append(near)
                rest -= bags[near]
                near += step
    return found


def _unmatched(before: Sequence[str], after: Sequence[str]) -> tuple[list[int], list[int]]:
    """List the sentences without an equal one on the other side, with multiplicity."""
    common = Counter(before) & Counter(after)

    def left(texts: Sequence[str]) -> list[int]:
        spent = Counter(common)
        spent.subtract(texts)
        over = {text: -count for text, count in spent.items() if count < 0}
        found: list[int] = []
        for place in range(len(texts) - 1, -1, -1):
            if over.get(texts[place], 0) > 0:
                over[texts[place]] -= 1
                if words_and_signs(texts[place]):
                    found.append(place)
        return found[::-1]

    return left(before), left(after)


def likeness(one: Counter[str], other: Counter[str], weights: Weights) -> float:
    """Return the weighted share of words, 0..1, that two sentences have in common."""
    total = _weight(one, weights) + _weight(other, weights)
    return 2 * _weight(one & other, weights) / total if total else 0.0


def _weight(words: Counter[str], weights: Weights) -> float:
    return sum(count * weights.get(word, 1.0) for word, count in words.items())


def word_weights(links: Iterable[ClauseLink]) -> Weights:
    """Weight words by how few clauses of both editions contain them, which favours subjects over function words.

    Numbers, which are rare, get the weight of the most frequent word, because they are what changes.
    """
    clauses = {id(side): side for link in links for side in (link.old, link.new) if side is not None}
    counts = Counter(word for clause in clauses.values() for word in set(words_and_numbers(clause.text)))
    usual = max(counts.values(), default=1)
    return {
        word: math.log(1 + len(clauses) / (usual if word[0].isdigit() else count)) for word, count in counts.items()
    }


def lone_sentences(one: str, other: str) -> tuple[list[str], list[str]]:
    """List the sentences that only one of two rows has, in a cell that kept other sentences and was not rewritten."""
    gone: list[str] = []
    come: list[str] = []
    cells, others = BAR.split(one), BAR.split(other)
    for cell, its in zip(cells, others, strict=True) if 1 < len(cells) == len(others) else ():
        was, now = ([span.of(text) for span in sentence_spans(text)] for text in (cell, its))
        pairs = list(pair_sentences(was, now, ALL_ALIKE)) if was != now and max(len(was), len(now)) > 1 else []
        left = [was[at] for left, right in pairs if not right for at in left]
        right = [now[at] for left, right in pairs if not left for at in right]
        is_kept = 2 * len(left) <= len(was) or 2 * len(right) <= len(now)
        if is_kept and len(left) < len(was) and len(right) < len(now):
            gone += left
            come += right
    return gone, come


def without_sentences(row: str, sentences: Sequence[str]) -> str:
    """Remove sentences from a row."""
    for each in sentences:
        row = row.replace(each, "", 1)
    return " ".join(row.split()) if sentences else row
