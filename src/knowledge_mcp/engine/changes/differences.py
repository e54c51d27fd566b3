"""Changes inside a clause: force, numbers, definitions, references, words; the most important first."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import zip_longest

from knowledge_mcp.engine.changes.aligning import ClauseLink, LinkKind
from knowledge_mcp.engine.changes.changed_properties import changed_properties
from knowledge_mcp.engine.changes.clauses import Clause, Edition
from knowledge_mcp.engine.changes.marking import (
    FORCE_KEY,
    NUMBER_KEY,
    MarkedWord,
    PrintedPlaces,
    has_other_bounds,
    has_tolerance,
    is_only_denied,
    joined_items,
    marked_up,
    marks_of,
    only_limit,
    words_with_bounds,
)
from knowledge_mcp.engine.changes.replaced import is_row_of, replaced
from knowledge_mcp.engine.changes.sentences import (
    ALIKE,
    ALL_ALIKE,
    SAME,
    PlacePair,
    Weights,
    counted_on,
    is_gone,
    is_property,
    likeness,
    lone_sentences,
    pair_sentences,
    sentences_of,
    without_sentences,
    word_weights,
)
from knowledge_mcp.engine.changes.standing import (
    changed_standing,
    demanded_alone,
    introduces,
    is_denied_otherwise,
    turned_clauses,
)
from knowledge_mcp.engine.changes.wording import plain, words_and_signs, words_of
from knowledge_mcp.engine.core.designations import Designation, designation_of
from knowledge_mcp.language.demands import force_words
from knowledge_mcp.language.force import Convention
from knowledge_mcp.language.identifiers import heading_identifier
from knowledge_mcp.language.printed import PrintedMark, without_note_marks
from knowledge_mcp.language.quantities.bounds import NAMED
from knowledge_mcp.language.sentences import BAR
from knowledge_mcp.model.document import Reference, ReferenceKind
from knowledge_mcp.support.checkpoints import check_each
from knowledge_mcp.support.matching import BoundedMatcher


class ChangeType(StrEnum):
    """Kinds of change."""

    FORCE = "force"
    NUMBER = "number"
    DEFINITION = "definition"
    PROPERTY = "property"
    REFERENCE = "reference"
    WORDS = "words"


WEIGHTIEST_FIRST = (
    ChangeType.FORCE.value,
    ChangeType.NUMBER.value,
    ChangeType.DEFINITION.value,
    "requirement rewritten",
    "requirement added",
    "requirement withdrawn",
    ChangeType.PROPERTY.value,
    ChangeType.REFERENCE.value,
    ChangeType.WORDS.value,
)
"""Names of changes (`TextChange.name`), in their order of importance for those who have to comply."""


@dataclass(frozen=True, slots=True)
class TextChange:
    """One change inside a clause.

    Attributes:
        kind: what changed.
        before, after: the old and new words, number, definition or reference; empty if there is none.
        old_text, new_text: their sentences, as printed; empty if there is none.
        requirement: "added" or "withdrawn" if the sentence is a requirement without counterpart, "rewritten" if only
            its name links it to one.
    """

    kind: ChangeType
    before: str
    after: str
    old_text: str = ""
    new_text: str = ""
    requirement: str = ""

    @property
    def name(self) -> str:
        """Its name: a requirement that was added, withdrawn or rewritten, or its kind."""
        return f"requirement {self.requirement}" if self.requirement else self.kind.value


@dataclass(frozen=True, slots=True)
class ClauseChange:
    """What became of a clause, and the changes inside it."""

    link: ClauseLink
    changes: tuple[TextChange, ...]


def changes_of(links: Sequence[ClauseLink], old: Edition, new: Edition) -> list[ClauseChange]:
    """Find the changes in all linked clauses; the requirements of added or removed clauses are among them.

    So is what the documents state about themselves, with their first clause; if that has nothing else, it is neither
    added nor removed. Clauses that were merged or split are compared together: each change is reported with its link.
    """
    links = [link for link in links if (link.old and link.new) or not _is_blank(link.old or link.new)]
    numbers = {
        link.old.number: link.new.number
        for link in links
        if link.old
        and link.new
        and link.old.number
        and link.new.number
        and link.kind not in {LinkKind.SPLIT, LinkKind.MERGED}
    }
    both = _common(old.convention, new.convention)
    own = _DocumentNames(old.own_names & new.own_names, old.own_designations & new.own_designations)
    found: dict[int, list[TextChange]] = {}
    weights = word_weights(links)
    for group in check_each(_together(links)):
        for place, change in _inside([(place, links[place]) for place in group], both, numbers, weights, own):
            found.setdefault(place, []).append(change)
    for place, *turned in turned_clauses(links):
        found.setdefault(place, []).append(TextChange(ChangeType.FORCE, *turned))
    for place, before, after, *texts in changed_properties(links):
        found.setdefault(place, []).append(TextChange(ChangeType.PROPERTY, before, after, *texts))
    _ignore_moved(found)
    changes: list[ClauseChange] = []
    for place, link in enumerate(links):
        inside = sorted(found.get(place, ()), key=lambda change: WEIGHTIEST_FIRST.index(change.name))
        is_edited = link.kind is LinkKind.SAME and bool(inside)
        changes.append(ClauseChange(replace(link, kind=LinkKind.EDITED) if is_edited else link, tuple(inside)))
    return changes


def _is_blank(clause: Clause | None) -> bool:
    return clause is not None and not (clause.heading or clause.number or clause.text)


_LEAST_BLANKS = 6
"""Minimum blanks in a requirement that is searched in others; shorter ones, "REQUIRED if it is given", are too common.
"""


def _ignore_moved(found: Mapping[int, list[TextChange]]) -> None:
    """Do not count requirements that moved from one clause to another, in the same words, as withdrawn and added.

    Nor those that a longer one of the same clause contains.

    Args:
        found: changes by the index of their link; modified in place.
    """
    gone = Counter(_words_in(each) for changes in found.values() for each in changes if each.requirement == "withdrawn")
    come = Counter(_words_in(each) for changes in found.values() for each in changes if each.requirement == "added")
    for requirement in ("withdrawn", "added"):
        left = gone & come
        for changes in found.values():
            for at, each in enumerate(changes):
                if each.requirement == requirement and left[_words_in(each)] > 0:
                    left[_words_in(each)] -= 1
                    changes[at] = replace(each, requirement="")
    for changes in found.values():
        taken = [f" {plain(each.after)} " for each in changes if each.requirement == "added"]
        for at, each in enumerate(changes):
            words = plain(each.before)
            if (
                each.requirement == "withdrawn"
                and words.count(" ") >= _LEAST_BLANKS
                and any(f" {words} " in other for other in taken)
            ):
                changes[at] = replace(each, requirement="")


def _words_in(change: TextChange) -> tuple[str, ...]:
    return tuple(words_and_signs(change.old_text or change.new_text))


@dataclass(frozen=True, slots=True)
class _DocumentNames:
    """Names of the document in both editions: names before the edition's number, designations without one."""

    names: frozenset[str]
    designations: frozenset[Designation]


def _common(old: Convention, new: Convention) -> Convention:
    """Return one convention for both editions: only capitals count if both write them so."""
    return replace(new, capitals=old.capitals and new.capitals, language=old.language or new.language)


def _together(links: Sequence[ClauseLink]) -> list[list[int]]:
    """Group links that share a clause, by index."""
    groups: dict[tuple[str, int], list[int]] = {}
    for place, link in enumerate(links):
        sides = [(name, side.index) for name, side in (("old", link.old), ("new", link.new)) if side is not None]
        joined = [place]
        for existing in {id(groups[side]): groups[side] for side in sides if side in groups}.values():
            joined += existing
        for member in joined:
            for name, side in (("old", links[member].old), ("new", links[member].new)):
                if side is not None:
                    groups[name, side.index] = joined
    return [sorted(group) for group in {id(group): group for group in groups.values()}.values()]


def _inside(
    group: Sequence[tuple[int, ClauseLink]],
    convention: Convention,
    numbers: Mapping[str, str],
    weights: Weights,
    own: _DocumentNames,
) -> Iterator[tuple[int, TextChange]]:
    """Yield the changes of clauses that belong together, each once, with the index of its link."""
    olds = list({link.old.index: link.old for _, link in group if link.old is not None}.values())
    news = list({link.new.index: link.new for _, link in group if link.new is not None}.values())
    before = [(text, clause.index) for clause in olds for text in sentences_of(clause)]
    after = [(text, clause.index) for clause in news for text in sentences_of(clause)]
    texts, others = [text for text, _ in before], [text for text, _ in after]
    if texts == others:
        return
    whole = [*_definitions(olds, news), *_references(olds, news, numbers, own.designations)] if olds and news else []
    for change in whole:
        yield group[0][0], change
    reported = _Reported(whole)
    places = PrintedPlaces((*olds, *news), own.names)
    known = _Relations(before, after, olds, news)
    pairs = list(pair_sentences(texts, others, weights))
    if len(olds) == len(news) == 1 and olds[0].number == news[0].number and heading_identifier(olds[0].number):
        pairs = _with_rewritten(pairs, _stated(texts, convention), _stated(others, convention))
    counting = counted_on(pairs, texts, others)
    demanded = demanded_alone(pairs, texts, others, lambda text: _obliges(text, convention))
    is_informative = all(each.informative for each in (*olds, *news))
    for left, right in (pair for pair in pairs if pair not in counting):
        ones, theirs = [texts[at] for at in left], [others[at] for at in right]
        home = _home(group, before[left[0]][1] if left else None, after[right[0]][1] if right else None)
        if left and right:
            is_sure = known.has(before[left[0]][1], after[right[0]][1])
            found = _edited(ones, theirs, convention, places, numbers, ALL_ALIKE if is_sure else weights)
            found += [] if is_informative else _turned(ones, theirs, found)
        else:
            found = [_alone(" ".join(ones), " ".join(theirs), convention, is_item=(left, right) in demanded)]
        yield from ((home, change) for change in found if not reported.has(change))


def _stated(texts: Sequence[str], convention: Convention) -> set[int]:
    """Return which sentences state a requirement: those with force, or else all except properties."""
    obliging = {at for at, text in enumerate(texts) if _obliges(text, convention)}
    return obliging or {at for at, text in enumerate(texts) if not is_property(text)}


def _with_rewritten(pairs: Sequence[PlacePair], ours: set[int], theirs: set[int]) -> list[PlacePair]:
    """Pair old and new sentences of a requirement with the same identifier if no sentence was kept."""
    gone = {at for left, right in pairs if not right for at in left}
    come = {at for left, right in pairs if not left for at in right}
    if not (ours and theirs and ours <= gone and theirs <= come):
        return list(pairs)
    whole = (tuple(sorted(ours)), tuple(sorted(theirs)))
    return [whole, *(pair for pair in pairs if not ours.intersection(pair[0]) and not theirs.intersection(pair[1]))]


def _edited(
    ones: Sequence[str],
    theirs: Sequence[str],
    convention: Convention,
    places: PrintedPlaces,
    numbers: Mapping[str, str],
    weights: Weights,
) -> list[TextChange]:
    """List the changes between paired sentences."""
    one, other = " ".join(ones), " ".join(theirs)
    if is_gone(one) is not is_gone(other):
        return [TextChange(ChangeType.WORDS, one, other, one, other, "withdrawn" if is_gone(other) else "added")]
    gone, come = lone_sentences(one, other)
    found = [_alone(each, "", convention) for each in gone] + [_alone("", each, convention) for each in come]
    was, now = without_sentences(one, gone), without_sentences(other, come)
    if was == now:
        return found
    cells = [len(BAR.split(each)) for each in (one, other)]
    is_recast = 1 < min(cells) < max(cells)  # a table row that became list items has its numbers in other words
    sides = (was if gone else joined_items(ones), now if come else joined_items(theirs))
    before, after = (marked_up(each, convention, places, is_recast=is_recast) for each in sides)
    if has_tolerance(before) is not has_tolerance(after):
        before, after = (marked_up(each, convention, places, is_recast=is_recast, whole_ranges=True) for each in sides)
    if is_only_denied(before, after):
        before, after = (marked_up(each, convention, places, is_recast=is_recast, as_printed=True) for each in sides)
    return [*found, *_between(before, after, was, now, numbers, weights)]


_FREE = frozenset({"may", "need not", "can", "cannot", "permission", "possibility", "possibility not"})
"""Words of force that are not binding: permissions and possibilities."""


def _turned(ones: Sequence[str], theirs: Sequence[str], found: Sequence[TextChange]) -> list[TextChange]:
    """Report a note that became normative, or the reverse, unless a change of its force says so."""
    states = changed_standing(ones[0], theirs[0])
    if states is None or any(each.kind is ChangeType.FORCE or each.requirement for each in found):
        return []
    return [TextChange(ChangeType.FORCE, *states, " ".join(ones), " ".join(theirs))]


def _alone(one: str, other: str, convention: Convention, *, is_item: bool = False) -> TextChange:
    """Report a sentence that was added or removed; the other text is empty.

    Args:
        one, other: the sentence, and an empty text.
        convention: how its document marks force.
        is_item: a binding sentence before it demands it.
    """
    kind = ("added" if other else "withdrawn") if is_item or _obliges(one or other, convention) else ""
    return TextChange(ChangeType.WORDS, one, other, one, other, kind)


def _obliges(sentence: str, convention: Convention) -> bool:
    return any(word.counts and word.key not in _FREE for word in force_words(sentence, convention))


_POSSIBLE = frozenset({"", "can", "cannot", "can not"})


class _Reported:
    """Detects changed words that belong to an already reported definition or reference."""

    def __init__(self, changes: Sequence[TextChange]) -> None:
        self._definitions: list[tuple[str, str, str]] = []
        self._references: list[tuple[str, str]] = []
        for each in changes:
            if each.kind is ChangeType.DEFINITION:
                self._definitions.append(
                    (plain(each.before), plain(each.after), plain(f"{each.old_text} {each.new_text}"))
                )
            else:
                self._references.append((f" {plain(each.before)} ", f" {plain(each.after)} "))

    def has(self, change: TextChange) -> bool:
        """Return whether a change of words is already reported, or concerns a possibility in a definition.

        Added and withdrawn requirements are always reported.
        """
        is_possible = change.kind is ChangeType.FORCE and {change.before.lower(), change.after.lower()} <= _POSSIBLE
        if change.requirement or not (change.kind is ChangeType.WORDS or is_possible):
            return False
        if self._definitions:
            old, new = plain(change.old_text), plain(change.new_text)
            if any(_is_of(old, new, *each) for each in self._definitions):
                return True
        if is_possible:
            return False
        return bool(change.old_text and change.new_text) and all(
            any(not piece or f" {piece} " in each[side] for each in self._references)
            for side, words in enumerate((change.before, change.after))
            for piece in map(plain, words.split(_CUT))
        )


_DEFINES = frozenset("a an the term terms is are means refers to denotes".split())
"""Words between a term and its definition: 'The term "pump" refers to …'."""


def _is_of(old: str, new: str, before: str, after: str, terms: str) -> bool:
    """Return whether a sentence is part of a changed definition, or contains it and has not changed elsewhere.

    An added or removed sentence may only contain the term besides the definition.
    """
    if before and after:
        return (old in before and new in after) or (
            before in old and after in new and old.replace(before, "", 1) == new.replace(after, "", 1)
        )
    sentence, meaning = (old, before) if before else (new, after)
    if old and new:
        return False
    beside = sentence.replace(meaning, " ", 1) if meaning in sentence else ""
    return sentence in meaning or (meaning in sentence and set(beside.split()) <= {*terms.split(), *_DEFINES})


class _Relations:
    """Determines which clauses of a group certainly belong together: they share a heading or a sentence."""

    def __init__(
        self,
        before: Sequence[tuple[str, int]],
        after: Sequence[tuple[str, int]],
        olds: Sequence[Clause],
        news: Sequence[Clause],
    ) -> None:
        found: dict[str, tuple[set[int], set[int]]] = {}
        for side, texts, clauses in ((0, before, olds), (1, after, news)):
            own = [each for each in texts if not introduces(each[0])]  # "The following applies:" shows nothing
            for text, index in (*own, *((f"# {plain(each.heading)}", each.index) for each in clauses)):
                found.setdefault(text, (set(), set()))[side].add(index)
        self._pairs = {(one, other) for ones, others in found.values() for one in ones for other in others}

    def has(self, old: int, new: int) -> bool:
        """Return whether two clauses, by their index, belong together."""
        return (old, new) in self._pairs


def _home(group: Sequence[tuple[int, ClauseLink]], old: int | None, new: int | None) -> int:
    """Return the link that a change belongs to: of both its clauses, else of the new one, else of the old one."""

    def fits(link: ClauseLink) -> tuple[bool, bool]:
        return link.new is not None and link.new.index == new, link.old is not None and link.old.index == old

    return max(group, key=lambda each: (sum(fits(each[1])), fits(each[1]), -each[0]))[0]


# ---- between two sentences

_COPULAS = frozenset("be is are betragen beträgt sein ist être est ser es".split())
"""Verbs that only join a limit to what it limits."""
_KINDS = {FORCE_KEY: ChangeType.FORCE, NUMBER_KEY: ChangeType.NUMBER}
_CUT = " … "
"""Separator of the pieces of a sentence that differ."""
_DIGITS = re.compile(r"\d+")
_CLAUSE_NUMBER = re.compile(r"(?<![\w.])[A-Z]?(?:\.?\d{1,3})(?:\.\d{1,3})*(?![\w]|\.\d)")


def _between(
    before: Sequence[MarkedWord],
    after: Sequence[MarkedWord],
    one: str,
    other: str,
    numbers: Mapping[str, str],
    weights: Weights,
) -> Iterator[TextChange]:
    """Yield the changes between two sentences; words are a separate change only if more changed.

    In a rewritten sentence, force and a limit are separate changes only if each side has one of the same kind. If one
    side is the other with more words, a binding word of force among them makes these a requirement that was added or
    withdrawn. With `weights` of words, for clauses that are not linked otherwise, the sentences must be similar, and
    force is not a separate change either.
    """
    rest, other_rest = ([word for word, mark in side if mark is None] for side in (before, after))
    is_row = not rest and not other_rest and is_row_of(before, after)
    ours, theirs = Counter(rest), Counter(other_rest)
    bounded, its_bounded = (Counter(words_with_bounds(side)) for side in (before, after))
    alike = 1.0 if is_row else likeness(bounded, its_bounded, weights)
    if len(marks_of(before, NUMBER_KEY)) == len(marks_of(after, NUMBER_KEY)):
        alike = max(alike, likeness(ours, theirs, weights))  # the kinds of limits may be what changed
    if alike < SAME:
        was, now = (marks_of(side, FORCE_KEY) for side in (before, after))
        if not weights and len(was) == len(now) == 1 and (was[0].key, was[0].counts) != (now[0].key, now[0].counts):
            yield TextChange(ChangeType.FORCE, was[0].text, now[0].text, one, other)
        if not weights and (texts := only_limit(before, after)) is not None:
            yield TextChange(ChangeType.NUMBER, *texts, one, other)
        requirement = ""
        if ours <= theirs or theirs <= ours:
            more = _binding(now) - _binding(was) if ours <= theirs else _binding(was) - _binding(now)
            requirement = ("added" if ours <= theirs else "withdrawn") if more and not weights else ""
        elif alike < ALIKE and _binding((*was, *now)):
            requirement = "rewritten"
        texts = (one, other) if requirement == "rewritten" else _parted(one, other)
        yield TextChange(ChangeType.WORDS, *texts, one, other, requirement)
        return
    found = [TextChange(_KINDS[key], was, now, one, other) for key, was, now in replaced(before, after)]
    found = [] if _is_respaced(one, other) else found
    yield from found
    if has_other_bounds(before, after):
        rest, other_rest = ([word for word in side if not NAMED.fullmatch(word)] for side in (rest, other_rest))
    if any(each.kind is ChangeType.NUMBER for each in found):  # "not exceed 5 mm" and "be at most 4 mm"
        rest, other_rest = ([word for word in side if word not in _COPULAS] for side in (rest, other_rest))
    is_bound = all(_binding(marks_of(side, FORCE_KEY)) for side in (before, after))
    if is_bound and not any(each.kind is ChangeType.FORCE for each in found) and is_denied_otherwise(ours, theirs):
        yield TextChange(ChangeType.FORCE, *_parted(one, other), one, other)
    elif rest != other_rest or (not found and _redirected(one, numbers) != words_and_signs(without_note_marks(other))):
        yield TextChange(ChangeType.WORDS, *_parted(one, other), one, other)


def _binding(marks: Iterable[PrintedMark]) -> Counter[str]:
    """Count the binding words of force."""
    return Counter(mark.key for mark in marks if mark.counts and mark.key not in _FREE)


def _is_respaced(one: str, other: str) -> bool:
    """Return whether only blanks differ, and none between digits: "SHALLbe" results from a lost blank on a page."""
    return "".join(one.split()) == "".join(other.split()) and _DIGITS.findall(one) == _DIGITS.findall(other)


def _redirected(sentence: str, numbers: Mapping[str, str]) -> list[str]:
    """List the words with the new clause numbers instead of the old ones, and without footnote marks."""
    redirected = _CLAUSE_NUMBER.sub(lambda match: numbers.get(match.group(), match.group()), sentence)
    return words_and_signs(without_note_marks(redirected))


def _parted(one: str, other: str) -> tuple[str, str]:
    """Reduce two sentences to the whole words that differ, with an ellipsis between pieces."""
    words, others = one.split(), other.split()
    matcher = BoundedMatcher(words, others)
    codes = [code for code in matcher.get_opcodes() if code[0] != "equal"]
    was = _CUT.join(" ".join(words[a:b]) for _, a, b, _, _ in codes if b > a)
    now = _CUT.join(" ".join(others[c:d]) for _, _, _, c, d in codes if d > c)
    return was, now


# ---- definitions and references


def _definitions(olds: Sequence[Clause], news: Sequence[Clause]) -> Iterator[TextChange]:
    before, after = (
        {" ".join(words_of(each.term)): each for clause in side for each in clause.definitions} for side in (olds, news)
    )
    for key in dict.fromkeys((*before, *after)):
        one, other = before.get(key), after.get(key)
        was, now = one.text if one else "", other.text if other else ""
        if words_and_signs(was) != words_and_signs(now):
            yield TextChange(ChangeType.DEFINITION, was, now, one.term if one else "", other.term if other else "")


def _references(
    olds: Sequence[Clause], news: Sequence[Clause], numbers: Mapping[str, str], own: Collection[Designation]
) -> Iterator[TextChange]:
    """Yield the references whose target changed; a clause that was only renumbered is the same target.

    References of the document to itself or its editions, by a designation in `own`, are ignored.
    """
    inside = {ReferenceKind.CLAUSE, ReferenceKind.ANNEX}
    before = [
        (numbers.get(each.target, each.target) if each.kind in inside else each.target, each.target)
        for each in _leading_elsewhere(olds, own)
    ]
    after = [(each.target, each.target) for each in _leading_elsewhere(news, own)]
    kept = Counter(key for key, _ in before) & Counter(key for key, _ in after)
    for was, now in zip_longest(_without(before, kept), _without(after, kept), fillvalue=""):
        yield TextChange(ChangeType.REFERENCE, was, now)


def _leading_elsewhere(clauses: Sequence[Clause], own: Collection[Designation]) -> Iterator[Reference]:
    for each in (each for clause in clauses for each in clause.references):
        named = designation_of(each.target) if own and each.kind is ReferenceKind.DOCUMENT else None
        if named is None or replace(named[0], edition="") not in own:
            yield each


def _without(found: Sequence[tuple[str, str]], kept: Counter[str]) -> list[str]:
    spent = Counter(kept)
    left: list[str] = []
    for key, printed in found:
        if spent[key]:
            spent[key] -= 1
        else:
            left.append(printed)
    return left
