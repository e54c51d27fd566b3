"""Definitions and references of clauses that changed, and what documents state about themselves, field by field."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest

from knowledge_mcp.engine.changes.aligning import ClauseLink
from knowledge_mcp.engine.changes.clauses import Clause
from knowledge_mcp.engine.changes.kinds import ChangeType, TextChange
from knowledge_mcp.engine.changes.wording import words_and_signs, words_of
from knowledge_mcp.engine.core.designations import Designation, designation_of
from knowledge_mcp.model.document import Reference, ReferenceKind


def changed_definitions(olds: Sequence[Clause], news: Sequence[Clause]) -> Iterator[TextChange]:
    """Yield the terms whose definition changed, each once."""
    before, after = (
        {" ".join(words_of(each.term)): each for clause in side for each in clause.definitions} for side in (olds, news)
    )
    for key in dict.fromkeys((*before, *after)):
        one, other = before.get(key), after.get(key)
        was, now = one.text if one else "", other.text if other else ""
        if words_and_signs(was) != words_and_signs(now):
            yield TextChange(ChangeType.DEFINITION, was, now, one.term if one else "", other.term if other else "")


def changed_references(
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


def changed_properties(links: Sequence[ClauseLink]) -> Iterator[tuple[int, str, str, str, str]]:
    """Yield the index of a link with the first clause of a file, and the old and new value, alone and with the name.

    A file belongs to the one that most of its clauses come from. If only one states anything, nothing is compared.
    """
    files = Counter((link.old.file, link.new.file) for link in links if link.old and link.new)
    of_new = {new: old for (old, new), _ in reversed(files.most_common())}
    stated = {link.old.file: dict(link.old.properties) for link in links if link.old and link.old.properties}
    firsts = ((place, link.new) for place, link in enumerate(links) if link.new and link.new.properties)
    for place, first in firsts:
        was, now = stated.get(of_new.get(first.file, ""), {}), dict(first.properties)
        for name in {**was, **now} if was else ():
            before, after = was.get(name, ""), now.get(name, "")
            if before != after:
                lines = [f"{name}: {value}" if value else "" for value in (before, after)]
                yield place, before, after, lines[0], lines[1]
