"""Changes inside a clause: force, numbers, definitions, references, words; the most important first."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from knowledge_mcp.engine.changes.aligning import ClauseLink
from knowledge_mcp.engine.changes.clauses import Clause, Edition
from knowledge_mcp.engine.changes.inside.columns import ChangedColumns
from knowledge_mcp.engine.changes.inside.counterparts import CounterpartFinder, as_parts
from knowledge_mcp.engine.changes.inside.named import changed_definitions, changed_properties, changed_references
from knowledge_mcp.engine.changes.inside.paired import as_words, edited, lone, obliges, turned
from knowledge_mcp.engine.changes.inside.standing import demanded_alone, introduces, turned_clauses
from knowledge_mcp.engine.changes.inside.tables import PairedTables, TextPair
from knowledge_mcp.engine.changes.kinds import CUT, WEIGHTIEST_FIRST, ChangeType, LinkKind, TextChange
from knowledge_mcp.engine.changes.marking import PrintedPlaces
from knowledge_mcp.engine.changes.sentences import (
    ALL_ALIKE,
    PlacePair,
    Weights,
    counted_on,
    is_property,
    sentences_of,
    word_weights,
)
from knowledge_mcp.engine.changes.wording import plain
from knowledge_mcp.engine.core.designations import Designation
from knowledge_mcp.language.clauses import speaks_of_document
from knowledge_mcp.language.force import Convention
from knowledge_mcp.language.identifiers import heading_identifier
from knowledge_mcp.language.requirements.conditions import is_exception
from knowledge_mcp.support.checkpoints import check_each


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
    for place, *states in turned_clauses(links):
        found.setdefault(place, []).append(TextChange(ChangeType.FORCE, *states))
    for place, before, after, *texts in changed_properties(links):
        found.setdefault(place, []).append(TextChange(ChangeType.PROPERTY, before, after, *texts))
    places = PrintedPlaces(tuple(side for link in links for side in (link.old, link.new) if side), own.names)

    def between(one: str, other: str) -> list[TextChange]:
        return edited([one], [other], both, places, numbers, ALL_ALIKE)

    CounterpartFinder(found, links, both, weights, between).follow()
    changes: list[ClauseChange] = []
    for place, link in enumerate(links):
        inside = sorted(found.get(place, ()), key=lambda change: WEIGHTIEST_FIRST.index(change.name))
        is_edited = link.kind is LinkKind.SAME and bool(inside)
        changes.append(ClauseChange(replace(link, kind=LinkKind.EDITED) if is_edited else link, tuple(inside)))
    return changes


def _is_blank(clause: Clause | None) -> bool:
    return clause is not None and not (clause.heading or clause.number or clause.text)


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
        known = {id(groups[side]): groups[side] for side in _sides(link) if side in groups}.values()
        joined, *smaller = sorted(known, key=len, reverse=True) or [[]]
        moved = [place, *itertools.chain(*smaller)]  # the largest stays: a clause may be split into thousands
        joined += moved
        groups.update((side, joined) for member in moved for side in _sides(links[member]))
    return [sorted(group) for group in {id(group): group for group in groups.values()}.values()]


def _sides(link: ClauseLink) -> list[tuple[str, int]]:
    return [(name, side.index) for name, side in (("old", link.old), ("new", link.new)) if side is not None]


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
    columns = ChangedColumns(olds, news)
    texts, others = (columns.measured(side, (text for text, _ in each)) for side, each in enumerate((before, after)))
    if texts == others:
        return
    yield from ((group[0][0], change) for change in columns.changes)
    whole: list[TextChange] = []
    if olds and news:
        whole = [*changed_definitions(olds, news), *changed_references(olds, news, numbers, own.designations)]
    printed = ([text for text, _ in before], [text for text, _ in after])
    tables = PairedTables((olds, news), printed, (texts, others), weights)
    for change, cells in tables.columns:
        kind = ("added" if change.after else "withdrawn") if any(obliges(each, convention) for each in cells) else ""
        if not columns.has(change):
            yield group[0][0], replace(change, requirement=kind)
    pairs = list(tables.pair_others())
    if len(olds) == len(news) == 1 and olds[0].number == news[0].number and heading_identifier(olds[0].number):
        pairs = _with_rewritten(pairs, _stated(texts, convention), _stated(others, convention))
    counting = counted_on(pairs, texts, others)
    sentences = [tables.texts_of(pair) for pair in pairs if pair not in counting]
    compare = _PairComparer(
        convention,
        PrintedPlaces((*olds, *news), own.names),
        numbers,
        weights,
        [*pairs, *(each.places for each in tables.cells)],
        (texts, others),
        (olds, news),
    )
    known = _Relations(before, after, olds, news)
    reported = _Reported(whole)
    located: list[TextChange] = []
    for each in (*sentences, *tables.cells):
        left, right = each.places
        ours, its = before[left[0]][1] if left else None, after[right[0]][1] if right else None
        is_sure = bool(each.row) or known.has(ours, its)
        found = list(each.located(compare.changes(each, is_sure=is_sure)))
        located += [change for change in found if change.row]
        found = [columns.as_printed(change) for change in found if not reported.has(change)]
        home = _home(group, ours, its)
        yield from ((home, change) for change in found if not columns.has(change))
    yield from ((group[0][0], _in_row(change, located)) for change in whole)


def _in_row(reference: TextChange, located: Iterable[TextChange]) -> TextChange:
    """Say in which row and column a reference changed, if a change there contains it."""
    if reference.kind is not ChangeType.REFERENCE:
        return reference
    for each in located:
        if reference.before in each.old_text and reference.after in each.new_text:
            return replace(reference, row=each.row, column=each.column)
    return reference


class _PairComparer:
    """Finds the changes between sentences of two editions of a clause that belong together."""

    def __init__(
        self,
        convention: Convention,
        places: PrintedPlaces,
        numbers: Mapping[str, str],
        weights: Weights,
        pairs: Sequence[PlacePair],
        texts: tuple[Sequence[str], Sequence[str]],
        clauses: tuple[Sequence[Clause], Sequence[Clause]],
    ) -> None:
        self._convention, self._places, self._numbers, self._weights = convention, places, numbers, weights
        self._demanded = demanded_alone(pairs, *texts, self._obliges)
        self._excepted = demanded_alone(pairs, *texts, is_exception)
        both = [*clauses[0], *clauses[1]]
        self._is_informative = all(each.informative for each in both)
        self._is_aside = all(any(map(speaks_of_document, each.path)) for each in both)

    def _obliges(self, text: str) -> bool:
        return obliges(text, self._convention)

    def changes(self, pair: TextPair, *, is_sure: bool) -> list[TextChange]:
        """List the changes; `is_sure` if the clauses certainly belong together."""
        ones, theirs = pair.texts
        one, other = " ".join(ones), " ".join(theirs)
        if not (ones and theirs):
            is_item, is_excepted = pair.places in self._demanded, pair.places in self._excepted
            return [lone(one, other, self._convention, is_item=is_item, is_excepted=is_excepted)]
        weights = ALL_ALIKE if is_sure else self._weights
        found = edited(ones, theirs, self._convention, self._places, self._numbers, weights)
        found += [] if self._is_informative else turned(ones, theirs, found, self._convention)
        found = as_parts(ones, theirs, found, self._convention)
        if self._is_aside and found and not any(map(self._obliges, (*ones, *theirs))):
            return [as_words(one, other)]  # numbers of references and indexes limit nothing
        return found


def _stated(texts: Sequence[str], convention: Convention) -> set[int]:
    """Return which sentences state a requirement: those with force, or else all except properties."""
    obliging = {at for at, text in enumerate(texts) if obliges(text, convention)}
    return obliging or {at for at, text in enumerate(texts) if not is_property(text)}


def _with_rewritten(pairs: Sequence[PlacePair], ours: set[int], theirs: set[int]) -> list[PlacePair]:
    """Pair old and new sentences of a requirement with the same identifier if no sentence was kept."""
    gone = {at for left, right in pairs if not right for at in left}
    come = {at for left, right in pairs if not left for at in right}
    if not (ours and theirs and ours <= gone and theirs <= come):
        return list(pairs)
    whole = (tuple(sorted(ours)), tuple(sorted(theirs)))
    return [whole, *(pair for pair in pairs if not ours.intersection(pair[0]) and not theirs.intersection(pair[1]))]


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
            for piece in map(plain, words.split(CUT))
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

    def has(self, old: int | None, new: int | None) -> bool:
        """Return whether two clauses, by their index, belong together."""
        return (old, new) in self._pairs


def _home(group: Sequence[tuple[int, ClauseLink]], old: int | None, new: int | None) -> int:
    """Return the link that a change belongs to: of both its clauses, else of the new one, else of the old one."""

    def fits(link: ClauseLink) -> tuple[bool, bool]:
        return link.new is not None and link.new.index == new, link.old is not None and link.old.index == old

    return max(group, key=lambda each: (sum(fits(each[1])), fits(each[1]), -each[0]))[0]
