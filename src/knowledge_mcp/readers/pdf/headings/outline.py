"""Finds the headings that the file itself names: bookmarks of the outline, and H1 to H6 of the tags."""

from __future__ import annotations

import itertools
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from knowledge_mcp.language.clauses import names_contents
from knowledge_mcp.language.openings import FORCE_IN_BRACKETS, UNTITLED, caption_label, split_clause_number
from knowledge_mcp.model.document import HeadingSource
from knowledge_mcp.readers.pdf.engine import Bookmark, TaggedHeading
from knowledge_mcp.readers.pdf.headings.contents import Entry
from knowledge_mcp.readers.pdf.headings.numbered import Heading, in_order
from knowledge_mcp.readers.pdf.headings.run_in import title_of_paragraph
from knowledge_mcp.readers.shared.layout import Line, PageLayout, letters_of
from knowledge_mcp.support.matching import BoundedMatcher

_FEWEST = 3
_TRUSTED_SHARE = 0.4
_ALIKE = 0.88
_COVERED = 0.25
_UNPRINTED = 0.7
_NO_SECTION = re.compile(r"(?:(?:page|slide|sheet)?\s*\d+|(?:fig(?:ure)?|table|plate|exhibit)\b.*)\Z", re.IGNORECASE)
_CUT_TITLE, _LOOSE = 40, 3
_LISTED, _LISTED_SHARE = 0.95, 0.25
_NUMBER_ONLY = re.compile(r"(?:§ ?\d{1,4} ?[a-z]?|(?:\d{1,3}|[A-Z])(?:\.\d{1,3}){1,6})\.?")
_GLUED = re.compile(r"(?P<number>\d{1,3}(?:(?:\.\d{1,3})+|(?=[.)])))[.)]?(?P<title>[A-ZÀ-ÖØ-Þ][^\W\d_].*)", re.DOTALL)
"""A number and a title, with a tab between them that is narrower than a blank."""
_NUMBER_AND_DASH = re.compile(r"(?P<number>\d{1,3}(?:\.\d{1,3}){1,6})\.?\s*[–—-]")
_LONGEST = 160
"""Maximum length of a title: programs make bookmarks of whole paragraphs that begin with a title."""
_WORDED = re.compile(r"[A-ZÀ-Þ][^\W\d_]{3}")
_COUNTED = re.compile(r"[^\W\d_]+\s+(?:\d{1,3}[A-Z]?|[IVX]+)[.:]\s")
"""A title that begins with a word and its number."""
_COUNTED_NAME = re.compile(r"[^\W\d_]{1,30}(?:\s[^\W\d_]{1,30}){0,2}\s(?:[A-Z]\.)?\d{1,4}")
"""A name that is only words and a number, as in lists: "Requirement 5", "Conformance class A.1"."""


def outline_headings(entries: Sequence[Bookmark], pages: Sequence[PageLayout]) -> list[Heading]:
    """Find the lines that bookmarks name; empty if fewer than three or less than 40 % of them are found.

    A bookmark whose words are not printed (a cover page, a title that is a picture) names the place it points to.
    """
    sections = _without_paragraphs(_without_captions(entries))
    found = _match_entries(sections, pages, exact=False)
    if len(sections) < len(entries):  # a table between sections has cut the levels of those after it
        found = _relevel(found, set(map(id, found)))
    printed = sum(heading.confidence == 1.0 for heading in found)
    return found if printed >= max(min(_FEWEST, len(sections)), _TRUSTED_SHARE * len(sections)) else []


def _without_captions(entries: Sequence[Bookmark]) -> Sequence[Bookmark]:
    """Leave out bookmarks of tables and figures, and lists of these or of requirements that follow those of sections.

    A file whose bookmarks name hardly anything else keeps them.
    """
    kept: list[Bookmark] = []
    listed = 0  # level of a list of tables, figures or requirements
    for place, entry in enumerate(entries):
        below = entries[place + 1] if place + 1 < len(entries) else entry
        if listed and entry.level > listed:
            continue
        goes_back = bool(kept) and entry.page < kept[-1].page
        if goes_back and entry.level > 1 and _is_listed(entry.title):  # the title of the list points nowhere
            listed = entry.level - 1
        else:
            listed = entry.level if goes_back and below.level > entry.level and _is_listed(below.title) else 0
        if not listed and not _is_caption(entry.title):
            kept.append(entry)
    return kept if len(kept) >= _FEWEST else entries


def _without_paragraphs(entries: Sequence[Bookmark]) -> list[Bookmark]:
    """Cut bookmarks of whole paragraphs to the titles that these begin with; leave out those that begin with none."""
    cut = [title_of_paragraph(each.title) if len(each.title) > _LONGEST else len(each.title) for each in entries]
    return [replace(each, title=each.title[:end]) for each, end in zip(entries, cut, strict=True) if end]


def _is_listed(title: str) -> bool:
    return _is_caption(title) or _COUNTED_NAME.fullmatch(title) is not None


def _is_caption(title: str) -> bool:
    return caption_label(title, is_sure=True) is not None


def listed_headings(entries: Sequence[Entry], pages: Sequence[PageLayout]) -> list[Heading]:
    """Find the lines that a printed table of contents names, letter by letter; empty if too few are found."""
    placed = [Bookmark(entry.title, entry.level, entry.page, None) for entry in entries if entry.page is not None]
    found = _match_entries(placed, pages, exact=True)
    if len(found) < max(3, _LISTED_SHARE * len(entries)):
        return []
    parents = {(heading.number or "").partition(".")[0] for heading in found if "." in (heading.number or "")}
    for heading in found:
        if heading.number is None and heading.title[1:2] == " " and heading.title[0] in parents:
            heading.number, heading.title = heading.title[0], heading.title[2:]
        heading.source = HeadingSource.NUMBERING if heading.number else HeadingSource.TYPOGRAPHY
        heading.confidence = _LISTED
    return found


def _match_entries(entries: Sequence[Bookmark], pages: Sequence[PageLayout], *, exact: bool) -> list[Heading]:
    lines = {page.number: [line for line in page.lines if not line.rotated] for page in pages}
    heights = {page.number: page.height for page in pages}
    used: set[int] = set()
    found: list[Heading] = []
    missing: list[Bookmark] = []
    for place, entry in enumerate(entries):
        near = (entry.page, entry.page + 1, entry.page - 1)
        for number in (*near, *_further(entries, place, found[-1].page if found else 0, max(lines, default=0))):
            top = heights[number] - entry.top if entry.top is not None and number == entry.page else None
            free = [line for line in lines.get(number, []) if id(line) not in used]
            match = _numbered_only(entry.title, free) or _find(
                entry.title, free, top, exact=exact or number not in near
            )
            if match is not None:
                taken, cut = match
                used.update(id(line) for line in taken)
                heading = _heading(taken, cut, entry.level, HeadingSource.OUTLINE)
                if heading.number is None and (number := split_clause_number(entry.title).number):
                    heading.number = number
                    narrow = "" if number[-1].isdigit() else " "  # a tab may be narrow after a digit
                    heading.title = heading.title.removeprefix(number + narrow)
                _take_label(heading, free)
                used.update(id(line) for line in heading.lines)
                found.append(heading)
                break
        else:
            missing.append(entry)
    if not exact:
        found.extend(_locate_entries(missing, found, pages))
    return in_order(found, pages)


def _further(entries: Sequence[Bookmark], place: int, last: int, end: int) -> range:
    """Return more pages on which the words of a bookmark may be if it points to the place of the one before it.

    TeX points to the last numbered heading if one without a number has no anchor.

    Args:
        entries: all bookmarks.
        place: of the bookmark among them.
        last: page of the heading found before it.
        end: the last page.
    """
    entry, before = entries[place], entries[place - 1]
    if not place or entry.top is None or (entry.page, entry.top) != (before.page, before.top):
        return range(0)
    after = (each.page for each in entries[place + 1 :] if (each.page, each.top) != (entry.page, entry.top))
    return range(max(last, entry.page + 2), next(after, end) + 1)


def _numbered_only(title: str, lines: Sequence[Line]) -> tuple[list[Line], int] | None:
    """Find the line that begins with the number that is all a bookmark says: "§ 4" of "§ 4. Meters must ..."."""
    number = _NUMBER_ONLY.fullmatch(" ".join(title.split()))
    if number is None:
        return None
    begins = re.compile(rf"{re.escape(number[0].rstrip('.'))}(?![.\s]?\d|\w)")
    found = ((line, match) for line in lines if (match := begins.match(line.text)))
    return next((([line], match.end()) for line, match in found), None)


def _take_label(heading: Heading, free: Sequence[Line]) -> None:
    """Add the line directly above a heading that contains only its number: "Chapter 2" above "Operation".

    Args:
        heading: its title must not begin with its own word and number ("Item 1. Business" below "PART I").
        free: lines of its page that belong to no other heading, in order.
    """
    place = next(index for index, line in enumerate(free) if line is heading.lines[0])
    label = split_clause_number(free[place - 1].text) if place else None
    if label is None or not (label.number and label.keyword) or heading.number not in {None, label.number}:
        return
    if label.title == free[place - 1].text.strip() and not _COUNTED.match(heading.title):
        heading.number = label.number
        heading.lines.insert(0, free[place - 1])


def _locate_entries(
    entries: Sequence[Bookmark], found: Sequence[Heading], pages: Sequence[PageLayout]
) -> list[Heading]:
    """Place bookmarks whose words are not printed where they point to, at a line that begins something.

    Captions stay captions, and names like "Page 3" do not name a section.
    """
    taken = {id(line) for heading in found for line in heading.lines}
    sheets = {page.number: page for page in pages}
    placed: list[Heading] = []
    for entry in entries:
        page = sheets.get(entry.page)
        if page is None or _NO_SECTION.match(entry.title):
            continue
        top = page.height - entry.top if entry.top is not None else 0.0
        lines = [line for line in page.lines if not line.rotated and line.y1 > top - 1]
        line = next((line for line in lines if len(letters_of(line.text)) > 1), None)
        if line is None or id(line) in taken or not _opens(line, page):
            continue
        taken.add(id(line))
        named = split_clause_number(entry.title)
        placed.append(
            Heading(
                [line], entry.level, named.number, named.title, named.informative, HeadingSource.OUTLINE, _UNPRINTED
            )
        )
    return placed


def _opens(line: Line, page: PageLayout) -> bool:
    """Return whether a line begins something and is not in the middle of a paragraph."""
    above = [other.y1 for other in page.lines if other.y0 < line.y0 - 2 and other.x0 < line.x1 and other.x1 > line.x0]
    return (not above and not line.text[:1].islower()) or (bool(above) and line.y0 - max(above) > 0.5 * line.size)


def _find(title: str, lines: Sequence[Line], top: float | None, *, exact: bool) -> tuple[list[Line], int | None] | None:
    """Find the lines of a title: equal letters first, then the beginning of a line, then nearly equal letters."""
    whole = letters_of(title)
    bare = letters_of(split_clause_number(title).title)
    if len(whole) < 2:
        return None
    matches: list[tuple[int, float, list[Line], int | None]] = []
    firsts, start = {whole[0], bare[:1]}, whole[:4]
    for index, line in enumerate(lines):
        letters = letters_of(line.text)
        # the first letter excludes most of a hundred thousand lines
        odd = letters.endswith(whole) or "normative" in letters or letters[:12].endswith(start)
        if letters and letters[0] not in firsts and not odd:
            continue
        far = abs(line.y0 - top) if top is not None else float(index)
        rank = _match(whole, bare, lines, index)
        if rank is not None:
            matches.append((rank[0], far, list(lines[index : index + rank[1]]), None))
            if rank[0] < _LOOSE:
                continue
        cut = _run_in(line.text, title)
        if cut is None and line.lead and letters_of(line.text[: line.lead]) == whole:
            cut = len(line.text[: line.lead].rstrip(" :–—-"))
        if cut is not None:
            matches.append((2, far, [line], cut))
        elif index + 1 < len(lines) and whole.startswith(letters) and not line.text.endswith("-"):
            cut = _run_in(f"{line.text} {lines[index + 1].text}", title)
            if cut is not None and cut > len(line.text):
                matches.append((2, far, list(lines[index : index + 2]), cut))
    if not matches and not exact:
        matches = [
            (_LOOSE, 0.0, [line], None)
            for line in lines
            if len(whole) > 5 and abs(len(line.text) - len(title)) < 12 and _alike(letters_of(line.text), whole, bare)
        ]
    if not matches:
        return None
    _, _, taken, cut = min(matches, key=lambda match: match[:2])
    return taken, cut


def _match(whole: str, bare: str, lines: Sequence[Line], index: int) -> tuple[int, int] | None:
    """Compare one line, then up to four joined, with the title; return a rank (0 is best) and the lines used."""
    letters = ""
    if not letters_of(lines[index].text):
        return None
    for count in range(1, min(5, len(lines) - index + 1)):
        line = lines[index + count - 1]
        # contents may omit it: "Annex A", "(informative)", its title
        if count > 1 and FORCE_IN_BRACKETS.fullmatch(line.text):
            continue
        letters += letters_of(line.text)
        if letters == whole:
            return 0, count
        if len(bare) > 3 and bare != whole and letters == bare:
            return 1, count
        ends = letters.endswith(whole) or "normative" in letters
        if ends and len(whole) > 2 and _without_number(lines[index : index + count]) == whole:
            return 1, count
        if len(whole) >= _CUT_TITLE and letters.startswith(whole) and len(letters) < 3 * len(whole):
            return _LOOSE, count + _continuing(lines[index + count - 1 :])  # some programs truncate long bookmarks
        if not (whole.startswith(letters) or bare.startswith(letters) or letters[:12].endswith(whole[:4])):
            return None
    return None


def _continuing(lines: Sequence[Line]) -> int:
    """Count the lines after the first that continue its title: in its style, close below."""
    count = 0
    for one, other in itertools.pairwise(lines[:4]):
        if one.lead or one.style != other.style or not 0 < other.y0 - one.y0 < 1.6 * one.size:
            break
        count += 1
    return count


def _without_number(lines: Sequence[Line]) -> str:
    numbered = split_clause_number(" ".join(line.text for line in lines))
    return letters_of(numbered.title) if numbered.number or numbered.informative is not None else ""


def _run_in(text: str, title: str) -> int | None:
    """Return the end of a title that begins a line of running text: "1. Scope. This section ..."."""
    want = letters_of(title)
    if len(want) < 4:
        return None
    have = 0
    for place, character in enumerate(text):
        if not character.isalnum():
            continue
        if have >= len(want):
            return None
        if character.lower() != want[have]:
            return None
        have += 1
        if have == len(want):
            match = re.match(r"(?P<close>[)\]\"”]*)(?:\s*[.:–—](?:\s|$)|\s-(?:\s|$|[A-Z]))", text[place + 1 :])
            return place + 1 + match.end("close") if match and place + 2 < len(text) else None
    return None


def _alike(letters: str, whole: str, bare: str) -> bool:
    return any(BoundedMatcher(letters, title).ratio() >= _ALIKE for title in {whole, bare})


def _heading(lines: list[Line], cut: int | None, level: int, source: HeadingSource) -> Heading:
    text = " ".join(line.text for line in lines)
    words = text if cut is None else text[:cut]
    numbered = split_clause_number(words)
    if cut is not None and _NUMBER_ONLY.fullmatch(words):
        numbered = replace(split_clause_number(text if len(words) < len(text) else f"{text} X"), title="")
    elif alone := _NUMBER_AND_DASH.fullmatch(words):
        numbered = replace(numbered, number=alone["number"], title="")
    elif numbered.number is None and (glued := _GLUED.fullmatch(words)):
        numbered = replace(numbered, **glued.groupdict())
    title = numbered.title.rstrip(" –—-") or numbered.title
    return Heading(lines, level, numbered.number, title, numbered.informative, source, 1.0, cut)


# ---- tags -----------------------------------------------------------------------------------------------------------


def tagged_headings(tagged: Iterable[TaggedHeading], pages: Sequence[PageLayout]) -> list[Heading]:
    """Find the lines that heading tags mark; empty if there are fewer than three, or most are too long."""
    lines: defaultdict[int, list[Line]] = defaultdict(list)
    for page in pages:
        lines[page.number] = page.lines
    found: list[Heading] = []
    used: set[int] = set()
    for tag in tagged:
        taken = [line for line in lines[tag.page] if line.marked & tag.marked and id(line) not in used]
        text = " ".join(line.text for line in taken)
        if taken and len(text) <= 250 and len(taken) <= 5:
            used.update(id(line) for line in taken)
            found.append(_heading(taken, None, tag.level, HeadingSource.TAGS))
    short = sum(len(heading.title) <= 120 for heading in found)
    if len(found) < 3 or short < 0.5 * len(found):
        return []
    return in_order(found, pages)


# ---- merging --------------------------------------------------------------------------------------------------------


def merge_headings(named: Sequence[Heading], detected: Sequence[Heading], pages: Sequence[PageLayout]) -> list[Heading]:
    """Add numbered headings that the file does not name to those it names: clauses deeper than its outline.

    Nothing is below contents, although programs make bookmarks so if the headings after them have a lower style.

    If the file names a quarter or more of the numbered headings of some depth, none are added down to that depth.
    Clauses of the first depth are added only if the file names less than half of those with clauses of their own below
    them: programs name the headings of some styles, such as "Contents" and the captions. A list of numbers has none.

    A document that amends another has clauses of both: "1603.1.5 Loads" below "2-4.1", with no hyphen. These are added
    from the second depth if their title is a word; a value with its unit is none.
    """
    if not named:
        return list(detected)
    taken = {id(line) for heading in named for line in heading.lines}
    numbers = {heading.number for heading in named if heading.number}
    forms = {"-" in number for number in numbers} or {True, False}
    numbered = [heading for heading in detected if heading.source is HeadingSource.NUMBERING and heading.number]
    own = [heading for heading in numbered if _has_hyphen(heading) in forms]
    depth = 1
    for candidate in range(2, 10):
        here = [heading.number for heading in own if _depth(heading) == candidate]
        if here and sum(number in numbers for number in here) >= _COVERED * len(here):
            depth = candidate
    titled = {_number_and_title(heading) for heading in named}
    if _names_few(_chapters(own, pages), titled, taken):
        depth = 0
    added = [
        heading
        for heading in numbered
        if (_depth(heading) > depth if _has_hyphen(heading) in forms else _is_of_other(heading))
        and (heading.number not in numbers if depth else _number_and_title(heading) not in titled)
        and not taken & {id(line) for line in heading.lines}
    ]
    _raise_from_contents(named)
    merged = in_order([*named, *added], pages)
    return _relevel(merged, {id(heading) for heading in added})


def _raise_from_contents(named: Sequence[Heading]) -> None:
    """Put headings below contents at the level of these."""
    level = shift = 0
    for heading in named:
        if names_contents(heading.title):
            level, shift = heading.level, 0
        elif not level or heading.level <= level:
            level = 0
        else:
            shift = shift or heading.level - level
            heading.level = max(heading.level - shift, level)


def _chapters(own: Sequence[Heading], pages: Sequence[PageLayout]) -> list[Heading]:
    """Return the headings of the first depth that are no items of a list.

    These have clauses below, which are headings or paragraphs with a number, or a word or sign before their own: "§ 5".
    """
    parents = {(heading.number or "").rpartition(".")[0] for heading in own}
    parents |= {heading.number or "" for heading in own if split_clause_number(heading.lines[0].text).keyword}
    starts = {id(heading.lines[0]): heading.number for heading in own if _depth(heading) == 1}
    number = ""
    for line in itertools.chain.from_iterable(page.lines for page in pages):
        number = starts.get(id(line)) or number
        below = UNTITLED.match(line.text)
        if below is not None and below["number"].partition(".")[0] == number:
            parents.add(number)
    return [
        heading for heading in own if heading.number in parents or split_clause_number(heading.lines[0].text).keyword
    ]


def _names_few(chapters: Sequence[Heading], titled: Collection[tuple[str, str]], taken: Collection[int]) -> bool:
    """Return whether the file names less than half of the chapters.

    A heading with the number of a chapter and another title is an item of a list.
    """
    named = sum(_number_and_title(heading) in titled or id(heading.lines[0]) in taken for heading in chapters)
    return len(chapters) >= _FEWEST and 2 * named < len(chapters)


def _number_and_title(heading: Heading) -> tuple[str, str]:
    return heading.number or "", letters_of(heading.title)


def _depth(heading: Heading) -> int:
    return (heading.number or "").count(".") + 1


def _has_hyphen(heading: Heading) -> bool:
    return "-" in (heading.number or "")


def _is_of_other(heading: Heading) -> bool:
    return _depth(heading) > 1 and _WORDED.match(heading.title) is not None


def _relevel(headings: list[Heading], added: set[int]) -> list[Heading]:
    """Put each added heading one level below the nearest heading before it whose number is a prefix of its own.

    If there is none, it is below the last heading that the file names; a chapter is beside the highest of these.
    """
    levels: dict[str, int] = {}
    highest = min((heading.level for heading in headings if id(heading) not in added), default=0)
    above = 0  # level of the last heading that the file names
    for heading in headings:
        if id(heading) not in added:
            above = heading.level
        elif highest and heading.number and _depth(heading) == 1:
            heading.level = above = highest
        elif heading.number:
            parts = heading.number.split(".")
            parents = (".".join(parts[:count]) for count in range(len(parts) - 1, 0, -1))
            known = next((levels[parent] for parent in parents if parent in levels), None)
            heading.level = max(heading.level, above + 1) if known is None else known + 1
        if heading.number:
            levels[heading.number] = heading.level
    return headings
