"""The items of a document that are traced: declared items, requirements, or clauses; with the text next to them."""

from __future__ import annotations

import bisect
import itertools
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import PurePosixPath

from knowledge_mcp.engine.core.designations import Designation, designations, names_of
from knowledge_mcp.engine.core.headings import heading_end
from knowledge_mcp.engine.search.requirements import words_of
from knowledge_mcp.engine.tracing.links import TraceItem, own_ids
from knowledge_mcp.engine.tracing.readings import ReadDocument, requirements_in
from knowledge_mcp.language.clauses import speaks_of_document
from knowledge_mcp.language.identifiers import (
    PUBLIC_NAMES,
    file_identifier,
    heading_identifier,
    identifier_key,
    is_identifier,
    stated_identifier,
)
from knowledge_mcp.language.requirements.matrices import related
from knowledge_mcp.language.sentences import TABLE_RULE, cell_texts, is_row
from knowledge_mcp.model.chunk import Statement
from knowledge_mcp.model.collection import DESIGNATION_KEYS, OutlineEntry
from knowledge_mcp.model.document import RequirementItem, Span
from knowledge_mcp.support.checkpoints import check_each

HEADING = "Heading"
"""The kind of an item that is the title of a section; ReqIF tools and our reader know that it is not binding."""
_LABEL = re.compile(r"[\s#>*_\[(`-]{0,12}([^\W_][^\s\])*`:,;]{0,60})")
"""The start of a line that may be an id: of a heading, or the label of a requirement."""
_TITLED = 80
"""Maximum characters of a cell that names an item by id and title; a longer one is a sentence about it."""
_CASE_WORDS = frozenset(
    "action actions algorithm expected method procedure step steps ablauf prüfschritt prüfschritte".split()
)
"""Words in the header of a column that says what a test case does."""
_LONGEST_HEAD = 4
_FEWEST_WORDS = 3
"""Words of a test case that says what is done: "No test." does not."""
_TEST_FILE = re.compile(r"\A(?:tests?|spec)[-.]|[-.](?:tests?|spec)\Z", re.IGNORECASE)
_BETWEEN_NAMES = re.compile(r"[\s,;/&()\[\]*`]+")


def items_in(reading: ReadDocument, *, met_by: bool = False) -> list[TraceItem]:
    """List the items that a requirement file declares, or else its requirements, else its clauses, else its text.

    Args:
        reading: the document.
        met_by: whether it should meet the demands of another: if most of its clauses have no requirements, as in
            designs and test reports, these clauses are items too, and sentences without an identifier are part of their
            clauses.
    """
    return [item for item, _ in placed_items(reading, met_by=met_by)]


def whole_item(reading: ReadDocument, called: str) -> TraceItem:
    """Return a document as one item, by the identifier in its front matter, or else its file's name.

    Args:
        reading: the document.
        called: the name of its file without the extension.
    """
    fields = {key.lower(): value for key, value in reading.metadata}
    stated = (
        fields[each] for each in PUBLIC_NAMES if each in fields and heading_identifier(fields[each]) == fields[each]
    )
    own = next(stated, None) or file_identifier(called)
    title = fields.get("title", own) if own else reading.name
    beside = "" if own else words_of_file(called)
    attributes = dict(reading.metadata)
    return TraceItem(own or reading.name, title, _text_of(reading), reading.name, attributes=attributes, beside=beside)


def words_of_file(called: str) -> str:
    """Return what the name of a file says, "test SYS-2 start" for "test_SYS-2_start": it may name what is tested."""
    return _TEST_FILE.sub(" ", called).replace("_", " ").strip()


def _text_of(reading: ReadDocument) -> str:
    """Return the text without the sections that are only about the document, as `_clauses` leaves them out."""
    kept, begin = "", 0
    for each in reading.structure.sections:
        if each.span.start >= begin and speaks_of_document(each.title):
            kept, begin = kept + reading.text[begin : each.span.start], each.span.end
    return kept + reading.text[begin:]


def placed_items(reading: ReadDocument, *, met_by: bool = False) -> list[tuple[TraceItem, Span]]:
    """List the same items, each with the span of its text."""
    if reading.structure.items:
        return [
            (declared_item(each, _cited(reading, each.span, each.id)), each.span) for each in reading.structure.items
        ]
    demands = [
        (group, group[0].clause_number or chunk.clause_number or "") for group, chunk in requirements_in(reading)
    ]
    clauses = _clauses(reading) if met_by or not demands else []
    if demands and len(_without(clauses, demands)) > len(demands):
        demands = [(group, clause) for group, clause in demands if group[0].identifier not in {None, clause}]
        clauses = _without(clauses, demands)
    elif demands:
        clauses = []
    cases = _cases(reading, [group[0].span.start for group, _ in demands]) if met_by else []
    clauses = [each for each in clauses if not any(each[1].contains(span) for span, _ in cases)]
    found = [
        (group[0].span, TraceItem(group[0].identifier or clause, "", words_of(group, reading.text), "", place=clause))
        for group, clause in demands
    ]
    beside = _beside(reading, [(group[0].identifier or "", group[0].span.start) for group, _ in demands])
    found = [(span, replace(item, beside=text)) for (span, item), text in zip(found, beside, strict=True)]
    found += cases
    for each, span in clauses:
        number = each.number or heading_identifier(each.title) or ""
        found.append((span, TraceItem(number, each.title, span.of(reading.text), "")))
    if not found:
        title = reading.record.title if reading.record is not None else reading.name
        found = [(Span(0, len(reading.text)), TraceItem("", title, reading.text, ""))]
    found.sort(key=lambda each: each[0])
    ids = own_ids(item.id for _, item in found)
    called = _designations_of(reading)
    return [
        (replace(item, id=own, citation=_cited(reading, span, item.id), designations=called), span)
        for own, (span, item) in zip(ids, found, strict=True)
    ]


def _designations_of(reading: ReadDocument) -> tuple[Designation, ...]:
    """List the designations in the names of a document; in a file's front matter, first heading and name."""
    if reading.record is not None:
        names = names_of(reading.record)
    else:
        stated = [value for key, value in reading.metadata if key.lower() in {"title", *DESIGNATION_KEYS}]
        titles = [each.title for each in reading.structure.sections[:1]]
        names = [*((each, False) for each in (*stated, *titles)), (PurePosixPath(reading.name).stem, True)]
    return tuple(dict.fromkeys(each for name, slug in names for each in designations(name, slug=slug)))


def _cited(reading: ReadDocument, span: Span, identifier: str) -> str:
    """Return the citation of an item: for an ingested document as usual, for a file with its id."""
    if reading.record is not None:
        return reading.cited(span)
    return f"{reading.name}, {identifier}" if identifier else reading.name


def _clauses(reading: ReadDocument) -> list[tuple[OutlineEntry, Span]]:
    """List the sections with their own text, up to the first section inside.

    Lists of references and histories of changes may name requirements, but do not meet them.
    """
    sections = reading.structure.sections
    found: list[tuple[OutlineEntry, Span]] = []
    for place, each in enumerate(sections):
        stop = min(sections[place + 1].span.start, each.span.end) if place + 1 < len(sections) else each.span.end
        begin = heading_end(reading.text, each) if each.title else each.span.start
        if reading.text[begin:stop].strip() and not speaks_of_document(each.title):
            found.append((each, Span(each.span.start, stop)))
    return found


def _without(
    clauses: Sequence[tuple[OutlineEntry, Span]], demands: Sequence[tuple[Sequence[Statement], str]]
) -> list[tuple[OutlineEntry, Span]]:
    """Leave out the clauses in which a demand starts."""
    begun = [group[0].span.start for group, _ in demands]
    return [
        each for each in clauses if bisect.bisect_left(begun, each[1].start) == bisect.bisect_left(begun, each[1].end)
    ]


def _is_of_cases(head: str) -> bool:
    words = head.lower().split()
    return len(words) <= _LONGEST_HEAD and not _CASE_WORDS.isdisjoint(words)


def _cases(reading: ReadDocument, begun: Sequence[int]) -> list[tuple[Span, TraceItem]]:
    """List the rows of tables of test cases: an identifier, and what is done; in other tables, rows only name items.

    Args:
        reading: the document.
        begun: offsets of its demands, in order; rows in which one starts are left out.
    """
    found: list[tuple[Span, TraceItem]] = []
    begin, is_open, is_below = 0, False, False  # whether the table has cases, and whether the line above is a row
    for line in check_each(reading.text.splitlines(keepends=True)):
        span, begin = Span(begin, begin + len(line)), begin + len(line)
        cells = cell_texts(line) if is_row(line) else []
        is_open = (is_open if is_below else any(map(_is_of_cases, cells))) and bool(cells)
        is_below = bool(cells)
        own, says = (cells[0].strip("*_`"), " ".join(cells[1:])) if is_open else ("", "")
        states = bisect.bisect_left(begun, span.start) != bisect.bisect_left(begun, span.end)
        if own and heading_identifier(own) == own and not states and len(says.split()) >= _FEWEST_WORDS:
            found.append((span.trimmed(reading.text), TraceItem(own, "", says, "")))
    return found


def _beside(reading: ReadDocument, demands: Sequence[tuple[str, int]]) -> list[str]:
    """Collect the text next to each demand: lines up to the next one or section, and table rows that name it.

    Args:
        reading: the document.
        demands: identifier, or an empty string, and offset of each, in order.
    """
    lines = _LinesOfDemands(reading, demands)
    begin = 0
    for line in check_each(reading.text.splitlines(keepends=True)):
        lines.take(Span(begin, begin + len(line)), line)
        begin += len(line)
    lines.end_table()
    return ["".join(each) for each in lines.found]


class _LinesOfDemands:
    """Processes a document line by line, and assigns each line to the demands that it belongs to."""

    def __init__(self, reading: ReadDocument, demands: Sequence[tuple[str, int]]) -> None:
        counts = Counter(name for name, _ in demands)
        self.found: list[list[str]] = [[] for _ in demands]
        self._own = {name: place for place, (name, _) in enumerate(demands) if name and counts[name] == 1}
        self._families = {key[:-1] for key in map(identifier_key, self._own) if len(key) > 1}
        self._places = [place for _, place in demands]
        self._text = reading.text
        self._begun = {each.span.start: each.span.end for each in reading.structure.sections}
        self._current: int | None = None
        self._scope = 0  # end of the section whose heading is a demand
        self._rows: list[str] = []  # of the current table
        self._begun_in: dict[int, Sequence[int]] = {}  # demands that start in each of its rows

    def take(self, span: Span, line: str) -> None:
        starts = range(bisect.bisect_left(self._places, span.start), bisect.bisect_left(self._places, span.end))
        if is_row(line):
            if not TABLE_RULE.fullmatch(line):
                self._begun_in[len(self._rows)] = starts
                self._rows.append(line)
            return
        self.end_table()
        if span.start in self._begun and span.start >= self._scope:
            self._current = None
        label = _LABEL.match(line)
        name = stated_identifier(line) or (label[1].rstrip(".") if label is not None else "")
        if name in self._own:
            self._current = self._own[name]
            self._scope = self._begun.get(span.start, 0)
        elif identifier_key(name)[:-1] in self._families and is_identifier(name):
            self._current = None  # a label without a demand, for example because it was deleted
        cuts = [span.start, *(self._places[each] for each in starts), span.end]
        for owner, (begin, end) in zip([self._current, *starts], itertools.pairwise(cuts), strict=True):
            if owner is not None:
                self.found[owner].append(self._text[begin:end])
        self._current = starts[-1] if starts else self._current

    def end_table(self) -> None:
        """Assign a table that names no demand to the current one; otherwise the current one ends."""
        by_owner = related(list(map(cell_texts, self._rows)), self._named_in, self._begun_in)
        for owner, rows in by_owner.items():
            self.found[owner] += [f"{row}\n" for row in rows]
        if by_owner:
            self._current = None
        elif self._current is not None:
            self.found[self._current] += self._rows
        self._rows, self._begun_in = [], {}

    def _named_in(self, cell: str) -> list[int]:
        names = [name for name in _BETWEEN_NAMES.split(cell) if name]
        is_titled = len(cell) <= _TITLED and not any(map(is_identifier, names[1:]))
        if names and names[0] in self._own and is_titled:
            return [self._own[names[0]]]  # with its title
        return [self._own[name] for name in names] if all(name in self._own for name in names) else []


def declared_item(item: RequirementItem, citation: str) -> TraceItem:
    """Convert an item of a requirement file to a traced item."""
    links, kinds = tuple(link.target for link in item.links), tuple(link.kind for link in item.links)
    text = item.text or item.title or item.id
    called = {key.lower(): value.strip() for key, value in item.attributes.items()}
    name = next((called[each] for each in PUBLIC_NAMES if called.get(each)), "")
    name = "" if name == item.id else name
    attributes, is_aside = item.attributes, item.informative
    return TraceItem(
        item.id, item.title, text, citation, links, attributes, item.level, item.kind, kinds, name, "", is_aside
    )


def items_below_headings(reading: ReadDocument) -> list[TraceItem]:
    """List what a requirement file declares, in order, with the titled sections that are not items."""
    items, found = reading.structure.items, list[TraceItem]()
    begun = {each.span.start for each in items}
    taken_ids = {each.id for each in items}
    sections = [each for each in reading.structure.sections if each.span.start not in begun]
    places: list[str] = []  # of the enclosing sections
    for item, declared in zip(items, items_in(reading), strict=True):
        while item.level and sections and sections[0].span.start < item.span.start:
            found.append(_heading(sections.pop(0), items, places, taken_ids))
        found.append(declared)
    if any(each.level for each in items):
        found += [_heading(each, items, places, taken_ids) for each in sections]
    return found


def _heading(
    section: OutlineEntry, items: Sequence[RequirementItem], places: list[str], taken_ids: set[str]
) -> TraceItem:
    """Convert a section to an item; its place is the common start of the levels of its items."""
    inside = next((each.level for each in items if section.span.contains(each.span) and each.level), "")
    del places[section.level - 1 :]
    above = f"{places[-1]}." if places else ""
    places.append(".".join(inside.split(".")[: section.level]) if inside else f"{above}-")
    name = next(name for at in itertools.count(1) if (name := f"section-{at}") not in taken_ids)
    taken_ids.add(name)
    attributes = {"ReqIF.ChapterName": section.title}
    return TraceItem(name, "", "", "", (), attributes, places[-1], HEADING)
