"""Child process: AsciiDoc as used for specifications, line by line; nothing is included, executed or fetched.

Supported are the header with its attributes, sections (numbered if the file says so, appendices by letter), block
titles, anchors, delimited blocks, admonitions, lists with continuations, description lists and tables with spans.
Unknown macros are kept as they are written.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Generator, Iterator, Mapping, Sequence
from typing import Any

from knowledge_mcp.language.openings import ADMONITIONS
from knowledge_mcp.model.document import BlockKind
from knowledge_mcp.readers.markup.asciidoc.entries import printed_entry
from knowledge_mcp.readers.markup.asciidoc.inline import ATTRIBUTES, Inline, Marks, captioned, words_of_image
from knowledge_mcp.readers.markup.asciidoc.names import ANCHOR, auto_name, ids_in
from knowledge_mcp.readers.markup.asciidoc.tables import table_of, without_nested
from knowledge_mcp.readers.shared.containers import check_depth
from knowledge_mcp.readers.shared.numbering import FORM_NAMES, counted, whole_number
from knowledge_mcp.readers.shared.pieces import (
    Piece,
    at_lines,
    facts,
    heading,
    messages,
    piece,
    rich_piece,
    with_anchors,
)
from knowledge_mcp.readers.shared.richtext import RichText
from knowledge_mcp.readers.shared.text import nonblank_text_of
from knowledge_mcp.support.wording import list_first

_EXPECTED = "an AsciiDoc file"
_MOST_BYTES = 16_000_000
_MOST_DEPTH = 20
"""Deepest nesting of blocks; deeper ones are refused."""
_MOST_LISTED = 5

_SECTION = re.compile(r"(?P<marks>={1,6}|#{1,6})[ \t]+(?P<title>\S.*)")
_ATTRIBUTE = re.compile(r":(?P<off>!?)(?P<name>\w[\w-]{0,60})!?:(?:[ \t]+(?P<value>.*))?")
_BLOCK_TITLE = re.compile(r"\.(?P<title>[^\s.].{0,500})")
_DELIMITER = re.compile(r"(?:-{4,}|\.{4,}|={4,}|\*{4,}|_{4,}|\+{4,}|/{4,}|--|[|,:!]={3,}|`{3,}[\w+-]{0,40})")
_DIRECTIVE = re.compile(
    r"(?P<name>include|ifdef|ifndef|ifeval|endif)::(?P<target>[^\[]{0,500})\[(?P<inside>.{0,500})\]"
)
_MACRO = re.compile(r"(?P<name>image|video|audio|toc|plantuml)::(?P<target>[^\[]{0,1000})\[(?P<inside>.{0,1000})\]")
_ITEM = re.compile(r"[ \t]{0,200}(?P<marks>\*{1,5}|-|\.{1,5}|\d{1,6}\.|[a-zA-Z]\.|<[\d.]{1,5}>)[ \t]+(?P<words>\S.*)")
_TERM = re.compile(
    r"[ \t]{0,200}(?P<term>[^\s:;][^\n]{0,500}?)(?P<marks>:{2,4}|;;)(?:[ \t]+(?P<words>\S.*))?[ \t]{0,200}"
)
_ADMONITION = re.compile(r"(?P<label>NOTE|TIP|IMPORTANT|WARNING|CAUTION):[ \t]+(?P<words>\S.*)")
_UNDERLINES = {"=": 0, "-": 1, "~": 2, "^": 3, "+": 4}
_UNDERLINE = re.compile(r"(?:={4,}|-{4,}|~{4,}|\^{4,}|\+{4,})")
_RULES = frozenset({"'''", "***", "---", "* * *", "- - -", "<<<"})
_REVISION = re.compile(r"v?(?P<version>\d[\w.-]{0,30})?,?[ \t]{0,5}(?P<date>\d{4}-\d{2}-\d{2})?(?::.{0,200})?")
_VARIANTS = "Its conditions (such as ifdef) were not evaluated: every variant is read."
_BULLET = "•"


def asciidoc(path: str, *, check: bool) -> Iterator[dict[str, Any]]:
    """Yield the messages of an AsciiDoc file.

    Raises:
        Refusal: it is not text, or is empty, too large or nested too deeply.
    """
    text, warning = nonblank_text_of(path, _EXPECTED, most=_MOST_BYTES)
    if not check:
        yield from messages(_Walk(text, warning).pieces())


class _Line(str):
    """A line that keeps its number in the file, from 1, wherever it is passed on."""

    __slots__ = ("number",)
    number: int


def _numbered(lines: Sequence[str]) -> list[str]:
    found = [_Line(line) for line in lines]
    for number, line in enumerate(found, 1):
        line.number = number
    return [*found]


def _at(written: Piece, lines: Sequence[str]) -> Piece:
    """Add the lines of the file to a piece."""
    numbers = [line.number for line in lines if isinstance(line, _Line) and line.strip()]
    return at_lines(written, numbers[0], numbers[-1]) if numbers else written


class _Walk:
    """Walk over the lines of a file; used once."""

    def __init__(self, text: str, warning: str) -> None:
        self._lines = _numbered(text.expandtabs(4).splitlines())
        self._inline = Inline()
        self._title = ""
        self._metadata: dict[str, str] = {}
        self._warnings = [warning] if warning else []
        self._unread: list[str] = []
        self._counters: list[int] = []
        self._appendix = 0
        self._captions: Counter[str] = Counter()
        self._inline.titles, self._inline.attributes = dict(self._titles()), {}  # without the counters of titles

    def pieces(self) -> Iterator[Piece]:
        """Write the whole file."""
        yield from self._block_list(self._header(), depth=0)
        if self._unread:
            self._warnings.append(f"The files that it includes are not read: {list_first(self._unread, _MOST_LISTED)}.")
        yield facts(title=self._title[:300], metadata=self._metadata, warnings=self._warnings)

    def _titles(self) -> Iterator[tuple[str, str]]:
        """Yield the titles of the sections by their names, which references without text show."""
        names: list[str] = []
        for line in self._lines:
            self._inline.take_cited(line)
            if found := ANCHOR.fullmatch(line.strip()):
                names.append(found["id"].strip())
            elif (found := ATTRIBUTES.fullmatch(line.strip())) is not None:
                marks = Marks()
                marks.take(found["inside"])
                names += marks.names
            elif (found := _SECTION.fullmatch(line)) is not None:
                title = self._inline.plain(found["title"])
                yield from ((name, title) for name in (*names, auto_name(title), title))
                names = []
            elif line.strip():
                names = []

    def _header(self) -> list[str]:
        """Read title, author, revision and attributes; return the lines after them."""
        lines = self._lines
        at = 0
        while at < len(lines) and (not lines[at].strip() or lines[at].startswith("//")):
            at += 1
        found = _SECTION.fullmatch(lines[at]) if at < len(lines) else None
        if found is None or len(found["marks"]) != 1:
            return lines
        self._title = self._inline.plain(found["title"])
        first = at
        at += 1
        plain = 0
        while at < len(lines) and lines[at].strip():
            line = lines[at]
            if (attribute := _ATTRIBUTE.fullmatch(line)) is not None:
                self._set(attribute)
            elif not line.startswith("//"):
                plain += 1
                if plain == 1 and not _REVISION.fullmatch(line.strip()):
                    self._metadata["author"] = " ".join(re.sub(r"<[^>]{0,200}>", "", line).split())[:400]
                elif (revision := _REVISION.fullmatch(line.strip())) is not None:
                    self._metadata |= {key: value for key, value in revision.groupdict().items() if value}
                else:
                    break  # the header has ended: this is text
            at += 1
        return [lines[first], "", *lines[at:]]

    def _set(self, attribute: re.Match[str]) -> None:
        name, value = attribute["name"].lower(), (attribute["value"] or "").strip()
        if attribute["off"] or attribute.group().rstrip().endswith("!:"):
            self._inline.attributes.pop(name, None)
            if name.endswith("-caption"):
                self._inline.attributes[name] = ""
            return
        self._inline.attributes[name] = value
        key = {"revnumber": "version", "revdate": "date", "author": "author", "doctype": ""}.get(name, "")
        if name in {"document_id", "document_type", "docnumber", "edition"}:
            key = name
        if key and value:
            self._metadata[key] = self._inline.plain(value)[:400]

    # ---- blocks

    def _block_list(self, lines: Sequence[str], *, depth: int) -> Iterator[Piece]:
        check_depth(depth, _MOST_DEPTH, "blocks are")
        at, marks = 0, Marks()
        while at < len(lines):
            line = lines[at]
            stripped = line.strip()
            if not stripped or stripped in _RULES or (stripped.startswith("//") and not stripped.startswith("////")):
                at += 1
                continue
            if self._is_mark(stripped, marks):
                at += 1
                continue
            found, marks_now, marks = line, marks, Marks()
            if (section := _SECTION.fullmatch(found)) is not None:
                yield _at(self._section(section["title"], len(section["marks"]) - 1, marks_now), [line])
                at += 1
                continue
            under = lines[at + 1].rstrip() if at + 1 < len(lines) else ""
            if _is_underlined(stripped, under):
                yield _at(self._section(stripped, _UNDERLINES[under[0]], marks_now), [line])
                at += 2
                continue
            at += yield from self._block(lines, at, marks_now, depth)

    def _is_mark(self, line: str, marks: Marks) -> bool:
        """Read a line of attributes, an anchor, a title or a directive; return False for any other line."""
        if (attribute := _ATTRIBUTE.fullmatch(line)) is not None:
            self._set(attribute)
        elif (anchor := ANCHOR.fullmatch(line)) is not None:
            marks.names.append(anchor["id"].strip())
        elif (attributes := ATTRIBUTES.fullmatch(line)) is not None:
            marks.take(attributes["inside"])
        elif (title := _BLOCK_TITLE.fullmatch(line)) is not None and not _DELIMITER.fullmatch(line):
            marks.title = title["title"]
        elif (directive := _DIRECTIVE.fullmatch(line)) is not None:
            if directive["name"] == "include":
                self._unread.append(directive["target"])
            elif directive["name"] != "endif" and _VARIANTS not in self._warnings:
                self._warnings.append(_VARIANTS)
        else:
            return False
        return True

    def _section(self, title: str, level: int, marks: Marks) -> Piece:
        words = self._inline.rich(title)
        plain = " ".join(words.text.split())
        level = max(level, 0) if self._title or not level else level
        if level == 0 and plain == self._title:
            return with_anchors(heading(plain, 1), marks.names)
        number = self._number(level, marks.style)
        shown = f"{number} {plain}" if number else plain
        return with_anchors(
            heading(shown, level + 1 if self._title else max(level, 1)), [*marks.names, auto_name(plain)]
        )

    def _number(self, level: int, style: str) -> str:
        """Return a section's number if the file numbers its sections; appendices always have one."""
        if style == "appendix":
            self._appendix += 1
            self._counters = [-self._appendix]
            label = self._inline.attributes.get("appendix-caption", "Appendix")
            return f"{label} {chr(64 + min(self._appendix, 26))}".strip()
        is_numbered = "sectnums" in self._inline.attributes or "numbered" in self._inline.attributes
        deepest = self._inline.attributes.get("sectnumlevels", "3")
        if not is_numbered or not 1 <= level <= (int(deepest) if deepest.isdecimal() and len(deepest) < 3 else 3):
            return ""
        if style in {"abstract", "preface", "dedication", "colophon", "glossary", "bibliography", "index", "discrete"}:
            return ""
        known = [] if level == 1 and self._counters and self._counters[0] < 0 else self._counters[:level]
        self._counters = [*known, *[0] * (level - len(known))]
        self._counters[level - 1] += 1
        first, *others = self._counters
        return ".".join([chr(64 + min(-first, 26)) if first < 0 else str(first), *map(str, others)])

    def _block(self, lines: Sequence[str], at: int, marks: Marks, depth: int) -> Generator[Piece, None, int]:
        """Write one block; return its number of lines."""
        line = lines[at].strip()
        if marks.title:
            yield with_anchors(self._caption(captioned(line, marks), marks.title, marks.attributes), marks.names)
            marks.names = []
        if _DELIMITER.fullmatch(line):
            end = next((k for k in range(at + 1, len(lines)) if lines[k].rstrip() == _closing(line)), len(lines))
            yield from self._delimited(line, lines[at + 1 : end], marks, depth)
            return end + 1 - at
        if (macro := _MACRO.fullmatch(line)) is not None:
            if macro["name"] == "image":
                yield from self._image(macro["inside"], lines[at], marks)
            return 1
        if _ITEM.fullmatch(lines[at]) or (_TERM.fullmatch(lines[at]) and not lines[at].startswith(("http", "|"))):
            return (yield from self._list(lines, at, marks, depth))
        end = at + 1
        while end < len(lines) and _continues(lines[end]):
            end += 1
        yield from self._paragraph(lines[at:end], marks)
        return end - at

    def _caption(self, kind: str, title: str, attributes: Mapping[str, str]) -> Piece:
        """Write the title of a block with the label and number that are printed before it: "Table 1. Limits"."""
        label = self._inline.attributes.get(f"{kind}-caption", kind.capitalize()) if kind else ""
        own = attributes.get("caption")
        if label and own is None:
            self._captions[kind] += 1
            label = f"{label} {self._captions[kind]}"
        elif own is not None:
            label = own.strip(' ".')
        rich = RichText(f"{label}. " if label else "")
        rich.extend(self._inline.rich(title))
        return rich_piece(BlockKind.CAPTION, rich, marker=label)

    def _image(self, inside: str, line: str, marks: Marks) -> Iterator[Piece]:
        """Write the alternative text and the title of a picture."""
        for kind, words in zip((BlockKind.PARAGRAPH, BlockKind.CAPTION), words_of_image(inside), strict=True):
            if words:
                is_title = kind is BlockKind.CAPTION
                written = self._caption("figure", words, {}) if is_title else rich_piece(kind, self._inline.rich(words))
                yield _at(with_anchors(written, marks.names), [line])
                marks.names = []

    def _paragraph(self, lines: Sequence[str], marks: Marks) -> Iterator[Piece]:
        if lines[0].startswith(" ") or marks.style in {"source", "listing", "literal"}:
            yield _at(with_anchors(piece(BlockKind.CODE, "\n".join(lines)), marks.names), lines)
            return
        if printed := printed_entry(lines, marks.role):
            yield from (_at(rich_piece(BlockKind.PARAGRAPH, self._inline.rich(each)), [line]) for line, each in printed)
            return
        text = "\n".join(line.strip().removesuffix(" +") for line in lines)
        found = _ADMONITION.match(text)
        style = (found["label"] if found else marks.style).lower()
        if found:
            text = text[found.start("words") :]
        kind = BlockKind.QUOTE if marks.style in {"quote", "verse"} else BlockKind.PARAGRAPH
        written = self._labelled(kind, ADMONITIONS.get(style, "Example" if style == "example" else ""), text)
        yield _at(with_anchors(written, [*marks.names, *ids_in(text)]), lines)

    def _table(self, line: str, inside: Sequence[str], marks: Marks, depth: int) -> Iterator[Piece]:
        """Write a table, then the tables in its cells; a table with nothing but these is left out."""
        own, nested = without_nested(inside) if line[0] == "|" else (inside, [])
        written, *notes = table_of(line, own, marks.attributes, self._inline)
        if not nested or any(map(str.isalnum, written["text"])):
            yield _at(with_anchors(written, marks.names), own)
        for note in notes:
            yield _at(note, own)
        for each in nested:
            yield from self._block_list(each, depth=depth + 1)

    def _labelled(self, kind: BlockKind, label: str, text: str) -> Piece:
        rich = RichText(f"{label}: " if label else "")
        rich.extend(self._inline.rich(text))
        return rich_piece(kind, rich)

    def _delimited(self, line: str, inside: Sequence[str], marks: Marks, depth: int) -> Iterator[Piece]:
        mark, style = line[0] if line != "--" else "--", marks.style
        if mark == "/" or style == "comment" or "reviewer" in marks.attributes:  # a note to the authors
            return
        if line[1:2] == "=" and mark in {"|", ",", ":", "!"}:
            yield from self._table(line, inside, marks, depth)
        elif mark in {"-", ".", "`", "+"} or (mark == "--" and style in {"source", "listing", "literal"}):
            yield _at(with_anchors(piece(BlockKind.CODE, "\n".join(inside)), marks.names), inside)
        else:
            if marks.provision:
                yield piece(BlockKind.PARAGRAPH, f"Identifier: {marks.provision}")  # as it is printed
            label = ADMONITIONS.get(style.lower(), "")
            for place, each in enumerate(self._block_list(inside, depth=depth + 1)):
                if not place:
                    with_anchors(each, [*marks.names, *each.get("anchors", ())])
                    if label and each.get("kind") == BlockKind.PARAGRAPH:
                        _put_before(each, f"{label}: ")
                if mark == "_" and each.get("kind") == BlockKind.PARAGRAPH:
                    each["kind"] = BlockKind.QUOTE.value
                yield each

    # ---- lists

    def _list(self, lines: Sequence[str], at: int, marks: Marks, depth: int) -> Generator[Piece, None, int]:
        """Write a list to its end, each item with its attached blocks; return its number of lines."""
        start, levels, counts, forms = at, list[str](), dict[int, int](), dict[int, str]()
        while at < len(lines):
            item, term = _ITEM.fullmatch(lines[at]), None
            if item is None:
                term = _TERM.fullmatch(lines[at])
            if item is None and term is None:
                break
            found = item if item is not None else term
            assert found is not None
            key = _key_of(found["marks"])
            level = levels.index(key) if key in levels else len(levels)
            levels = [*levels[:level], key]
            counts = {k: v for k, v in counts.items() if k <= level}
            if level not in counts:
                forms[level] = FORM_NAMES.get(marks.style) or _form_of(found["marks"])
                first = marks.attributes.get("start", "")
                counts[level] = whole_number(first, 1) - 1
                marks.style, marks.attributes = "", {}
            counts[level] += 1
            begun = at
            words, at = self._words_of(lines, at, found["words"] or "")
            names, marks.names = marks.names, []
            if term is not None:
                described = with_anchors(self._described(term["term"], words), [*names, *ids_in(term["term"])])
                yield _at(described, lines[begun:at])
            else:
                item_piece = with_anchors(
                    self._item(found["marks"], counted(counts[level], forms[level]), words, level),
                    [*names, *ids_in(words)],
                )
                yield _at(item_piece, lines[begun:at])
            taken = yield from self._attached(lines, at, depth)
            at += taken
            following, ahead = at, Marks()
            while following < len(lines) and self._is_ahead(lines[following].strip(), ahead):
                following += 1
            upcoming = _upcoming(lines, following)
            is_nested = upcoming is not None and _key_of(upcoming["marks"]) not in levels
            if upcoming is not None and (is_nested or ahead == Marks()):
                at, marks = following, ahead
            elif following > at:
                break
        return max(at - start, 1)

    def _is_ahead(self, line: str, marks: Marks) -> bool:
        """Return whether a line is blank, or sets how a nested list is numbered."""
        return not line or (line.startswith("[") and self._is_mark(line, marks))

    def _words_of(self, lines: Sequence[str], at: int, words: str) -> tuple[str, int]:
        """Collect an item's lines; a term's definition may begin on a later line, after blank ones."""
        at += 1
        parts = [words] if words else []
        if not words:
            after = at
            while after < len(lines) and not lines[after].strip():
                after += 1
            if after < len(lines) and _continues(lines[after]) and not _starts_block(lines[after]):
                at = after
        while at < len(lines) and _continues(lines[at]) and not _starts_block(lines[at]) and lines[at].strip() != "+":
            parts.append(lines[at].strip().removesuffix(" +"))
            at += 1
        return "\n".join(parts), at

    def _attached(self, lines: Sequence[str], at: int, depth: int) -> Generator[Piece, None, int]:
        """Write the blocks that `+` attaches to an item; return their number of lines."""
        start = at
        while at < len(lines) and lines[at].strip() == "+":
            at += 1
            marks = Marks()
            while at < len(lines) and self._is_mark(lines[at].strip(), marks):
                at += 1
            if at >= len(lines) or not lines[at].strip():
                break
            taken = yield from self._block(lines, at, marks, depth + 1)
            at += taken
        return at - start

    def _item(self, mark: str, number: str, words: str, level: int) -> Piece:
        shown = _BULLET if mark[0] in "*-" else f"{number}." if mark[0] in ".<" else mark
        return rich_piece(BlockKind.LIST_ITEM, self._inline.rich(words), marker=shown, depth=level)

    def _described(self, term: str, words: str) -> Piece:
        rich = self._inline.rich(term)
        if words:
            rich.add(": ")
            rich.extend(self._inline.rich(words))
        return rich_piece(BlockKind.PARAGRAPH, rich)


def _closing(line: str) -> str:
    return "```" if line.startswith("```") else line


def _put_before(written: Piece, words: str) -> None:
    written["text"] = words + written["text"]
    written["links"] = [[start + len(words), end + len(words), to] for start, end, to in written.get("links", ())]


def _form_of(mark: str) -> str:
    """Return the form of a list's numbers by its mark: digits at the first level, then letters, then Roman numerals."""
    return "1aiAI"[min(len(mark), 5) - 1] if mark.startswith(".") else "1"


def _upcoming(lines: Sequence[str], at: int) -> re.Match[str] | None:
    return (_ITEM.fullmatch(lines[at]) or _TERM.fullmatch(lines[at])) if at < len(lines) else None


def _key_of(mark: str) -> str:
    """Return a key for the level of a list, by its mark."""
    return "1." if mark[0].isdigit() else "a." if mark[0].isalpha() else mark if mark[0] != "<" else "<1>"


def _is_underlined(title: str, under: str) -> bool:
    """Return whether it is a section in the older form: a title above a line of marks of nearly its length."""
    return bool(_UNDERLINE.fullmatch(under)) and abs(len(under) - len(title)) <= 1 and title[0].isalnum()


def _starts_block(line: str) -> bool:
    stripped = line.strip()
    return bool(
        _ITEM.fullmatch(line) or _TERM.fullmatch(line) or _DELIMITER.fullmatch(stripped) or _SECTION.fullmatch(line)
    )


def _continues(line: str) -> bool:
    """Return whether a line continues the paragraph above it."""
    stripped = line.strip()
    return not (
        not stripped
        or _DELIMITER.fullmatch(stripped)
        or ATTRIBUTES.fullmatch(stripped)
        or ANCHOR.fullmatch(stripped)
        or _DIRECTIVE.fullmatch(stripped)
        or stripped == "+"
    )
