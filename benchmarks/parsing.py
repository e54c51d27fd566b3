"""Measure what the readers make of real documents: headings, their pages and numbers, the words, the speed.

Usage: `python -m benchmarks.parsing [--only PART …] [--data FOLDER] [--files PATTERN] [--show]`

Parts: `outline` (PDF headings with the file's bookmarks used), `headings` (bookmarks and tags hidden), `docx`, `twins`
(PDF against the Markdown that it was made from), `speed`. Documents are in `docs` below `$KNOWLEDGE_EVAL_DATA`, else
`../shared/data`, what they hold in `docs/gold`; without the folder the script says so and ends. `--data` may name any
folder of PDF files instead: their own bookmarks are then the truth. `--show` lists what was missed and what was too
many.

A heading is right where its title, with its number or without, has the letters of a bookmark on the same page; a
bookmark that was cut short counts by what it has (20 letters and more). Headings deeper than the bookmarks go are not
counted, nor bookmarks to other files, of captions, or above captions ("Figures"). Entries of terms clauses and clauses
without a title are sections here; they are not counted where the bookmarks name none of their kind. `printed` leaves
out the bookmarks whose words are not on their page.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from pathlib import Path
from statistics import mean, median
from typing import Any, cast

from benchmarks.reading import read_document
from knowledge_mcp.language.clauses import SectionFacts, SectionRole
from knowledge_mcp.language.openings import opening_of, split_clause_number
from knowledge_mcp.model.document import Block, BlockKind, Document, Section
from knowledge_mcp.model.source import SourceItem
from knowledge_mcp.readers.docx.reader import DocxReader
from knowledge_mcp.readers.pdf import engine, job
from knowledge_mcp.readers.pdf.headings.contents import is_title_of_list
from knowledge_mcp.readers.pdf.reader import PdfReader
from knowledge_mcp.readers.shared.layout import letters_of
from knowledge_mcp.sources.files import FileSource

PARTS = ("outline", "headings", "docx", "twins", "speed")
CUT = 20
WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class Named:
    """One heading: depth from 1, title, physical page from 1 (0: none), number if it stands apart, whether a term's."""

    level: int
    title: str
    page: int = 0
    number: str = ""
    is_entry: bool = False

    @property
    def kind(self) -> str:
        """Tell an entry of a terms clause, and a clause that has a number only, from other headings."""
        return "entry" if self.is_entry else "untitled" if self.number and not self.title else ""

    @property
    def bare(self) -> str:
        """Give the letters of the title without its number."""
        return letters_of(self.title if self.number else split_clause_number(self.title).title)

    @property
    def names(self) -> set[str]:
        """Give its letters with the number and without."""
        return {letters_of(f"{self.number}{self.title}"), self.bare} - {""}

    def is_called(self, other: Named) -> bool:
        """Tell whether two headings have one title."""
        if self.names & other.names:
            return True
        pairs = ((one, two) for one in self.names for two in other.names if min(len(one), len(two)) >= CUT)
        return any(one.startswith(two) or two.startswith(one) for one, two in pairs)


@dataclass(slots=True)
class Score:
    """What was found of one document's headings."""

    name: str
    gold: int
    found: int
    hits: int
    wrong: int
    printed: int
    elsewhere: int = 0
    missed: list[Named] = field(default_factory=list[Named])
    extra: list[Named] = field(default_factory=list[Named])

    @property
    def recall(self) -> float:
        return self.hits / max(self.gold, 1)

    @property
    def precision(self) -> float:
        return self.hits / max(self.hits + self.wrong, 1)

    @property
    def f1(self) -> float:
        return f1(self.precision, self.recall)

    @property
    def printed_f1(self) -> float:
        return f1(self.precision, min(self.hits / max(self.printed, 1), 1.0))


def f1(precision: float, recall: float) -> float:
    """Combine the two."""
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def main() -> None:
    """Run the parts that are asked for; prints tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("KNOWLEDGE_EVAL_DATA", "../shared/data")))
    parser.add_argument("--files", default="*", help="only documents whose name matches")
    parser.add_argument("--show", action="store_true")
    options = parser.parse_args()
    documents = options.data / "docs" if (options.data / "docs").is_dir() else options.data
    if not documents.is_dir() or not any(documents.glob("**/*.pdf")):
        print(f"SKIPPED: there are no documents in {documents}; set KNOWLEDGE_EVAL_DATA", file=sys.stderr)
        return
    for part in options.only:
        if part in {"outline", "headings"}:
            pdf_headings(documents, options.files, use_outline=part == "outline", show=options.show)
        elif part == "docx":
            docx_headings(documents, options.files, show=options.show)
        elif part == "twins":
            twins(documents, options.files)
        else:
            speed(documents, options.files)


# ---- headings -------------------------------------------------------------------------------------------------------


def pdf_headings(documents: Path, pattern: str, *, use_outline: bool, show: bool) -> None:
    """Print a table of the PDF documents that have bookmarks."""
    print(f"\n## PDF headings, bookmarks {'used' if use_outline else 'hidden'}")
    print(f"{'document':44} gold found precision recall    F1  printed  page")
    scores: list[Score] = []
    for path in sorted(documents.glob(f"**/{pattern}.pdf")):
        gold = bookmarks(path, documents / "gold")
        if not gold:
            continue
        reader = PdfReader(use_outline=use_outline)
        try:
            score = compare(path.name, gold, headings_of(reader.read(item_of(path))), text_of_pages(path))
        finally:
            reader.close()
        scores.append(score)
        right = score.hits / max(score.hits + score.elsewhere, 1)
        print(
            f"{score.name[:44]:44} {score.gold:4} {score.found:5} {score.precision:9.3f} {score.recall:6.3f} "
            f"{score.f1:5.3f} {score.printed_f1:8.3f} {right:5.3f}"
        )
        if show:
            show_differences(score)
    if scores:
        all_f1 = [score.f1 for score in scores]
        print(
            f"{len(scores)} documents: F1 median {median(all_f1):.3f} mean {mean(all_f1):.3f}, "
            f"precision mean {mean(score.precision for score in scores):.3f}, recall mean "
            f"{mean(score.recall for score in scores):.3f}, printed F1 mean {mean(s.printed_f1 for s in scores):.3f}"
        )


def bookmarks(path: Path, gold: Path) -> list[Named]:
    """Read the bookmarks that are kept beside a document, else its own; those to other files left out."""
    kept = gold / f"{path.name}.toc.json"
    if kept.is_file():
        rows = cast("list[dict[str, Any]]", json.loads(kept.read_text(encoding="utf-8")))
        named = [Named(row["level"], " ".join(row["title"].split()), row["page"]) for row in rows]
    elif gold.is_dir():
        return []
    else:
        named = [Named(entry.level, entry.title, entry.page) for entry in engine.inspect(str(path)).outline]
    captions = [bool((found := opening_of(entry.title)) and found.kind is BlockKind.CAPTION) for entry in named]
    lists = [below and not here for here, below in itertools.pairwise([*captions, False])]
    return [
        entry
        for entry, caption, list_ in zip(named, captions, lists, strict=True)
        if entry.page > 0 and not (caption or list_)
    ]


def headings_of(document: Document) -> list[Named]:
    """List a document's sections with the pages that their headings stand on."""
    pages = {
        block.section: block.pages[0]
        for block in reversed(document.blocks)
        if block.kind is BlockKind.HEADING and block.pages
    }
    facts = SectionFacts(document)

    def is_entry(section: Section) -> bool:
        above = facts.role(section.parent) if section.parent is not None else None
        words = section.title[:1].islower() or section.title.partition(" ")[0].isupper()
        return above is SectionRole.DEFINITIONS is facts.role(section.index) and words

    return [
        Named(section.level, section.title, pages.get(section.index, 0), section.number or "", is_entry(section))
        for section in document.sections
        if section.title or section.number
    ]


def compare(name: str, gold: Sequence[Named], found: Sequence[Named], texts: dict[int, str]) -> Score:
    """Match headings one to one."""
    used: set[int] = set()
    missed: list[Named] = []
    for expected in gold:
        match = _first(expected, found, used, page=expected.page)
        if match is None:
            missed.append(expected)
        else:
            used.add(match)
    depth = max(entry.level for entry in gold)
    kinds = {"", *(found[index].kind for index in used)}
    extra = [
        entry for index, entry in enumerate(found) if index not in used and entry.level <= depth and entry.kind in kinds
    ]
    elsewhere = sum(_first(expected, found, used, page=None) is not None for expected in missed)
    unprinted = sum(not any(words in texts.get(expected.page, "") for words in expected.names) for expected in missed)
    return Score(name, len(gold), len(found), len(used), len(extra), len(gold) - unprinted, elsewhere, missed, extra)


def _first(expected: Named, found: Sequence[Named], used: set[int], *, page: int | None) -> int | None:
    for index, entry in enumerate(found):
        if index in used or (page is not None and entry.page != page):
            continue
        if expected.is_called(entry):
            return index
    return None


def text_of_pages(path: Path) -> dict[int, str]:
    """Read the letters of each page's text layer."""
    import pypdfium2

    document: Any = pypdfium2.PdfDocument(str(path))
    texts: dict[int, str] = {}
    for index in range(len(document)):
        texts[index + 1] = letters_of(str(document[index].get_textpage().get_text_range()))
    document.close()
    return texts


def show_differences(score: Score) -> None:
    """List what was missed and what was too many."""
    for sign, entries in (("-", score.missed), ("+", score.extra)):
        for entry in entries:
            print(f"    {sign} p{entry.page} level {entry.level} {entry.number} {entry.title[:100]}")


def docx_headings(documents: Path, pattern: str, *, show: bool) -> None:
    """Print a table of the DOCX documents; with numbers against the PDF of the same document where there is one."""
    print("\n## DOCX headings")
    print(f"{'document':44} gold found precision recall level numbered seconds")
    for path in sorted((documents / "docx").glob(f"{pattern}.docx")):
        kept = documents / "gold" / f"{path.name}.headings.json"
        if not kept.is_file():
            continue
        rows = cast("list[dict[str, Any]]", json.loads(kept.read_text(encoding="utf-8")))
        gold = [Named(row["level"], " ".join(row["title"].split())) for row in rows]
        reader = DocxReader()
        started = time.process_time()
        document = reader.read(item_of(path))
        seconds = time.process_time() - started
        found = headings_of(document)
        score = compare(path.name, gold, [replace(entry, page=0) for entry in found], {})
        levels = [entry.level for entry in found]
        same = SequenceMatcher(None, [entry.level for entry in gold], levels, autojunk=False).ratio()
        numbered = sum(section.number is not None for section in document.sections)
        print(
            f"{score.name[:44]:44} {score.gold:4} {score.found:5} {score.precision:9.3f} {score.recall:6.3f} "
            f"{same:5.3f} {numbered:8} {seconds:7.2f}"
        )
        if show:
            show_differences(score)


# ---- twins ----------------------------------------------------------------------------------------------------------


def twins(documents: Path, pattern: str) -> None:
    """Print how much of the Markdown is in the PDF made from it, and whether their headings have one order."""
    print("\n## PDF against Markdown (recall of words and headings; order: 1 is identical)")
    print(f"{'document':44} words recall headings recall  order  hidden order")
    for path in sorted((documents / "pdf").glob(f"{pattern}.pdf")):
        twin = documents / "gold" / f"{path.stem}.md"
        if not twin.is_file():
            continue
        markdown = read_document(twin)
        expected = headings_of(markdown)
        lines: list[str] = []
        for use_outline in (True, False):
            reader = PdfReader(use_outline=use_outline)
            document = reader.read(item_of(path))
            reader.close()
            shared, order = agreement(expected, headings_of(document))
            lines.append(f"{shared:8.3f} {order:6.3f}")
        words = Counter(word for block in markdown.blocks for word in words_of(markdown, block))
        kept = words & Counter(WORD.findall(read_document(path).text.lower()))
        print(f"{path.name:44} {kept.total() / words.total():12.4f} {'  '.join(lines)}")


def words_of(document: Document, block: Block) -> list[str]:
    """List the words of a block; none of a table of contents, which the reader of PDF leaves out."""
    section = document.sections[block.section] if block.section is not None else None
    if section is not None and is_title_of_list(section.title):
        return []
    return WORD.findall(document.text[block.span.start : block.span.end].lower())


def agreement(expected: Sequence[Named], found: Sequence[Named]) -> tuple[float, float]:
    """Tell what share of the wanted headings is there, and what share of those stands in the wanted order."""
    names = {name for entry in found for name in entry.names}
    here = [entry.bare for entry in expected if entry.names & names]
    known = set(here)
    there = [entry.bare for entry in found if entry.bare in known]
    matcher = SequenceMatcher(None, here, there, autojunk=False)
    in_order = sum(block.size for block in matcher.get_matching_blocks())
    return len(here) / max(len(expected), 1), in_order / max(len(here), 1)


# ---- speed ----------------------------------------------------------------------------------------------------------


def speed(documents: Path, pattern: str) -> None:
    """Print pages a second of reading against the engine's bare block extraction, and of DOCX headings and text."""
    print("\n## Speed: pages for each second of one core")
    print(f"{'document':44} pages   bare reading  ratio")
    totals = [0.0, 0.0, 0.0]
    for path in sorted((documents / "pdf").glob(f"{pattern}.pdf") if (documents / "pdf").is_dir() else []):
        count = engine.inspect(str(path), thorough=False).pages
        bare = min(timed(bare_blocks(str(path), count)) for _ in range(2))
        full = min(timed(job.read(str(path))) for _ in range(2))
        totals = [totals[0] + count, totals[1] + bare, totals[2] + full]
        print(f"{path.name[:44]:44} {count:5} {count / bare:6.0f} {count / full:7.0f} {bare / full:6.2f}")
    if totals[0]:
        pages, bare, full = totals
        print(f"{'all':44} {pages:5.0f} {pages / bare:6.0f} {pages / full:7.0f} {bare / full:6.2f}")
    for path in sorted((documents / "docx").glob("sarif*.docx")):
        print(f"{path.name[:44]:44} {min(timed(read_document(path) for _ in range(1)) for _ in range(2)):.2f} s")


def bare_blocks(path: str, count: int) -> Iterator[object]:
    """Parse as the reader has it parsed, and do nothing with it."""
    from liteparse.parser import LiteParse

    parser = LiteParse(
        ocr_enabled=False,
        max_pages=count,
        output_format="markdown",
        extract_blocks=True,
        extract_links=False,
        image_mode="off",
        keep_headers_footers=True,
        quiet=True,
    )
    for parsed in parser.parse_batches(path, batch_size=engine.BATCH):
        yield parsed.result.pages


def timed(values: Iterator[object]) -> float:
    """Take the seconds of one core that it takes to exhaust them."""
    started = time.process_time()
    for _ in values:
        pass
    return time.process_time() - started


def item_of(path: Path) -> SourceItem:
    """Make the item of one file."""
    return next(each for each in FileSource(path).items() if isinstance(each, SourceItem))


if __name__ == "__main__":
    main()
