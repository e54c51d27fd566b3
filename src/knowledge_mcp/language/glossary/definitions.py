"""Finds definitions in terms clauses, glossaries, abbreviation lists and sentences; precision before recall."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import takewhile

from knowledge_mcp.language.clauses import SectionFacts, SectionRole
from knowledge_mcp.language.glossary.entries import (
    expansion_fits,
    is_defining,
    is_meaning,
    is_origin,
    make_definition,
    pointed_at,
    split_term,
    with_abbreviations,
    with_names,
    with_notes,
    without_pointers,
)
from knowledge_mcp.language.glossary.terms import entry_number, looks_like_sentence, read_entry
from knowledge_mcp.language.identifiers import heading_identifier
from knowledge_mcp.language.openings import opening_of
from knowledge_mcp.language.sentences import cell_texts, sentence_spans
from knowledge_mcp.model.chunk import Definition
from knowledge_mcp.model.document import NOTE_KINDS, PROSE_KINDS, Block, BlockKind, Document, Span
from knowledge_mcp.support.checkpoints import check_each

_OPEN_ENDS = (":", ",", "—", "–")
_QUOTED_TERM = (
    r"(?:(?:“|«\s?)(?P<curly>[^”»\n]{2,60}?)(?:”|\s?»)|„(?P<low>[^“”\n]{2,60})[“”]"
    r"|(?<!\w)\"(?P<straight>[^\"\n]{2,60})\"|(?<!\w)['‘](?P<single>[^'‘’\n]{2,60})['’](?!\w)|\*\*(?P<bold>[^*\n]{2,60})\*\*)"
)
_QUOTED_GROUPS = ("curly", "low", "straight", "single", "bold")
_MEANS = re.compile(
    r"(?:\(?[a-z0-9]{1,3}[.)]\s+|\d{1,2}(?:\.\d{1,3}){1,4}\.?\s+)?\W{0,3}"
    r"(?:(?:The|A|An|the|In this \w+,?|Le|La|El|Der|Die|Das|Ein|Eine)\s+"
    r"(?:(?:terms?|terme|término|Begriff|Ausdruck|words?|expression|phrase)\s+)?)?"
    rf"{_QUOTED_TERM}(?:\s+\([^)]{{2,60}}\))?,?\s+"
    r"(?:means|refers\s+to|denotes|is\s+defined\s+as|are\s+defined\s+as|shall\s+mean|stands\s+for|bezeichnet|bedeutet"
    r"|désigne|signifie|s['’]entend\s+de|significa|designa|se\s+refiere\s+a)(?:\s+|\s?[:—–]\s*)(?P<text>[^\s:—–])"
)
_DEFINED_AS = re.compile(
    r"\W{0,3}(?:An?|The)\s+(?P<plain>(?!.{0,50}\b(?:that|which|or)\b.{0,50}\bdefined)[A-Za-z][\w /-]{2,50}?)\s+(?:is"
    r"|are)\s+(?:hereby\s+)?defined\s+(?:here\s+)?as:?\s+(?P<text>[^\W\d]\w*\s)"
)
_ENTRY = re.compile(
    r"\s*(?:[-*•–]\s+)?(?:(?P<number>[A-Z]?\d{1,2}(?:\.\d{1,3}){1,4})\.?\s+)?"
    r"(?:\*\*(?P<bold>[^*\n]{1,80}?):?\*\*:?|__(?P<under>[^_\n]{2,80}?):?__:?|[“\"](?P<quoted>[^”\"\n]{2,80})[”\"]:?"
    r"|(?P<plain>[^\W_](?:[^\n:—–.;]|\.(?=\w)|;(?=\s\w)){0,70}?)"
    r"|(?P<symbol>[^\w\s•–—-][^\n:—–]{0,24}?(?=:\s|\s[—–-]\s|[ ]*\n)))"
    r"(?P<sep>(?(number)\.\s+(?=[A-Z])|(?!))|\s*:\s+|\s+(?:[—–-]\s+|[—–](?=[A-ZÀ-Þ]))|\s*\n|\s+(?=means\b)|(?<=\*)\s+|(?<=”)\s+)(?P<text>\S)"
)
_STOPPED = re.compile(r"(?P<term>[^\W\d_][^\n.:;—–]{1,70})\.\s+(?P<text>[A-ZÀ-Þ])")
"""A term and a full stop before its definition, as building codes print them in capitals, others in italics."""
_NUMBER_LINE = re.compile(
    r"\s*(?P<number>[A-Z]?\d{1,2}(?:\.\d{1,3}){1,4})\.?[^\S\n]*+\n\s*+(?P<term>[^\n]{2,80})\n\s*+(?P<text>\S)"
)
_ABBREVIATION = re.compile(
    r"[ \t]*(?:[-*•–][ \t]+)?[*_`]{0,2}(?P<term>(?=[^\s]*[A-Z])[A-Za-z0-9][A-Za-z0-9/&.+-]{0,14})[*_`]{0,2}"
    r"(?P<sep>[ \t]*[:=—–][ \t]*|[ \t]+-[ \t]+|\t+|[ \t]{2,}|[ \t])(?P<text>[^\s|][^\n]*)"
)
_TERM_HEADER = re.compile(
    r"(?:defined\s+)?(?:terms?|words?|acronyms?|abbreviations?|abbr\.?|initialisms?|expression|concept"
    r"|begriff|benennung|abkürzung|kürzel|terme|abréviation|sigle|término|abreviatura|sigla)"
    r"(?:\s*(?:/|or|and|und|et|y)\s*\w+)?",
    re.IGNORECASE,
)
_MEANING_HEADER = re.compile(
    r"(?:definitions?|meanings?|descriptions?|expansions?|explanations?|full (?:name|form)|stands for|spelled[- ]out.*"
    r"|bedeutung|erläuterung|erklärung|beschreibung|langform|définition|signification|definición|significado|descripción)"
    r"(?:\s*(?:/|or|and|und|et|y)\s*\w+)?",
    re.IGNORECASE,
)
_ELSEWHERE = re.compile(
    r"\s*(?:See\s+(?:Appendix|Annex|Section|Clause|Table|Figure|\d)|(?:[a-z1-9][.)]\s+)?For\s+the\s+purposes?\s+of\s)",
    re.IGNORECASE,
)
"""Openings of text that is not a meaning: a reference, or the sentence that introduces terms."""
_ABOUT_TERMS = re.compile(r"(?:(?:non-?|un)?defined\s+)?(?:terms?|words?)(?:\s+and\s+\w+)?", re.IGNORECASE)
"""Titles of clauses about terms: "Non-defined terms", "Words and phrases"."""
_PAIRED_TERM = re.compile(r"[^\W_][^\n.:;!?]{1,70}\Z")
_PAGES = re.compile(r",\s?\d{1,4}(?:[–-]\d{1,4})?\Z")
"""The end of an index entry."""
_TERM_GROUPS = ("bold", "under", "quoted", "plain", "symbol")
_LEAST_PAIRS = 3
_TERMS = frozenset({SectionRole.DEFINITIONS, SectionRole.ABBREVIATIONS})
_LONGEST_TERM = 12
_SYNONYM = 5
"""Maximum words of each of several terms in a row; longer ones are parts of a sentence."""
_HEAD_WORDS = 5
"""Maximum words in the header of a table's second column."""
_GLOSSARY = 15
"""Minimum sections below a terms section for all of them to be entries, without a check of their first words."""
_DISCUSSION = "discussion"
"""Title of a clause of remarks below an entry, as ASTM prints them; it does not make the entry a group of entries."""
_GENERIC = frozenset(
    "general introduction overview scope purpose terms definitions abbreviations acronyms symbols note notes"
    " example examples"
    " description rationale discussion summary references conventions background requirements".split()
)


def find_definitions(document: Document, *, facts: SectionFacts | None = None) -> list[Definition]:
    """List the definitions of a document, in order of their offsets.

    In terms clauses: entries with their own heading ("3.1.4 term", or the term on the next line), "term: definition",
    "**Term** …", "Term — …", with the notes, examples and source that follow. In abbreviation clauses: "API application
    programming interface", one per line. In glossary tables: rows below a header that names term and meaning.
    Everywhere: sentences of the form “X” means … and X is defined as ….
    """
    facts = facts or SectionFacts(document)
    finder = _Finder(document, facts)
    found = [one for one in finder.run() if one.term and is_meaning(one.text)]
    return with_abbreviations(without_pointers(sorted(found, key=lambda one: one.span)))


class _Finder:
    def __init__(self, document: Document, facts: SectionFacts) -> None:
        self.document = document
        self.text = document.text
        self.facts = facts
        self._below = Counter(each.parent for each in document.sections if each.title.lower() != _DISCUSSION)
        self._numbered = Counter(section.parent for section in document.sections if section.number is not None)

    def run(self) -> Iterator[Definition]:
        by_section: dict[int | None, list[Block]] = {}
        for block in self.document.blocks:
            by_section.setdefault(block.section, []).append(block)
        for section, blocks in by_section.items():
            role = self.facts.role(section)
            entry = self._headed_entry(section, blocks) if role is SectionRole.DEFINITIONS else None
            if entry is not None:
                yield entry
                continue
            printed = self._numbered_paragraphs(blocks) if role is SectionRole.DEFINITIONS else []
            if printed:
                yield from printed
                continue
            spelled = role in _TERMS and self._spells_out(blocks)
            pairs = spelled or (role is SectionRole.DEFINITIONS and self._alternates(blocks))
            stopped = role is SectionRole.DEFINITIONS and self._are_stopped(blocks)
            taken = -1
            for position, block in enumerate(check_each(blocks)):
                after = blocks[position + 1] if position + 1 < len(blocks) else None
                may_pair = position > taken and (spelled or role is SectionRole.DEFINITIONS)
                pair = self._pair(block, after, pairs, spelled=spelled) if may_pair else None
                if pair is not None:
                    taken = position + 1
                    yield with_notes(pair, self._behind(blocks, position + 2))
                elif position > taken:
                    items = self._items(blocks, position)
                    until = items[-1].span.end if items else block.span.end
                    found = list(self._block(block, role, stopped, until))
                    if found and found[-1].span.end == until:
                        taken = position + len(items)
                    if role is SectionRole.DEFINITIONS and len(found) == 1 and block.kind in PROSE_KINDS:
                        found = [with_notes(found[0], self._behind(blocks, position + 1 + len(items)))]
                    yield from found

    def _items(self, blocks: Sequence[Block], position: int) -> list[Block]:
        """List the items that complete an unfinished paragraph: "a unit that is", "one of the following:"."""
        words = blocks[position].span.of(self.text).rstrip()
        is_open = words[-1:].isalnum() or words.endswith(_OPEN_ENDS)
        if blocks[position].kind is not BlockKind.PARAGRAPH or not is_open:
            return []
        items = list(takewhile(self._is_item, blocks[position + 1 :]))
        return [] if any(self._entry(each, each.span.end) for each in items) else items

    def _behind(self, blocks: Sequence[Block], start: int) -> list[str]:
        """List the notes, examples and source that follow an entry, up to the first other block."""
        behind: list[str] = []
        for place in range(start, len(blocks)):
            words = blocks[place].span.of(self.text)
            if blocks[place].kind not in NOTE_KINDS and not is_origin(words[:40]):
                break
            behind.append(words)
        return behind

    def _is_item(self, block: Block) -> bool:
        """Return whether a block is an item of a list; word processors have typed markers in plain paragraphs."""
        opening = opening_of(block.span.of(self.text)) if block.kind is BlockKind.PARAGRAPH else None
        return block.kind is BlockKind.LIST_ITEM or (opening is not None and opening.kind is BlockKind.LIST_ITEM)

    def _headed_entry(self, section: int | None, blocks: list[Block]) -> Definition | None:
        """Read "3.1.4 term" as a heading with the definition below it; None if the section is not an entry."""
        if section is None or section in self._below:
            return None
        node = self.document.sections[section]
        body = [block for block in blocks if block.kind is not BlockKind.HEADING]
        if node.parent is None or self.facts.role(node.parent) is not SectionRole.DEFINITIONS:
            return None
        inline = ": " in node.title and (not body or body[0].kind in NOTE_KINDS)
        is_prose = body and body[0].kind in PROSE_KINDS and not _ELSEWHERE.match(body[0].span.of(self.text))
        if not (inline or is_prose) or self._hold_entries(node.title, body):
            return None
        begin, end = node.heading.start, max(node.heading.end, body[-1].span.end if body else 0)
        printed = entry_number(node.heading.of(self.text))
        if printed is not None:
            return self._printed_entry(printed, body, begin)
        numbered = self._numbers_entries(node.parent)
        title = (node.title if numbered else node.label).strip().strip("*_")
        rest = ""
        if ": " in title:
            title, _, rest = title.partition(": ")
        if title.lower() in _GENERIC or title.endswith(".") or _ABOUT_TERMS.fullmatch(title):
            return None
        if not rest and numbered and node.number is not None:
            made = self._printed_entry(node.number, body, begin, title)
            sure = self._is_glossary(node.parent) or node.heading.of(self.text).endswith(":")
            sure = sure or (made is not None and is_defining(made.term, made.text))
            return made if made is not None and sure and len(title.split()) <= _LONGEST_TERM else None
        if not rest and self._has_names(title, body):
            return self._printed_entry(self.facts.clause_number(section) or "", body, begin, title)
        number = node.number if numbered else self.facts.clause_number(node.parent)
        return self._plain_entry(title, rest, body, Span(begin, end), number, is_sure=self._is_glossary(node.parent))

    def _plain_entry(
        self, title: str, rest: str, body: Sequence[Block], span: Span, number: str | None, *, is_sure: bool
    ) -> Definition | None:
        """Read a term with all the text below it, which must define it unless the section is surely a glossary."""
        leading = list(takewhile(lambda block: block.kind in PROSE_KINDS, body))
        words = "\n".join(filter(None, (rest, *(block.span.of(self.text) for block in leading))))
        if not title:
            title, _, words = words.partition("\n")
        if len(title.split()) > _LONGEST_TERM or not (is_sure or is_defining(title, words)):
            return None
        behind = ((block.kind, block.span.of(self.text)) for block in body[len(leading) :])
        notes = [text for kind, text in behind if kind in NOTE_KINDS or is_origin(text)]
        return with_notes(make_definition(title, words, span, number), notes)

    def _has_names(self, title: str, body: Sequence[Block]) -> bool:
        """Return whether further terms are between a heading and its definition, which begins in lower case."""
        entry = read_entry([(block.kind, block.span.of(self.text)) for block in body], title)
        if entry is None or len(entry.names) < 2:
            return False
        words = entry.words.partition("\n")[2] if entry.words.startswith("<") else entry.words
        return words[:1].islower()

    def _hold_entries(self, title: str, body: Sequence[Block]) -> bool:
        """Return whether a heading is no term: several entries are below it, or it is an identifier and one is."""
        paragraphs = [block for block in body if block.kind is BlockKind.PARAGRAPH]
        fewest = 1 if heading_identifier(title) == title else 2
        return len(paragraphs) >= fewest and all(self._entry(block, block.span.end) is not None for block in paragraphs)

    def _printed_entry(self, number: str, body: Sequence[Block], begin: int, first: str = "") -> Definition | None:
        """Read the blocks below an entry's number, or below its number and first term, as terms clauses print them."""
        entry = read_entry([(block.kind, block.span.of(self.text)) for block in body], first)
        if entry is None:
            return None
        span = Span(begin, body[entry.count - 1].span.end)
        made = make_definition(entry.names[0], entry.words, span, number)
        return with_notes(with_names(made, entry.names[1:]), entry.behind)

    def _numbered_paragraphs(self, blocks: Sequence[Block]) -> list[Definition]:
        """Read entries whose numbers are separate paragraphs, in formats without headings of that kind."""
        starts = [
            place
            for place, block in enumerate(blocks)
            if block.kind is BlockKind.PARAGRAPH and entry_number(block.span.of(self.text)) is not None
        ]
        found: list[Definition] = []
        for start, stop in zip(starts, [*starts, len(blocks)][1:], strict=True):
            number = entry_number(blocks[start].span.of(self.text)) or ""
            made = self._printed_entry(number, blocks[start + 1 : stop], blocks[start].span.start)
            found += [made] if made is not None else []
        return found

    def _numbers_entries(self, parent: int) -> bool:
        """Return whether the entries below a section are numbered; if not, "X.509 certificate" is a whole term."""
        return self._numbered[parent] * 2 >= self._below[parent]

    def _is_glossary(self, parent: int) -> bool:
        """Return whether the sections below a section are certainly entries, because there are many."""
        return self._below[parent] >= _GLOSSARY

    def _alternates(self, blocks: list[Block]) -> bool:
        """Return whether a section always puts each term in its own paragraph above its definition, which may list."""
        apart = {BlockKind.HEADING, BlockKind.LIST_ITEM}
        prose = [block.span.of(self.text) for block in blocks if block.kind not in apart]
        heads = [i for i, words in enumerate(prose) if _stands_alone(words)]
        pairs = [i for i in heads if i + 1 < len(prose) and not _stands_alone(prose[i + 1])]
        return len(pairs) >= _LEAST_PAIRS and len(pairs) * 4 >= len(heads) * 3 and len(pairs) * 3 >= len(prose)

    def _spells_out(self, blocks: Sequence[Block]) -> bool:
        """Return whether paragraphs are abbreviations and what they stand for in turn, as in columns without lines."""
        prose = [block.span.of(self.text) for block in blocks if block.kind is BlockKind.PARAGRAPH]
        short = [place for place, words in enumerate(prose[:-1]) if _is_short(words)]
        fit = [place for place in short if expansion_fits(prose[place], prose[place + 1])]
        return len(fit) >= _LEAST_PAIRS and len(fit) * 4 >= len(short) * 3 and len(fit) * 8 >= len(prose) * 3

    def _pair(self, block: Block, after: Block | None, alternates: bool, *, spelled: bool = False) -> Definition | None:
        """Read a term in its own paragraph with the definition in the next.

        The definition must start in lower case, unless the section prints all its terms this way; `spelled` says that
        these are abbreviations.
        """
        if after is None or block.kind is not BlockKind.PARAGRAPH or after.kind is not BlockKind.PARAGRAPH:
            return None
        term, words = block.span.of(self.text), after.span.of(self.text)
        if spelled:
            fits = expansion_fits(term, words)
            if not _is_short(term) or (_is_short(words) and not fits):
                return None
            span = Span(block.span.start, after.span.end)
            return make_definition(term, words, span, self.facts.clause_number(block.section), expansion=fits)
        if alternates:
            if not _stands_alone(term) or (_stands_alone(words) and not _says_what(words)):
                return None
        elif (
            not _PAIRED_TERM.match(term)
            or not _is_term(term, False)
            or not words[:1].islower()
            or len(words.split()) < 3
            or expansion_fits(*term.partition(" ")[::2])
        ):
            return None
        span = Span(block.span.start, after.span.end)
        return make_definition(term, words, span, self.facts.clause_number(block.section))

    def _block(self, block: Block, role: SectionRole, stopped: bool, until: int) -> Iterator[Definition]:
        """Read the entries of a block; an unfinished one ends at `until`."""
        if block.kind is BlockKind.TABLE:
            yield from self._table(block, role)
        elif role is SectionRole.ABBREVIATIONS and block.kind in PROSE_KINDS:
            yield from self._abbreviations(block)
        elif block.kind in PROSE_KINDS:
            if role is SectionRole.DEFINITIONS:
                entry = self._entry(block, until) or (self._stopped(block) if stopped else None)
                if entry is not None:
                    yield entry
                    return
                lines = list(self._abbreviations(block, sure=True))
                if lines:
                    yield from lines
                    return
            yield from self._sentences(block, until)

    def _entry(self, block: Block, end: int) -> Definition | None:
        """Read one paragraph or list item of a terms clause as an entry that ends at `end`."""
        start = block.span.start
        numbered = _NUMBER_LINE.match(self.text, start, end)
        if numbered is not None:
            words = self.text[numbered.start("text") : end]
            return make_definition(numbered.group("term"), words, Span(start, end), numbered.group("number"))
        match = _ENTRY.match(self.text, start, end)
        if match is None:
            return None
        term = next(match.group(name) for name in _TERM_GROUPS if match.group(name))
        marked = match.group("plain") is None
        if not _is_term(term, marked) or (not marked and not self._opens_entry(match, term)):
            return None
        number = match.group("number") or self.facts.clause_number(block.section)
        words = re.sub(r"^means(?:\s+|\s?[:—–]\s*)", "", self.text[match.start("text") : end])
        return make_definition(term, words, Span(start, end), number)

    def _are_stopped(self, blocks: Sequence[Block]) -> bool:
        """Return whether a section puts a full stop between each term and its definition."""
        prose = [block for block in blocks if block.kind in PROSE_KINDS]
        found = [each for each in map(self._stopped, prose) if each is not None]
        return len(found) >= _LEAST_PAIRS and len(found) * 4 >= len(prose) * 3

    def _stopped(self, block: Block) -> Definition | None:
        match = _STOPPED.match(self.text, block.span.start, block.span.end)
        if match is None or not _is_term(match["term"], False) or len(match["term"].split()) > _SYNONYM:
            return None
        words = self.text[match.start("text") : block.span.end]
        if len(words.split()) < _LEAST_PAIRS or not is_defining(match["term"], words):
            return None
        return make_definition(match["term"], words, block.span, self.facts.clause_number(block.section))

    def _opens_entry(self, match: re.Match[str], term: str) -> bool:
        """Return whether an unmarked term is one: a definition follows its separator, not the rest of a sentence."""
        separator = match.group("sep")
        if ";" in term and (":" not in separator or any(len(part.split()) > _SYNONYM for part in term.split(";"))):
            return False
        if separator.startswith(".") or ":" in separator or "—" in separator or "–" in separator or "-" in separator:
            return True
        if "\n" in separator:
            most = 8 if self.text[match.start("text")].isupper() else 4
            return match.group("number") is not None or (len(term.split()) <= most and not term.rstrip().endswith(","))
        return separator.strip() == "" and self.text.startswith("means", match.start("text"))

    def _abbreviations(self, block: Block, *, sure: bool = False) -> Iterator[Definition]:
        """Read lines of abbreviation and expansion; after a single blank, or with `sure`, the initials must agree."""
        position = block.span.start
        number = self.facts.clause_number(block.section)
        for line in block.span.of(self.text).split("\n"):
            match = _ABBREVIATION.match(line)
            if match is not None:
                term, words = match.group("term"), match.group("text").strip()
                fits = expansion_fits(term, words) and (len(words.split()) <= 10 or not (sure or match["sep"] == " "))
                if fits or (not sure and match.group("sep") != " " and _is_abbreviation(term)):
                    span = Span(position + len(line) - len(line.lstrip()), position + len(line.rstrip()))
                    yield make_definition(term, words, span, number, expansion=fits or not sure)
            position += len(line) + 1

    def _table(self, block: Block, role: SectionRole) -> Iterator[Definition]:
        lines = block.span.of(self.text).split("\n")
        header = [cell.strip("*_") for cell in cell_texts(lines[0])]
        columns = _glossary_columns(header)
        headed = columns is not None
        if columns is None:
            if role not in {SectionRole.DEFINITIONS, SectionRole.ABBREVIATIONS} or len(header) != 2:
                return
            columns = (0, 1)
        number = self.facts.clause_number(block.section)
        position = block.span.start
        for row, line in enumerate(check_each(lines)):
            cells = cell_texts(line)
            if line.strip(" |:-") and len(cells) > max(columns):
                term, words = cells[columns[0]], cells[columns[1]]
                fits = expansion_fits(term.strip("*_`"), words)
                spells = fits or (role is SectionRole.ABBREVIATIONS and _is_abbreviation(term.strip("*_`")))
                entry = row > 0 or fits or (not headed and _is_row(term, words))
                if words and _is_term(term.strip("*_`"), True) and entry:
                    span = Span(position + len(line) - len(line.lstrip()), position + len(line.rstrip()))
                    yield make_definition(term, words, span, number, expansion=spells)
            position += len(line) + 1

    def _sentences(self, block: Block, until: int) -> Iterator[Definition]:
        """Find defining sentences in running text; an unfinished one ends at `until`."""
        words = block.span.of(self.text)
        if not re.search(
            r"\b(?:means|refers|denotes|defined|mean|stands|bezeichnet|bedeutet|désigne|signifie|entend|significa|designa|refiere)\b",
            words,
        ):
            return
        number = self.facts.clause_number(block.section)
        for span in sentence_spans(self.text, block.span.start, block.span.end):
            end = until if span.end == block.span.end else span.end
            match = _MEANS.match(self.text, span.start, end)
            if match is not None:
                term = next(match[name] for name in _QUOTED_GROUPS if match[name])
            else:
                match = _DEFINED_AS.match(self.text, span.start, end)
                term = match.group("plain") if match is not None else ""
            if match is not None and _is_term(term, True) and len(term.split()) <= 6:
                yield make_definition(term, self.text[match.start("text") : end], Span(span.start, end), number)


def _stands_alone(words: str) -> bool:
    """Return whether a paragraph may be just a term: short, on one line, not a sentence."""
    words = words.strip()
    short = 0 < len(words) <= 80 and "\n" not in words and len(words.split()) <= 8
    return short and words[-1] not in ".:;,!?" and _PAGES.search(words) is None


def _says_what(words: str) -> bool:
    """Return whether a short text is a definition, not a term: lower case with a clause or many words, or a pointer."""
    return pointed_at(words) is not None or (
        words[:1].islower() and (len(words.split()) > _SYNONYM or looks_like_sentence(words))
    )


def _glossary_columns(header: list[str]) -> tuple[int, int] | None:
    term = next((i for i, cell in enumerate(header) if _TERM_HEADER.fullmatch(cell)), None)
    meaning = next((i for i, cell in enumerate(header) if _MEANING_HEADER.fullmatch(cell)), None)
    return None if term is None or meaning is None or term >= meaning else (term, meaning)


def _is_row(term: str, words: str) -> bool:
    """Return whether a table's first row is an entry, not a header with unusual column names."""
    return words[:1].islower() or len(words.split()) > _HEAD_WORDS or _is_abbreviation(term.strip("*_`"))


def _is_abbreviation(term: str) -> bool:
    return sum(1 for letter in term if letter.isupper()) >= 2 or (len(term) <= 3 and term[:1].isupper())


def _is_short(words: str) -> bool:
    """Return whether a paragraph is an abbreviation alone."""
    return len(words.split()) == 1 and _is_abbreviation(words)


def _is_term(term: str, marked: bool) -> bool:
    words = split_term(term)[0].split()
    if not words or len(words) > (9 if marked else 7) or " ".join(words).lower().strip(":.") in _GENERIC:
        return False
    return (
        not re.match(r"(?:for|in|if|when|see|this|these|the following|note|it|they|as|to|other)\b", term, re.IGNORECASE)
        or marked
    )
