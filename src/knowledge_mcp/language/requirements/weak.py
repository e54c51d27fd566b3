"""Weak requirements: items, steps and user stories that are requirements only because of the heading above them."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from enum import Enum

from knowledge_mcp.language.clauses import SectionFacts, SectionRole
from knowledge_mcp.language.demands import says_what_to_verify
from knowledge_mcp.language.identifiers import Labels, is_void, own_end, requirement_identifier
from knowledge_mcp.language.sentences import row_cells, sentence_spans
from knowledge_mcp.model.chunk import Modality, Statement
from knowledge_mcp.model.document import PROSE_KINDS, Block, BlockKind, Document, Span
from knowledge_mcp.support.checkpoints import check_each


class _Place(Enum):
    """What a heading says about the items below it: nothing, the opposite, or how they are requirements."""

    CLOSED = 0
    NUMBERED = 1
    """Numbered items, stories and rows with identifiers are requirements."""
    STEPS = 2
    """Every item is a requirement: the steps of a use case."""


_LONGEST_TITLE = 160
_LONGEST_LABEL = 60
"""Maximum length of a paragraph that may be a label ("Flow of events:") for the items below it."""
_LEAST_WORDS = 3
"""Minimum words of an item that states something: "2. Performance" is a name."""
_STEP = (
    r"(?:(?:main|basic|normal|primary|alternat(?:e|ive)|exception(?:al)?|success|typical|happy)\s+){1,3}"
    r"(?:flows?|courses?|paths?|scenarios?|steps?)(?:\s+of\s+events)?|flows?\s+of\s+events"
    r"|(?:use\s+case\s+)?steps"
    r"|(?:use\s+case\s+)?extensions|use\s+case\s+scenarios?"
)
_STEPS = re.compile(rf"(?:{_STEP})(?:\s*[(:–—-].{{0,80}})?\Z", re.IGNORECASE)
_USE_CASE = re.compile(r"(?:use\s+cases?|uc[-_. ]?\d{1,4})\b|.{0,80}\buse\s+cases?\Z", re.IGNORECASE)
_ABOUT = re.compile(
    r"\b(?:non-?requirements?|no\s+requirements?|(?:about|verification|validation|source|origin|analysis"
    r"|management|traceability"
    r"|summary|overview|changes?|test(?:s|ing)?|review|elicitation|derivation|prioriti[sz]ation"
    r"|understanding|writing)\s+"
    r"(?:of|to|for|the|from|\s){0,6}.{0,30}requirements?"
    r"|requirements?\s+(?:analysis|management|engineering|traceability|process|elicitation|verification"
    r"|validation|review"
    r"|overview|summary|notation|language|history|changes))\b",
    re.IGNORECASE,
)
_REQUIREMENTS = re.compile(
    r"(?:\brequirements?|\buser\s+stories|\bstories|anforderungen|\bexigences|\brequisitos|\brequisiti)"
    r"(?:\s+(?:list|catalogue?)|\s*#?\s?\d{1,4})?(?:\s*[(:–—-].{0,80})?\Z"
    r"|\A(?:requirements?|exigences|user\s+stories)\s+(?:for|of|on|to|concerning|imposed|placed|pour|by)\b",
    re.IGNORECASE,
)
_CLOSING = re.compile(
    r"(?:(?:design\s+)?rationale|justification|background|discussion|notes?|remarks?|comments?|examples?"
    r"|glossary|definitions?|terms?|references?"
    r"|bibliography|history|changes?|open\s+(?:issues|points|questions)|(?:out\s+of\s+)?scope|non-?goals?"
    r"|goals?|assumptions?"
    r"|dependencies|actors?|primary\s+actors?|stakeholders?|triggers?|(?:pre|post)-?\s?conditions?"
    r"|(?:entry|exit)\s+conditions?"
    r"|risks?|priorit(?:y|ies)|traceability.{0,40}|verification.{0,40}|validation.{0,40}|tests?\b.{0,40}"
    r"|acceptance\s+(?:tests?|criteria)"
    r"|purpose|overview|summary|introduction|audience|approvals?|index|contents)\Z",
    re.IGNORECASE,
)
_STORY = re.compile(
    r"\bas\s+an?\s[^.!?\n]{1,120}?,?\s(?:I|we)\s(?:want|need|can|would|wish|should|must|like|am|have)\b", re.I
)
_OPENS_STORY = 40
"""Characters before the start of a story: marker, number and name precede "As a …"."""
_NUMBER = re.compile(
    r"\s*(?:step\s+)?\(?(?P<number>[A-Z]{0,3}\d{1,4}(?:\.\d{1,4}){0,5}[a-z]?)(?P<end>[.):]|\s[–—-])\s+",
    re.IGNORECASE,
)
_PLAIN_NUMBER = re.compile(r"\s*(?P<number>\d{1,3}(?:\.\d{1,4}){1,5})\s+(?=[A-Z\"“])")
_IDENTIFIER = re.compile(r"[A-Za-z]{2}|[A-Za-z]-?\d+\Z")
"""An item's number that is an identifier: FR-1, UC 2, R3; not 4, 4.2 or A.1."""
_BULLET = re.compile(r"\s*[-*•–·▪]\s+")
_EMPHASIS = re.compile(r"[*_`]+")
_ID_HEAD = re.compile(
    r"(?:\w{1,20}\s){0,2}(?:ids?|identifier|number|no\.?|nr\.?|#|key|step)\Z|#|us|uc|req\.?", re.IGNORECASE
)
_TEXT_HEAD = re.compile(
    r"(?:.{0,30}\b)?(?:requirements?|description|text|statement|story|action|step|shall"
    r"|specification|beschreibung|anforderung|exigence|descripción|requisito|descrizione)\b.{0,20}",
    re.IGNORECASE,
)
_NAMES_RULE = re.compile(r"(?:(?:requirement|req\.?|control)\s)?(?:ids?|identifier|number|no\.?|#)", re.IGNORECASE)
_STATES_RULE = re.compile(
    r"(?:.{0,30}\s)?(?:requirements?(?:\s(?:text|statement|description))?|controls?\s(?:text|statement|description))",
    re.I,
)
"""The headers of a catalogue, whose rows are requirements under any heading: "Control Identifier", "Control Text"."""
_RESULT_WORDS = frozenset("expected result results pass passed precondition tester".split())
"""Words in the headers of test cases, which verify requirements and are none."""
_FEWEST_CHECKS, _SHARE_OF_CHECKS = 3, 0.75
"""Rows, and their share of a table, that say what to verify where the table lists requirements."""
_GROUP = 2
"""Cells of a row that only names a group of rows: its number and its title."""
_STORY_HEAD = re.compile(r"(?:as\s+an?|I\s+want|so\s+that)\b", re.IGNORECASE)


def with_weak(
    document: Document, facts: SectionFacts, statements: Sequence[Statement], exempt: Sequence[Span], labels: Labels
) -> list[Statement]:
    """Add the weak requirements: text below a heading that announces requirements.

    Numbered items and paragraphs, steps of use cases, user stories, and table rows with identifiers are added, and
    anywhere the rows with identifiers of a table whose headers are those of a catalogue ("Control Identifier",
    "Control Text") or whose rows say what to verify ("Verify that …"), each with its whole text, the items below it,
    and its number as identifier. Text with a word of force keeps its force; "can" alone does not count there. An item
    whose first sentence has no force but a later one has is one requirement with both. If most of the text below such a
    heading has words of force, its other items are not requirements, unless they are stories or have identifiers.

    Args:
        document: the document as read.
        facts: the facts about its sections.
        statements: those with words of force, in order.
        exempt: spans (sorted) in which no statement may start, e.g. definitions.
        labels: those of the document, whose groups have titles.
    """
    finder = _Weak(document, facts, statements, exempt, labels)
    for position in check_each(range(len(document.blocks))):
        finder.take(position)
    return finder.all()


class _Weak:
    def __init__(
        self,
        document: Document,
        facts: SectionFacts,
        statements: Sequence[Statement],
        exempt: Sequence[Span],
        labels: Labels,
    ) -> None:
        self.document, self.facts, self.text, self._labels = document, facts, document.text, labels
        self.kept: dict[Span, Statement] = {each.span: each for each in statements}
        self._ordered = sorted(self.kept)
        self._exempt = sorted(exempt)
        self._places: dict[int | None, _Place] = {None: _Place.CLOSED}
        self._roots: dict[int | None, int | None] = {None: None}
        self._parents = {each.parent for each in document.sections}
        self._said_elsewhere = {
            (each.parent, each.level)
            for each in document.sections
            if each.title.endswith(".") and len(each.title.split()) > _LEAST_WORDS
        }
        self._worded: Counter[int | None] = Counter()
        self._unworded: dict[int | None, list[Span]] = {}
        self._possible: dict[Span, list[Statement]] = {}
        self._label: tuple[int | None, _Place] | None = None
        self._taken = 0
        for section in document.sections:
            self._places[section.index] = self._announced(section.index)
            below = self._places[section.index] is self._places[section.parent]
            self._roots[section.index] = self._roots[section.parent] if below else section.index

    def all(self) -> list[Statement]:
        """List all statements in order, without the items below headings where most text has words of force."""
        for root, spans in self._unworded.items():
            if self._worded[root] > len(spans):
                for span in spans:
                    del self.kept[span]
                    self.kept.update((each.span, each) for each in self._possible.pop(span, ()))
        return sorted(self.kept.values(), key=lambda each: each.span)

    def take(self, position: int) -> None:
        """Process one block, with the items that belong to it."""
        block = self.document.blocks[position]
        if block.span.start < self._taken:
            return
        if block.kind is BlockKind.HEADING:
            self._label = None
            self._take_heading(position)
            return
        words = block.span.of(self.text)
        if block.kind is BlockKind.PARAGRAPH and len(words) <= _LONGEST_LABEL:
            kind = _place_of(words.strip().rstrip(":"))
            if kind is not None:
                self._label = (block.section, kind)
                return
        place = self._label[1] if self._label is not None else self._places[block.section]
        if place is _Place.CLOSED:
            if block.kind is BlockKind.TABLE and not self.facts.is_informative(block.section):
                self._take_table(block, verifying=True)
            return
        self._worded[self._roots[block.section]] += sum(
            self.kept[each].modality is Modality.REQUIREMENT for each in self._within(block.span)
        )
        if block.kind is BlockKind.TABLE:
            self._take_table(block)
        elif block.kind in PROSE_KINDS:
            self._take_item(position, place)

    def _announced(self, index: int) -> _Place:
        section = self.document.sections[index]
        if self.facts.is_informative(index):
            return _Place.CLOSED
        kind = _place_of(section.title)
        if kind is not None:
            return kind
        above = self._places[section.parent]
        silent = {SectionRole.BODY, SectionRole.ANNEX}
        return above if self.facts.role(index) in silent or above is _Place.STEPS else _Place.CLOSED

    def _take_heading(self, position: int) -> None:
        """Process a numbered heading that is a sentence or has a sibling that is one: requirements as clauses.

        The text below it follows its first sentence.
        """
        section = self.document.blocks[position].section
        if section is None:
            return
        node = self.document.sections[section]
        if self._places[node.parent] is _Place.CLOSED or node.number is None or section in self._parents:
            return
        title = node.title.strip()
        story, alone = _is_story(title), node.heading == node.span
        if not _has_substance(title) or not (story or (node.parent, node.level) in self._said_elsewhere):
            return
        span = node.heading if alone else node.span
        if self._within(span):
            return
        below = " " if alone or title.endswith((".", ":")) else ". "
        self._add(span, section, node.number, f"{node.label}{below}{self.text[node.heading.end : span.end]}")
        self._taken = span.end
        if not story:
            self._unworded.setdefault(self._roots[node.parent], []).append(span)

    def _take_item(self, position: int, place: _Place) -> None:
        """Process an item or paragraph; each part of a paragraph that starts with an identifier is a separate one."""
        block = self.document.blocks[position]
        stop = own_end(self.text, block.span.start, block.span.end)
        sentences = sentence_spans(self.text, block.span.start, stop)
        if not sentences:
            return
        listed = block.kind is BlockKind.LIST_ITEM
        opened = [
            place for place, each in enumerate(sentences)
            if place == 0 or (not listed and requirement_identifier(each.of(self.text)) is not None)
        ]  # fmt: skip
        for first, last in zip(opened, [*opened[1:], len(sentences)], strict=True):
            whole = Span(sentences[first].start, sentences[last - 1].end)
            words = whole.of(self.text)
            number = _number_of(words)
            steps = place is _Place.STEPS and listed
            if (
                (number is not None or _is_story(words) or steps)
                and _has_substance(words)
                and not whole.starts_in(self._exempt)
                and not self._labels.is_group(number or "", words)
            ):
                end = self._end_with_items(position, stop) if listed else whole.end
                self._take_part(block, sentences[first], Span(whole.start, end), number)

    def _take_part(self, block: Block, first: Span, whole: Span, number: str | None) -> None:
        statements = self._within(Span(block.span.start if first.start == block.span.start else whole.start, whole.end))
        strong = [each for each in statements if self.kept[each].modality is not Modality.POSSIBILITY]
        if strong:
            own = self.kept[strong[0]].identifier or number
            if (
                first.end <= strong[0].start < block.span.end
                and self.kept[strong[0]].lead_in is None
                and own is not None
            ):
                for span in strong:
                    self.kept[span] = replace(self.kept[span], identifier=self.kept[span].identifier or own)
                self._add(first, block.section, own)
            return  # it or an item below it has force
        whole = whole.trimmed(self.text)
        self._possible[whole] = [self.kept.pop(span) for span in statements]
        self._taken = whole.end
        self._add(whole, block.section, number)
        if not _is_story(whole.of(self.text)) and (number is None or _IDENTIFIER.match(number) is None):
            self._unworded.setdefault(self._roots[block.section], []).append(whole)

    def _end_with_items(self, position: int, stop: int) -> int:
        """Return where an item with its subitems ends: deeper items without a multi-part number."""
        first = self.document.blocks[position]
        if first.kind is not BlockKind.LIST_ITEM or stop < first.span.end:
            return stop
        for block in self.document.blocks[position + 1 :]:
            if block.kind is not BlockKind.LIST_ITEM or block.depth <= first.depth:
                break
            if _PLAIN_NUMBER.match(
                self.text, block.span.start, block.span.end
            ) is not None or "." in block.marker.strip("."):
                break
            stop = block.span.end
        return stop

    def _take_table(self, block: Block, *, verifying: bool = False) -> None:
        """Process the rows without words of force, by their identifier and the column with the text.

        Args:
            block: the table.
            verifying: whether only rows count that say what to verify, if most rows do; not in a catalogue, by its
                headers.
        """
        start = block.span.start
        lines = block.span.of(self.text).split("\n")
        heads = [_plain(cell.of(lines[0])) for cell in row_cells(0, lines[0])]
        stories = [column for column, head in enumerate(heads) if _STORY_HEAD.match(head)]
        own = next((column for column, head in enumerate(heads) if _ID_HEAD.fullmatch(head)), None)
        text_column = next((c for c, head in enumerate(heads) if c != own and _TEXT_HEAD.fullmatch(head)), None)
        if verifying and (
            own is None or text_column is None or not _RESULT_WORDS.isdisjoint(" ".join(heads).lower().split())
        ):
            return
        verifying = verifying and not self._is_catalogue(block, heads[own or 0], heads[text_column or 0])
        fewest = 1 + max(own or 0, text_column or 0, *stories)
        stated: list[tuple[Span, str, Span]] = []
        for number, line in enumerate(check_each(lines)):
            cells = row_cells(start, line)
            start += len(line) + 1
            if number == 0 or not line.strip(" |:-") or not fewest <= len(cells) <= len(heads):
                continue
            identifier = None if own is None else _plain(cells[own].of(self.text)) or None
            if len(stories) > 1:
                parts = [f"{heads[column]} {cells[column].of(self.text).strip()}" for column in stories]
                span = Span(cells[stories[0]].start, cells[stories[-1]].end).trimmed(self.text)
                if not self._within(span) and _has_substance(" ".join(parts)):
                    self._add(span, block.section, identifier, ", ".join(parts))
            elif identifier is not None and text_column is not None:
                span = cells[text_column].trimmed(self.text)
                filled = sum(each.of(self.text).strip() != "" for each in cells)
                if filled <= _GROUP < len(heads) and not span.of(self.text).endswith((".", ";", ":")):
                    continue  # the title of the rows below
                if _has_substance(span.of(self.text)):
                    stated.append((span, identifier, Span(cells[0].start, cells[-1].end)))
        if verifying:
            checks = [each for each in stated if says_what_to_verify(each[0].of(self.text))]
            stated = checks if len(checks) >= max(_FEWEST_CHECKS, _SHARE_OF_CHECKS * len(stated)) else []
        for span, identifier, row in stated:
            inside = self._within(row)
            if all(self.kept[each].modality is Modality.POSSIBILITY for each in inside):
                for each in inside:
                    del self.kept[each]
                self._add(span, block.section, identifier)

    def _is_catalogue(self, block: Block, name: str, text: str) -> bool:
        title = "" if block.section is None else self.document.sections[block.section].title
        named = _NAMES_RULE.fullmatch(name) is not None and states_rules(text)
        return named and _place_of(title) is not _Place.CLOSED

    def _within(self, span: Span) -> list[Span]:
        """List the statements that start in a span."""
        first, last = (
            bisect_left(self._ordered, place, key=lambda each: each.start) for place in (span.start, span.end)
        )
        return [each for each in self._ordered[first:last] if each in self.kept]

    def _add(self, span: Span, section: int | None, identifier: str | None, text: str = "") -> None:
        self.kept[span] = Statement(
            span=span,
            modality=Modality.REQUIREMENT,
            negated=False,
            clause_number=self.facts.clause_number(section),
            text=" ".join((text or span.of(self.text)).split()),
            identifier=identifier,
            weak=True,
        )


def states_rules(header: str) -> bool:
    """Return whether a column has the text of the rows' requirements or controls: "Requirement", "Control Text"."""
    return _STATES_RULE.fullmatch(_plain(header)) is not None


def _place_of(title: str) -> _Place | None:
    """Return what a title says about the items below it; None if it says nothing."""
    plain = _plain(title)[:_LONGEST_TITLE]
    if _CLOSING.match(plain) or _ABOUT.search(plain):
        return _Place.CLOSED
    if _STEPS.match(plain):
        return _Place.STEPS
    if _REQUIREMENTS.search(plain) or _USE_CASE.match(plain):
        return _Place.NUMBERED
    return None


def _plain(title: str) -> str:
    return " ".join(_EMPHASIS.sub("", title).split()).strip(" .:")


def _number_of(words: str) -> str | None:
    """Read the number or identifier that an item starts with; None if there is none."""
    own = requirement_identifier(words)
    if own is not None:
        return own
    bullet = _BULLET.match(words)
    place = bullet.end() if bullet else 0
    match = _NUMBER.match(words, place) or _PLAIN_NUMBER.match(words, place)
    return None if match is None else match.group("number")


def _is_story(words: str) -> bool:
    match = _STORY.search(words[:400])
    return match is not None and match.start() <= _OPENS_STORY


def _has_substance(words: str) -> bool:
    """Return whether an item is more than a name, a question, or a word that nothing is required."""
    bullet = _BULLET.match(words)
    number = _NUMBER.match(words, bullet.end() if bullet else 0)
    bare = words[number.end() :] if number else words
    return len(bare.split()) >= _LEAST_WORDS and not bare.rstrip().endswith("?") and not is_void(bare, "")
