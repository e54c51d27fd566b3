"""Choose which documents may answer: by edition (current, all, named, by date) and by metadata."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from knowledge_mcp.engine.core.base import Base
from knowledge_mcp.engine.core.designations import mentioned
from knowledge_mcp.engine.core.editions import EditionFacts, Editions, Family, facts_of
from knowledge_mcp.language.editions import mark_of
from knowledge_mcp.model.collection import DocumentRecord
from knowledge_mcp.model.errors import InvalidInputError
from knowledge_mcp.model.query import And, Equals, Filter, In, NotIn, SearchQuery
from knowledge_mcp.support.wording import how_many, list_first

ALL, CURRENT = "all", "current"
_AS_OF = re.compile(r"\s*as[ _-]of[ :]{0,3}(?P<date>(?:19|20)\d\d(?:-\d\d(?:-\d\d)?)?)\s*", re.IGNORECASE)
_MOST_NOTES = 3
"""Maximum families mentioned in one answer: more would obscure the answer."""
_MOST_LISTED = 12
_DATES = ("published", "issued", "publication_date", "effective", "date", "created", "modified")
_TAGS = ("tags", "keywords", "labels", "categories")
_DATE = re.compile(r"\d{4}(?:-\d\d){0,2}")
_LISTED = re.compile(r"[,;]")


@dataclass(frozen=True, slots=True)
class Choice:
    """Which documents may answer.

    Attributes:
        filter: for the store; None for all.
        hidden: ids that must not answer, if the choice is by exclusion.
        included: ids that may answer, None if all except the hidden ones may.
        notes: what a caller must know about the choice, one sentence each.
    """

    filter: Filter | None = None
    hidden: frozenset[str] = frozenset()
    included: frozenset[str] | None = None
    notes: tuple[str, ...] = ()

    def allows(self, document_id: str) -> bool:
        """Return whether a document may answer."""
        return document_id not in self.hidden and (self.included is None or document_id in self.included)


def choose_editions(base: Base, known: Editions, edition: str, question: str = "") -> Choice:
    """Choose which documents may answer.

    Args:
        base: the parts.
        known: its editions, from `Base.editions`.
        edition: as in `SearchQuery.edition`.
        question: an older edition that it names ("IEEE 830-1993", a replaced "RFC 7540") may answer too.

    Raises:
        InvalidInputError: no document has that edition, or the date is invalid; names the existing ones.
    """
    requested = edition.strip()
    if requested.casefold() == ALL:
        return Choice()
    if not requested or requested.casefold() == CURRENT:
        spared = _requested_editions(base, known, question)
        hidden = tuple(each for each in known.superseded if each not in spared)
        return Choice(NotIn("document_id", hidden) if hidden else None, frozenset(hidden))
    as_of = _AS_OF.fullmatch(requested)
    if as_of is not None:
        if not _is_date(as_of["date"]):
            raise InvalidInputError(
                f"'{as_of['date']}' is not a date.", suggestion='Give a year, month or day: "as of 2020-05".'
            )
        return _as_of(known, base.records(), as_of["date"])
    return _only(base.records(), requested)


def filter_of(base: Base, known: Editions, query: SearchQuery) -> tuple[Filter | None, Choice]:
    """Restrict a query's filter to the documents that may answer, by metadata and edition.

    If the filter names documents, any edition of them may.

    Raises:
        InvalidInputError: as for `choose_editions`, or no document has the requested metadata.
    """
    metadata_filter = _documents_with(base.records(), query.where) if query.where else None
    free = not query.edition.strip() and _names_documents(query.filter)
    choice = Choice() if free else choose_editions(base, known, query.edition, query.text)
    parts = [each for each in (query.filter, metadata_filter, choice.filter) if each is not None]
    return And(tuple(parts)) if len(parts) > 1 else parts[0] if parts else None, choice


def notes_on(
    known: Editions, document_ids: Iterable[str], edition: str, missed: Choice | None = None
) -> tuple[str, ...]:
    """Say which of some documents have other editions; empty if all editions were requested.

    Args:
        known: the editions.
        document_ids: the documents.
        edition: as requested.
        missed: the choice among which something asked for was not found; what it hid may contain it.
    """
    if edition.strip().casefold() == ALL:
        return ()
    families: dict[str, Family] = {}
    for document_id in document_ids:
        family = known.family_of(document_id)
        if family is not None:
            families.setdefault(family.key, family)
    notes = [family.note for family in list(families.values())[:_MOST_NOTES]]
    more = len(families) - len(notes)
    if more > 0:
        notes.append(f"{how_many(more, 'more document here has', 'more documents here have')} other editions.")
    if missed is not None and missed.hidden:
        hidden = how_many(len(missed.hidden), "older edition was", "older editions were")
        notes.append(f'{hidden} not searched; edition "all" includes them.')
    return tuple(notes)


def _names_documents(filter: Filter | None) -> bool:
    if isinstance(filter, And):
        return any(_names_documents(part) for part in filter.parts)
    return isinstance(filter, Equals | In) and filter.field == "document_id"


def _requested_editions(base: Base, known: Editions, question: str) -> set[str]:
    """Return the older editions that a question names: by designation and edition, or by a number of their own.

    "RFC 7540" is answered by RFC 7540, even if RFC 9113 has replaced it; "ACME 100" by its current edition.
    """
    if not known.superseded or not question:
        return set()
    superseded = set(known.superseded)
    found: set[str] = set()
    for each in mentioned(question):
        alike = [like for like in base.directory().alike(each) if not like.is_part and known.family_of(like.record.id)]
        if each.edition:
            found.update(like.record.id for like in alike if like.edition == each.edition)
        elif superseded.issuperset(like.record.id for like in alike):
            found.update(like.record.id for like in alike)
    return found


def _only(records: Collection[DocumentRecord], requested: str) -> Choice:
    document_ids = [record.id for record in records if _is(facts_of(record), requested)]
    if not document_ids:
        labels = sorted({label for record in records if (label := facts_of(record).label)})
        raise InvalidInputError(
            f"No document has the edition '{requested[:60]}'.",
            suggestion=f'Use one of {list_first(labels, _MOST_LISTED)}, "all", or a date as in "as of 2020-05".'
            if labels
            else "Omit it: no document here states its edition.",
        )
    return Choice(In("document_id", tuple(document_ids)), included=frozenset(document_ids))


def _is(facts: EditionFacts, requested: str) -> bool:
    """Return whether an edition is the named one: by label, by date or its beginning, or by number."""
    if not facts.label:
        return False
    label, name = facts.label.casefold(), requested.casefold()
    if label == name or re.search(rf"(?<![\w.]){re.escape(name)}(?![\w.])", label):
        return True
    mark = mark_of(requested)
    if mark is not None and mark.date:
        return facts.date.startswith(mark.date)
    digits = re.findall(r"\d{1,4}", name)
    version = mark.version if mark is not None else tuple(map(int, digits)) if re.fullmatch(r"[\d.]+", name) else ()
    return bool(version) and version == facts.version


def _is_date(text: str) -> bool:
    """Return whether this is a valid year, month ("2020-05") or day."""
    try:
        dt.date.fromisoformat(text + "-01" * (2 - text.count("-")))
    except ValueError:
        return False
    return True


def _as_of(known: Editions, records: Collection[DocumentRecord], date: str) -> Choice:
    """Select from each family the last edition published by a date; later ones are left out."""
    hidden: set[str] = set()
    undated: list[str] = []
    for family in known.families:
        if all(facts_of(each).date for each in family.records):
            there = [each for each in family.records if facts_of(each).date[: len(date)] <= date]
            last = facts_of(there[-1]).date if there else ""
            hidden.update(each.id for each in family.records if not there or facts_of(each).date != last)
        else:
            hidden.update(each.id for each in family.older)
            undated.append(family.title)
    for record in records:
        facts = facts_of(record)
        if known.family_of(record.id) is None and facts.is_certain and facts.date and facts.date[: len(date)] > date:
            hidden.add(record.id)
    notes = (
        (
            f"It is not known when the editions of {', '.join(undated[:_MOST_LISTED])} were published; the current "
            "ones are used.",
        )
        if undated
        else ()
    )
    return Choice(NotIn("document_id", tuple(sorted(hidden))) if hidden else None, frozenset(hidden), None, notes)


# ---- by metadata ----------------------------------------------------------------------------------------------------


def _documents_with(records: Sequence[DocumentRecord], where: Sequence[tuple[str, str]]) -> Filter | None:
    """Build the filter for documents whose records have all requested values; None if none are requested.

    Names are compared case-insensitively, a value with the whole stored value or with one item of a comma-separated
    list. `tags` also includes keywords; `date` accepts a beginning ("2020-05") or a range ("2020..2023", "..2019") and
    compares every publication date. The filter names ids, so that every store finds the same.

    Raises:
        InvalidInputError: no document has the name, or the value; lists the existing ones.
    """
    if not where:
        return None
    matching = [record for record in records if all(_has_value(record, name, value) for name, value in where)]
    if not matching:
        _explain(records, where)
    if 2 * len(matching) > len(records):  # the shorter list is faster in every store
        there = {record.id for record in matching}
        return NotIn("document_id", tuple(record.id for record in records if record.id not in there))
    return In("document_id", tuple(record.id for record in matching))


def _has_value(record: DocumentRecord, name: str, value: str) -> bool:
    expected = value.strip().casefold()
    if _key(name) == "date":
        return any(_is_within(date, expected) for date in _values(record, name))
    return any(
        expected == stored.strip().casefold() or expected in map(str.strip, _LISTED.split(stored.casefold()))
        for stored in _values(record, name)
    )


def _values(record: DocumentRecord, name: str) -> list[str]:
    """List a record's values under a name."""
    key = _key(name)
    names = {"tags": _TAGS, "tag": _TAGS, "date": _DATES}.get(key, (key,))
    values = [value for label, value in record.metadata if _key(label) in names]
    if key == "date":
        issued = facts_of(record).date
        return [issued] if issued else values[:1]
    return values


def _key(name: str) -> str:
    return name.strip().casefold().replace("-", "_").replace(" ", "_")


def _is_within(date: str, expected: str) -> bool:
    """Return whether a date begins with the expected text, or lies in a range, inclusive."""
    first, dots, last = (part.strip() for part in expected.partition(".."))
    if not (dots and all(not part or _DATE.fullmatch(part) for part in (first, last))):
        return date.startswith(expected)
    return date[:4].isdigit() and first <= date[: len(first)] and (not last or date[: len(last)] <= last)


def _explain(records: Sequence[DocumentRecord], where: Sequence[tuple[str, str]]) -> None:
    for name, value in where:
        values = sorted({text for record in records for text in _values(record, name)})
        if not values:
            names = sorted({_key(key) for record in records for key, _ in record.metadata})
            raise InvalidInputError(
                f"No document here has the metadata field '{name[:60]}'.",
                suggestion=f"Available fields: {', '.join(names[: 2 * _MOST_LISTED]) or 'nothing'}.",
            )
        if not any(_has_value(record, name, value) for record in records):
            raise InvalidInputError(
                f"No document here has '{value[:60]}' as '{name[:60]}'.",
                suggestion=f"Available values: {list_first([each[:60] for each in values], _MOST_LISTED)}.",
            )
    raise InvalidInputError(
        "No document here has all of these in its metadata, although each exists.", suggestion="Omit one of them."
    )
