"""Child process: Excel workbooks (.xlsx), in both dialects."""

from __future__ import annotations

import functools
import importlib
import io
import itertools
import re
import zipfile
from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, cast

from knowledge_mcp.model.document import HiddenReason
from knowledge_mcp.readers.office.dialects import usual_names
from knowledge_mcp.readers.office.workbooks.book import Book, ReadSheet, bound, printed
from knowledge_mcp.readers.office.workbooks.regions import MOST_COLUMNS
from knowledge_mcp.readers.office.workbooks.sieve import MOST_ROWS, SheetLook, SheetMarks, ShownRow, style_look
from knowledge_mcp.readers.shared.containers import (
    core_properties,
    corrupted,
    member,
    open_archive,
    parse_xml,
    relations_of,
)
from knowledge_mcp.readers.shared.drawings import words_of
from knowledge_mcp.readers.shared.hidden import WHITE, nonblank_length, remark
from knowledge_mcp.readers.shared.numbering import whole_number

_EXPECTED = "an Excel workbook"
_WORKBOOKS = ("xl/workbook.xml",)
_FORMULA = re.compile(rb"<(?:\w+:)?f[\s>/]")
_UNSURE = re.compile(rb"<(?:\w+:)?(?:conditionalFormatting|tableParts|picture)[\s>/]")
_ROW = re.compile(rb"<(?:\w+:)?(row|col)\s([^>]*)>")
_ATTRIBUTE = re.compile(rb"""\b(hidden|ht|r|min|max|width)\s*=\s*["']([^"']{0,20})["']""")
_SCHEME = re.compile(rb"""<\w+:(lt1|dk1)>\s*<\w+:\w+[^>]*?\b(?:lastClr|srgbClr val|val)=["']([0-9A-Fa-f]{6})["']""")
_BLOCK = 1 << 20
_MERGED = re.compile(rb"""<(?:\w+:)?mergeCell\s[^>]{0,200}?\bref=["']([A-Z]{1,3})(\d{1,7}):([A-Z]{1,3})(\d{1,7})["']""")


@contextmanager
def opened_xlsx(path: str, *, formulas: bool = True) -> Generator[Book]:
    """Open a workbook.

    Args:
        path: the file.
        formulas: whether a formula that was never calculated is written in place of its value.

    Raises:
        Refusal: it is not a workbook, or is locked, damaged or too large; also for errors inside the `with` block.
    """
    import warnings

    import openpyxl

    with open_archive(path, _EXPECTED, needs=_WORKBOOKS) as whole, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about styles and extensions that do not matter here
        usual = usual_names(whole, *_WORKBOOKS)
        data = usual.read() if usual is not None else b""

        def source() -> BinaryIO:
            # as streams: openpyxl accepts only names with certain extensions
            return io.BytesIO(data) if data else Path(path).open("rb")

        _read_runs()
        try:
            renamed = zipfile.ZipFile(usual) if usual is not None else nullcontext(whole)
            with renamed as archive, source() as one, source() as other:
                book: Any = openpyxl.load_workbook(one, read_only=True, data_only=True, rich_text=True)
                bound(len(book.sheetnames))
                sheets = _sheets(archive, book, other if formulas else None)
                yield Book(sheets, core_properties(archive), [*_part_warnings(archive)])
        except (KeyError, ValueError, TypeError, AttributeError, IndexError, SyntaxError) as error:
            raise corrupted(_EXPECTED, error) from error


def _read_runs() -> None:
    """Make openpyxl's streaming reader keep the fonts of inline texts, as it does for shared strings."""
    streams: Any = importlib.import_module("openpyxl.worksheet._read_only")
    if not isinstance(streams.WorkSheetParser, partial):
        streams.WorkSheetParser = partial(streams.WorkSheetParser, rich_text=True)


def _sheets(archive: zipfile.ZipFile, book: Any, formulas: BinaryIO | None) -> Iterator[ReadSheet]:
    """Yield the sheets in order; `formulas` is the file again, for cells that were never calculated."""
    import openpyxl

    marks = _scanned(archive)
    written: Any = None
    if formulas is not None and any(each.has_formulas for each in marks.values()):
        written = openpyxl.load_workbook(formulas, read_only=True)
    looks: dict[int, SheetLook] = {}
    for sheet in book.worksheets:
        # openpyxl does not expose the name of a sheet's part
        part = getattr(sheet, "_worksheet_path", "")
        sheet.reset_dimensions()
        own = written[sheet.title] if written is not None else None

        def rows(hidden: Counter[str], sheet: Any = sheet, own: Any = own) -> Iterator[ShownRow]:
            return _shown_rows(sheet, own, looks, book.loaded_theme, hidden)

        is_hidden = sheet.sheet_state != "visible"
        drawn = [] if is_hidden else [*_drawn(archive, part)]
        comments = [*_comments(archive, part, sheet.title)]
        yield ReadSheet(sheet.title, is_hidden, rows, marks.get(part, SheetMarks()), drawn, comments)


def _shown_rows(
    sheet: Any, formulas: Any, looks: dict[int, SheetLook], theme: bytes | None, hidden: Counter[str]
) -> Iterator[ShownRow]:
    """Yield the texts of rows with the looks of their cells.

    Args:
        sheet: openpyxl's sheet; its texts have fonts.
        formulas: the same sheet with formulas in place of values; None if there are none.
        looks: cache of looks by style.
        theme: the workbook's theme.
        hidden: counts the characters that are struck out within cells and left out.
    """

    def shown(cell: Any, value: Any) -> tuple[str, SheetLook | None]:
        look = _look(cell, looks, theme)
        if isinstance(value, list):  # a text in several fonts: each run is judged separately
            is_struck = look is not None and look.reason is HiddenReason.STRUCK
            return _not_struck(cell, cast("list[Any]", value), hidden), None if is_struck else look
        return printed(value, _pattern(cell)), look

    if formulas is not None:
        formulas.reset_dimensions()
    others = formulas.iter_rows() if formulas is not None else ()
    for row, other in itertools.zip_longest(sheet.iter_rows(), others, fillvalue=()):
        cells: list[tuple[str, SheetLook | None]] = []
        for cell, formula in itertools.zip_longest(row, other):
            value = cell.value if cell is not None else None
            if value is None and formula is not None:
                value = getattr(formula.value, "text", formula.value)
            cells.append(shown(cell, value))
        yield [text for text, _ in cells], [look for _, look in cells]


def _not_struck(cell: Any, runs: Sequence[Any], hidden: Counter[str]) -> str:
    """Join the runs of a text that are not struck out; a run without a font has the cell's font."""
    font = getattr(cell, "font", None)
    attributes: list[str] = []
    for run in runs:
        words, own = str(run), getattr(run, "font", font)
        if own is not None and own.strike:
            hidden[HiddenReason.STRUCK] += nonblank_length(words)
        else:
            attributes.append(words)
    return "".join(attributes)


def _look(cell: Any, looks: dict[int, SheetLook], theme: bytes | None) -> SheetLook | None:
    """Return how a cell is shown by its style; None if it has no special look."""
    style = getattr(cell, "_style_id", 0)
    if not style:
        return None
    if style not in looks:
        looks[style] = _look_of(cell, theme)
    return looks[style] if looks[style].reason is not None else None


def _drawn(archive: zipfile.ZipFile, sheet: str) -> Iterator[str]:
    """Yield the words of each text box and shape on a sheet, one paragraph per line."""
    for relation in relations_of(partial(member, archive), sheet, _EXPECTED) if sheet else ():
        is_drawing = relation.kind == "drawing" and not relation.external
        data = member(archive, relation.target) if is_drawing else None
        for shape in parse_xml(data, _EXPECTED).iter("{*}sp") if data else ():
            about = shape.find("{*}nvSpPr/{*}cNvPr")
            if about is not None and about.get("hidden") in {"1", "true"}:
                continue
            body = shape.find("{*}txBody")
            words = (words_of(each) for each in (body.iter("{*}p") if body is not None else ()))
            if text := "\n".join(filter(None, words)):
                yield text


def _pattern(cell: Any) -> str:
    return str(getattr(cell, "number_format", "") or "")


def _part_warnings(archive: zipfile.ZipFile) -> Iterator[str]:
    names = archive.namelist()
    for folder, what in (
        ("xl/charts/chart", "Charts"),
        ("xl/chartsheets/", "Charts"),
        ("xl/media/", "Images"),
        ("xl/embeddings/", "Embedded files"),
    ):
        if any(name.startswith(folder) for name in names):
            yield f"{what} in the workbook are not read."


def _comments(archive: zipfile.ZipFile, part: str, title: str) -> Iterator[str]:
    """Yield the comments on a sheet's cells, one line each.

    Threaded comments are read once, not also from the copy for older programs.
    """
    relations = [*relations_of(partial(member, archive), part, _EXPECTED)] if part else []
    threads = [each.target for each in relations if each.kind == "threadedComment" and not each.external]
    plain = [each.target for each in relations if each.kind == "comments" and not each.external]
    for name in threads or plain:
        data = member(archive, name)
        root = parse_xml(data, _EXPECTED) if data else None
        if root is None:
            continue
        authors = [each.text or "" for each in root.iter("{*}author")]
        for comment in root.iter("{*}comment", "{*}threadedComment"):
            number = whole_number(comment.get("authorId"), len(authors))
            author = authors[number] if number < len(authors) else ""
            attributes = "".join(map(str, comment.itertext()))
            kind = "resolved comment" if comment.get("done") == "1" else "comment"
            yield remark(f"{title} {comment.get('ref', '')}".strip(), author, kind, "", attributes)


# ---- besides the cells ---------------------------------------------------------------------------------------------


def _scanned(archive: zipfile.ZipFile) -> dict[str, SheetMarks]:
    """Scan the sheets' parts for what openpyxl's streaming reader does not report, by the names of the parts."""
    return {
        name: _marks_of(archive, name)
        for name in archive.namelist()
        if name.startswith("xl/worksheets/") and name.endswith(".xml")
    }


def _marks_of(archive: zipfile.ZipFile, name: str) -> SheetMarks:
    marks = SheetMarks()
    with archive.open(name) as stream:
        tail = b""
        while block := stream.read(_BLOCK):
            data = tail + block
            end = data.rfind(b">") + 1
            part, tail = data[:end], data[end:][-4096:]
            marks.has_formulas = marks.has_formulas or _FORMULA.search(part) is not None
            marks.is_unsure = marks.is_unsure or _UNSURE.search(part) is not None
            for left, top, right, bottom in _MERGED.findall(part):
                marks.add_merged(int(top), int(bottom), _column(left), _column(right))
            if b"hidden" in part or b'ht="0' in part or b'width="0' in part:
                _take_tags(part, marks)
    return marks


def _take_tags(part: bytes, marks: SheetMarks) -> None:
    for kind, tag in _ROW.findall(part):
        attributes = {key: text.decode("ascii", "replace") for key, text in _ATTRIBUTE.findall(tag)}
        size = attributes.get(b"ht" if kind == b"row" else b"width", "")
        if attributes.get(b"hidden") not in {"1", "true"} and not re.fullmatch(r"0(?:\.0*)?", size):
            continue
        if kind == b"row":
            if (number := whole_number(attributes.get(b"r"), 0)) <= MOST_ROWS:
                marks.rows.add(number)
        else:
            last = min(whole_number(attributes.get(b"max"), 0), MOST_COLUMNS)
            marks.columns.update(range(max(whole_number(attributes.get(b"min"), 0), 1), last + 1))


def _column(letters: bytes) -> int:
    """Return a column's number: A is 1."""
    return functools.reduce(lambda count, letter: count * 26 + letter - 64, letters, 0)


def _look_of(cell: Any, theme: bytes | None) -> SheetLook:
    """Return how openpyxl's cell is shown by its style."""
    font, fill = cell.font, cell.fill
    if font is None:
        return SheetLook()
    scheme = {name.decode(): text.decode() for name, text in _SCHEME.findall((theme or b"")[:20_000])}
    pattern = None if fill is None else getattr(fill, "patternType", "")  # a gradient has none
    ground = WHITE if pattern is None else ""
    if fill is not None and pattern == "solid":
        ground = _colour(fill.fgColor, scheme)
    if font.strike:
        return SheetLook(HiddenReason.STRUCK)
    return style_look(font.sz, _colour(font.color, scheme), ground, cell.number_format)


def _colour(colour: Any, scheme: dict[str, str]) -> str:
    """Return a colour as RRGGBB, empty if it is automatic or modified."""
    from openpyxl.styles import colors

    palette: Any = colors.COLOR_INDEX
    if colour is None or colour.tint:
        return ""
    if colour.type == "rgb":
        return str(colour.rgb)[-6:]
    if colour.type == "theme":
        names = ("lt1", "dk1")
        return scheme.get(names[int(colour.theme)], "") if colour.theme in {0, 1} else ""
    if colour.type == "indexed" and colour.indexed < len(palette):
        return str(palette[colour.indexed])[-6:]
    return ""
