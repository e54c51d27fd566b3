"""Child process: rich text (.rtf). It is written as a page, and read like one.

Kept are headings by outline level, printed numbers of lists, tables with merged cells, notes, raised and lowered signs.
Contents, headers and footers are left out; hidden and deleted text and comments are counted.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from knowledge_mcp.readers.html.walk import walk_html
from knowledge_mcp.readers.office.rtf.page import Edge, Look, Row, RtfPage, Runs
from knowledge_mcp.readers.office.rtf.tokens import ENTERED, SIGNS, SKIPPED, TOKEN, Fonts
from knowledge_mcp.readers.shared.containers import (
    MAX_MEMBER_BYTES,
    check_depth,
    corrupted,
    foreign,
    magic_of,
    mislabelled,
)
from knowledge_mcp.readers.shared.hidden import comments_left_out, nonblank_length, unaccepted_changes
from knowledge_mcp.readers.shared.layout import UNREAD
from knowledge_mcp.readers.shared.pieces import Piece, facts, hidden_piece, messages
from knowledge_mcp.support.sandbox_worker import Refusal

_EXPECTED, _MAGIC = "an RTF document", b"{\\rtf"
_MOST_DEPTH = 10_000
"""Most open groups; some programs forget to close them."""
_CONTENTS = re.compile(r"(?:toc|table of figures)\b", re.IGNORECASE)
_BODY_LEVEL = 9
_LOOKS = {
    "b": "bold",
    "v": "hidden",
    "strike": "struck",
    "striked": "struck",
    "deleted": "deleted",
    "revised": "inserted",
}
_PLACES = {"super": "sup", "sub": "sub", "nosupersub": ""}
_PROPERTIES = {"title": "title", "author": "author", "subject": "subject", "keywords": "keywords"}
_SURROGATES = re.compile("[\ud800-\udbff][\udc00-\udfff]|[\x00-\x08\x0b-\x1f\ud800-\udfff\ufffe\uffff]")
"""Halves of one character, and what is no character."""


def rtf(path: str, *, check: bool) -> Iterator[dict[str, Any]]:
    """Yield the messages of a rich text.

    Raises:
        Refusal: it is not rich text, or is damaged, empty or too large.
    """
    head = magic_of(path).removeprefix(b"\xef\xbb\xbf").lstrip()
    if not head.startswith(_MAGIC):
        what = foreign(head)
        raise mislabelled(_EXPECTED, what) if what else corrupted(_EXPECTED, "the file does not begin as rich text")
    if (size := Path(path).stat().st_size) > MAX_MEMBER_BYTES:
        raise Refusal("too_large", "The file is too large to be read.", details=f"{size} bytes", suggestion="Split it.")
    if not check:
        yield from messages(rtf_pieces(Path(path).read_bytes()))


def rtf_pieces(data: bytes) -> Iterator[Piece]:
    """Write the blocks of a rich text, then its properties and warnings.

    Raises:
        Refusal: it is damaged, or too large or nested too deeply.
    """
    walk = _Walk()
    walk.read(data.decode("latin-1"))
    yield from walk_html(walk.page.body)
    yield hidden_piece(walk.hidden)
    counts, warnings = walk.counts, list[str]()
    if counts["deleted"] or counts["inserted"]:
        warnings.append(unaccepted_changes(counts["inserted"], counts["deleted"]))
    if counts["annotation"]:
        warnings.append(comments_left_out(counts["annotation"]))
    if counts["pict"]:
        warnings.append("Text in images is not read.")
    if counts["moMath"]:
        warnings.append(f"Formulas are not read: {UNREAD} is shown instead.")
    yield facts(title=walk.properties.pop("title", ""), metadata=walk.properties, warnings=warnings)


@dataclass(frozen=True, slots=True)
class _Form:
    """The form of a paragraph: its style, its outline level, whether it is in a table, its level in a list."""

    style: int = 0
    level: int = _BODY_LEVEL
    in_table: bool = False
    list_level: int = 0


@dataclass(slots=True)
class _Group:
    """An open group: its kind, where its words go (None if nowhere), and the look, form and fallbacks in it."""

    kind: str
    runs: Runs | None
    look: Look = field(default_factory=Look)
    form: _Form = field(default_factory=_Form)
    fallbacks: int = 1
    is_starred: bool = False


@dataclass(slots=True)
class _Walk:
    """Read the tokens of a file; `page` is the result."""

    page: RtfPage = field(default_factory=RtfPage)
    hidden: Counter[str] = field(default_factory=Counter[str])
    counts: Counter[str] = field(default_factory=Counter[str])
    properties: dict[str, str] = field(default_factory=dict[str, str])
    _fonts: Fonts = field(default_factory=Fonts)
    _group: _Group = field(default_factory=lambda: _Group("text", []))
    _stack: list[_Group] = field(default_factory=list[_Group])
    _bytes: bytearray = field(default_factory=bytearray)
    _skip: int = 0
    _styles: dict[int, tuple[int, str]] = field(default_factory=dict[int, tuple[int, str]])
    _style: int = 0
    _label: str = ""
    _notes: list[tuple[str, Runs]] = field(default_factory=list[tuple[str, Runs]])
    _boxes: list[Runs] = field(default_factory=list[Runs])
    _edges: list[Edge] = field(default_factory=list[Edge])
    _merged: set[str] = field(default_factory=set[str])
    _is_head: bool = False
    _cell: list[Runs] = field(default_factory=list[Runs])
    _cells: list[list[Runs]] = field(default_factory=list[list[Runs]])
    _rows: list[Row] = field(default_factory=list[Row])

    def read(self, text: str) -> None:
        """Read the whole file."""
        at = 0
        while (found := TOKEN.match(text, at)) is not None:
            at = found.end()
            kind, words = found.lastgroup, found.group(found.lastgroup or 0)
            if kind == "text":
                self._take(words.encode("latin-1"))
            elif kind == "byte":
                self._take(bytes.fromhex(words))
            elif kind == "brace":
                self._flush()
                self._skip = 0
                self._open() if words == "{" else self._close()
            elif kind in {"word", "number"}:
                self._flush()
                word, number = found["word"], int(found["number"] or 1)
                at += max(number, 0) if word == "bin" else 0
                self._skip = 0 if word != "u" else self._skip
                self._word(word, number, stated=found["number"] is not None)
            elif kind == "sign":
                self._flush()
                self._sign(words)
            if at >= len(text):
                break
        self._flush()
        if self._stack:
            raise corrupted(_EXPECTED, "the file ends before its last group")
        self._end()
        self._end_table()

    # ---- words

    def _take(self, data: bytes) -> None:
        skipped = min(self._skip, len(data))
        self._skip -= skipped
        self._bytes += data[skipped:]

    def _flush(self) -> None:
        """Decode the bytes read so far."""
        if self._bytes:
            data, self._bytes = bytes(self._bytes), bytearray()
            if self._group.kind == "font":
                self._fonts.names[self._fonts.current] = data.decode("latin-1")
            elif self._group.runs is not None:
                self._add(self._fonts.decoded(data, self._group.look.font))

    def _add(self, words: str) -> None:
        group, look = self._group, self._group.look
        if group.runs is None:
            return
        for change in ("deleted", "inserted"):
            self.counts[change] += getattr(look, change) and not (group.runs and getattr(group.runs[-1][1], change))
        if look.reason is not None and not look.deleted:
            self.hidden[look.reason] += nonblank_length(words)
        elif look.deleted:
            group.runs.append(("", look))
        elif group.runs and group.runs[-1][1] == look and len(group.runs[-1][0]) < 2000:
            group.runs[-1] = (group.runs[-1][0] + words, look)
        else:
            group.runs.append((words, look))

    def _sign(self, sign: str) -> None:
        if sign == "*":
            self._group.is_starred = True
        elif sign in "\r\n":
            self._end()
        elif self._skip:
            self._skip -= 1
        elif sign in SIGNS:
            self._add(SIGNS[sign])

    # ---- groups

    def _open(self) -> None:
        check_depth(len(self._stack), _MOST_DEPTH, "groups are")
        outer = self._group
        self._stack.append(outer)
        self._group = replace(outer, is_starred=False)
        if outer.kind in {"stylesheet", "fonttbl"}:
            self._group.kind = "style" if outer.kind == "stylesheet" else "font"
            self._group.runs = [] if outer.kind == "stylesheet" else None
            self._group.form, self._style = _Form(), 0

    def _close(self) -> None:
        if not self._stack:
            return
        inner, self._group = self._group, self._stack.pop()
        if inner.kind == self._group.kind and inner.runs is self._group.runs:
            return
        words = _SURROGATES.sub(_joined, "".join(text for text, _ in inner.runs or ())).strip()
        if inner.kind == "style":
            self._styles[self._style] = (inner.form.level, words.rstrip(";"))
        elif inner.kind == "label" and self._group.kind != "label":
            self._label = words if any(map(str.isalnum, words)) else "•" if words else ""
        elif inner.kind == "note":
            self._notes.append((f"[^{self.counts['note']}]", inner.runs or []))
        elif inner.kind == "box":
            self._boxes.append(inner.runs or [])
        elif inner.kind in _PROPERTIES and words:
            self.properties[inner.kind] = " ".join(words.split())[:4000]

    def _begins(self, word: str) -> bool:
        """Return whether a word says what its group is; words of unknown groups go nowhere."""
        group = self._group
        if word in {"fonttbl", "stylesheet"}:
            group.kind, group.runs = word, None
        elif group.is_starred or word in SKIPPED or word in {"mmathPict"}:
            group.is_starred = False
            if word in ENTERED:
                return True
            if word == "moMath":
                self._add(UNREAD)
            if word in {"annotation", "moMath", "pict"} and group.runs is not None:
                self.counts[word] += 1
            group.kind, group.runs = word if word == "info" else "skipped", None
        elif self._stack and self._stack[-1].kind == "info" and word in _PROPERTIES:
            group.kind, group.runs = word, []
        elif group.runs is None:
            return word == "info"
        elif word in {"listtext", "pntext"}:
            group.kind, group.runs = "label", []
        elif word == "shptxt":
            group.kind, group.runs, group.form = "box", [], _Form()
        elif word == "footnote":
            self.counts["note"] += 1
            self._add(f"[^{self.counts['note']}]")
            group.kind, group.runs, group.look = "note", [], Look()
        else:
            return False
        return True

    def _word(self, word: str, number: int, *, stated: bool) -> None:
        group = self._group
        if self._begins(word):
            return
        if word == "u":
            self._add(chr(number % 0x10000))
            self._skip = group.fallbacks
        elif word == "uc":
            group.fallbacks = min(max(number, 0), 20)
        elif word in SIGNS:
            self._add(SIGNS[word])
        elif word in {"par", "sect"}:
            self._end()
        elif word in _LOOKS:
            group.look = replace(group.look, **{_LOOKS[word]: not stated or number != 0})
        elif word in _PLACES:
            group.look = replace(group.look, place=_PLACES[word] if number else "")
        elif word == "plain":
            group.look = Look()
        elif word in {"f", "fcharset"}:
            self._font(word, number)
        elif word in {"s", "outlinelevel", "intbl", "ilvl", "pard"}:
            self._formed(word, number)
        elif word in {"trowd", "trhdr", "clmrg", "clvmrg", "cellx", "cell", "row"} and group.runs is not None:
            self._tabular(word, number)
        else:
            self._fonts.take(word, number)

    def _font(self, word: str, number: int) -> None:
        if self._group.kind not in {"font", "fonttbl"}:
            self._group.look = replace(self._group.look, font=number)
        elif word == "f":
            self._fonts.current = number
        else:
            self._fonts.sets[self._fonts.current] = number

    # ---- paragraphs and tables

    def _formed(self, word: str, number: int) -> None:
        group = self._group
        if word == "pard":
            group.form = _Form()
        elif word == "s":
            self._style = number
            level = self._styles.get(number, (group.form.level, ""))[0]
            group.form = replace(group.form, style=number, level=level)
        elif word == "outlinelevel":
            group.form = replace(group.form, level=number)
        elif word == "ilvl":
            group.form = replace(group.form, list_level=number)
        else:
            group.form = replace(group.form, in_table=bool(number))

    def _end(self) -> None:
        """End the open paragraph."""
        group = self._group
        if group.runs is None:
            return
        if group.kind != "text":
            self._add("\n" if group.kind == "box" else " ")
            return
        form, runs = group.form, [(_SURROGATES.sub(_joined, words), look) for words, look in group.runs]
        group.runs.clear()
        label, self._label = self._label, ""
        if form.in_table:
            self._cell.append([(f"{label} ", Look()), *runs] if label else runs)
            return
        self._end_table()
        words = "".join(text for text, _ in runs)
        name = self._styles.get(form.style, (0, ""))[1]
        if words.strip() and not _CONTENTS.match(name):
            if name.lower() == "title":
                self.properties.setdefault("title", " ".join(words.split())[:300])
            if form.level < _BODY_LEVEL:
                self.page.heading(runs, label, form.level + 1)
            else:
                self.page.paragraph(runs, label, form.list_level)
        self._below()

    def _below(self) -> None:
        """Write the text boxes and notes that belong to the paragraph or table above."""
        for runs in self._boxes:
            self.page.paragraph(runs)
        for mark, runs in self._notes:
            self.page.note(mark, runs)
        self._boxes, self._notes = [], []

    def _tabular(self, word: str, number: int) -> None:
        if word == "trowd":
            self._edges, self._merged, self._is_head = [], set(), False
        elif word == "trhdr":
            self._is_head = True
        elif word == "cellx":
            self._edges.append(Edge(number, "clmrg" in self._merged, "clvmrg" in self._merged))
            self._merged = set()
        elif word == "cell":
            self._group.form = replace(self._group.form, in_table=True)
            self._end()
            self._cells.append(self._cell)
            self._cell = []
        elif word == "row":
            self._rows.append(Row(self._edges, self._cells, self._is_head))
            self._cells = []
        else:
            self._merged.add(word)

    def _end_table(self) -> None:
        """Write the table above; cells without the end of a row make one of their own."""
        if self._cell:
            self._cells.append(self._cell)
        rows = [*self._rows, Row((), self._cells, is_head=False)] if self._cells else self._rows
        self._rows, self._cells, self._cell = [], [], []
        if rows:
            self.page.table(rows)
            self._below()


def _joined(found: re.Match[str]) -> str:
    return found.group().encode("utf-16", "surrogatepass").decode("utf-16") if len(found.group()) > 1 else ""
