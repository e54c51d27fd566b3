"""Splits text into sentences and table rows into cells, in the typography of standards."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator

from knowledge_mcp.language.openings import ANNEX_WORDS, FIGURE_WORDS, TABLE_WORDS
from knowledge_mcp.model.document import Span
from knowledge_mcp.ports import TokenMeasure
from knowledge_mcp.support.checkpoints import check_each

_ABBREVIATIONS = frozenset(
    "e.g i.e cf viz resp approx incl excl fig figs tab no nos vol ch chap sec sect cl art par para paras eq eqs"
    " ref refs"
    " ed eds rev ver vs mr mrs ms dr prof st inc ltd co corp dept max min ca ff al pp p app ann encl op ibid a.k.a"
    " bzw evtl ggf inkl nr sog usw vgl abs abschn abb anm aufl pág núm p.ex p.ej"
    " mind gem einschl zzgl exkl entspr ziff kap lfd str tel bspw insb env réf"
    " bgbl abl gvbl gmbl banz buchst halbs pub stat bldg bldgs"
    " u.s u.k u.n jan feb mar apr jun jul aug sep sept oct nov dec".split()
)
"""Abbreviations that do not end a sentence, in lower case, without the last full stop."""

_UNITS = frozenset("in ft lb lbs oz yd mi gal qt pt hr hrs sec sq cu dia".split())
"""Units that are printed with a full stop after a number."""

_TIMES = frozenset({"min", "ms"})
"""Units that are also abbreviations: after a number, a full stop ends the sentence."""
_LONGEST_FIGURE = 4
"""Characters before a unit that are read: its blank, and the end of its number."""

LEADS = re.compile(r"(?:[:—][*_]*|\b(?:as follows|the following)\s*\.?)\Z", re.IGNORECASE)
"""The end of a sentence that introduces a list."""

_CANDIDATE = re.compile(
    r"(?=[.!?…\n:。！？])(?:(?P<full>[。！？]++[”’」』）)]*+)|"
    r"(?P<stop>(?<![.!?…])[.!?…]++[\"”’')\]»*_]*+)(?P<mark>(?:\[\^?\w{1,9}\]){0,4}+)(?P<gap>\s+)"
    r"|(?P<blank>\n[ \t]*\n\s*)"
    r"|(?P<item>\n[ \t]*)(?=(?:[-*•–·▪]|\(?(?:\d{1,3}|[a-z]|[ivx]{1,5})[.)])[ \t])"
    r"|(?P<colon>:[*_]*[ \t]*\n\s*))"
)
"""Every alternative starts with one of a few characters; the look-ahead for these is five times as fast."""

_OPENERS = "\"“”'‘’([{*_`<«"
_ENUMERATOR = re.compile(r"\(?(?:\d+(?:\.\d+)*|[A-Za-z]|[ivxIVX]{1,5}|[A-Z](?:\.\d+)+)\Z")
_NAME = re.compile(r"[a-z]{1,3}[A-Z]")
"""A name that starts a sentence with a lower-case letter: "cFE", "iOS"."""
_LETTERED = re.compile(
    rf"(?:{ANNEX_WORDS}|{TABLE_WORDS}|{FIGURE_WORDS}|class|type|category|grade|group|level|zone|phase|part|section|method"
    r"|procedure|option|form|schedule|exhibit|plan|point|block|building|klasse|typ|kategorie|gruppe|teil|verfahren|classe"
    r"|catégorie|groupe|clase|tipo|categoría|grupo|categoria)s?",
    re.IGNORECASE,
)
"""Words that a letter may follow like a number."""
_JOINS_NAME = frozenset(
    "by and of with from to for or in the a und von et de du des par y e por da di do dem der".split()
)
"""Small words that may precede an initial: "designed by J. Smith"."""
_NEAR = 60
"""Characters before an initial that are read; every word is shorter."""
_FIGURE = re.compile(r"[\d¼-¾⅐-⅞]['’\"″”]?[ \u00a0-]?\Z")
_DOTTED = re.compile(r"(?:[A-Za-z]\.)+[A-Za-z]\Z")
_SPACED = re.compile(r"(?:z\. ?[BT]|u\. ?U|i\. ?A)\.")
"""German abbreviations with a capital after their first full stop."""
_ORDINAL = re.compile(
    r"\d{1,2}\.\s(?:Jan(?:uar)?|Jänner|Feb(?:ruar)?|März|April|Mai|Jun[io]|Jul[io]|August|Sept(?:ember)?|Okt(?:ober)?"
    r"|November|Dez(?:ember)?)\b"
    r"|(?:(?<=\b[AaIi]m\s)|(?<=\b[Dd](?:as|e[mnrs]|ie)\s)|(?<=\b(?:[Vv]om|[Zz]u[mr])\s))\d{1,2}\."
)
"""A German ordinal number with a full stop: "31. Dezember", "im 2. Obergeschoss"."""
_QUOTED = re.compile(r"(?=[“\"])(?:“[^”\n]{1,400}”|(?<![\w\"])\"[^\"\n]{1,400}\"(?!\w))")


def sentence_spans(text: str, start: int = 0, end: int | None = None) -> list[Span]:
    """Split `text[start:end]` into sentences, in order: disjoint, trimmed, with only blanks between them.

    A full stop does not end a sentence after an abbreviation ("e.g.", "Fig.", "No."), inside a number, between a unit
    and a number ("34 in. (865 mm)"), in a German ordinal ("31. Dezember"), after an enumerator at the start of the
    sentence ("1.", "5.3.1."), before a lower-case letter, or inside a quotation. A blank line, the line of a new list
    item, a line that ends with a colon, and a Chinese or Japanese full stop do. Footnote marks after a full stop
    ("[^3]") belong to the sentence.
    """
    end = len(text) if end is None else end
    quotes = [(m.start(), m.end()) for m in _QUOTED.finditer(text, start, end)]
    quote_starts = [q[0] for q in quotes]
    spans: list[Span] = []
    begin = _skip_blank(text, start, end)
    for match in check_each(_CANDIDATE.finditer(text, start, end)):
        cut = match.end("mark") if match.group("stop") is not None else match.start()
        if match.group("colon") is not None:
            cut += 1
        elif match.group("full") is not None:
            cut = match.end()
        if cut <= begin:
            continue
        if match.group("stop") is not None and not _ends_sentence(text, begin, match, end):
            continue
        if _inside(cut, match.start(), quotes, quote_starts):
            continue
        _add(spans, text, begin, cut)
        begin = _skip_blank(text, cut, end)
    _add(spans, text, begin, end)
    return spans


def _skip_blank(text: str, position: int, end: int) -> int:
    while position < end and text[position].isspace():
        position += 1
    return position


def _add(spans: list[Span], text: str, begin: int, cut: int) -> None:
    while cut > begin and text[cut - 1].isspace():
        cut -= 1
    if cut > begin:
        spans.append(Span(begin, cut))


def _inside(cut: int, stop: int, quotes: list[tuple[int, int]], starts: list[int]) -> bool:
    position = bisect_right(starts, stop) - 1
    return position >= 0 and quotes[position][0] < stop and cut < quotes[position][1]


def _ends_sentence(text: str, begin: int, match: re.Match[str], end: int) -> bool:
    """Return whether a full stop followed by blanks ends the sentence."""
    stop = match.group("stop")
    if "\n" in match.group("gap") and match.group("gap").count("\n") > 1:
        return True
    after = match.end()
    while after < end and text[after] in _OPENERS:
        after += 1
    if after < end and text[after].islower() and not _NAME.match(text, after, end):
        return False
    if stop[0] != "." or stop.startswith(".."):
        return True
    word_start = match.start()
    while word_start > begin and not text[word_start - 1].isspace():
        word_start -= 1
    word = text[word_start : match.start()].lstrip(_OPENERS)
    lowered = word.lower()
    is_time = lowered in _TIMES and _FIGURE.search(text, max(begin, word_start - _LONGEST_FIGURE), word_start)
    if (lowered in _ABBREVIATIONS and not is_time) or _DOTTED.match(word):
        return False
    if _SPACED.match(text, word_start) or _ORDINAL.match(text, word_start):
        return False
    if word_start == begin and _ENUMERATOR.match(word):
        return False
    if after < end and text[after].isdigit() and _is_unit(text[max(begin, match.start() - 9) : match.start()]):
        return False
    is_initial = len(word) == 1 and word.isupper() and stop == "."
    return not (is_initial and _is_initial(text[begin:word_start], is_numbered=_ARTICLE.match(text, after) is not None))


_ARTICLE = re.compile(r"\d{1,4}[-–]\d")


def _is_initial(before: str, *, is_numbered: bool) -> bool:
    """Return whether a letter is the initial of a name or title ("Annex A. Title"), not the end of a sentence.

    Ends of sentences are "of type B.", "16 A.". A letter before the number of an article names it: "article L. 111-2".
    """
    words = before[-_NEAR:].split()
    if len(words) < 2:
        return True
    last = words[-1].lstrip(_OPENERS)
    if _FIGURE.search(last) or _LETTERED.fullmatch(last):
        return False
    return is_numbered or not (last.isalpha() and last.islower() and last not in _JOINS_NAME)


def _is_unit(before: str) -> bool:
    """Return whether a full stop belongs to a unit after a number: "34 in. (865 mm)", "20 ft. 6 in."."""
    number = before.rstrip("abcdefghijklmnopqrstuvwxyz")
    return before[len(number) :] in _UNITS and _FIGURE.search(number) is not None


BAR = re.compile(r"(?<!\\)\|")
"""Separator of the cells of a row."""
TABLE_RULE = re.compile(r"[\s|:+=-]*")
"""A line that is only a rule of a table, for `fullmatch`."""


def is_row(line: str) -> bool:
    """Return whether a line is a table row, by the bar at its start."""
    return line.lstrip(" \t").startswith("|")


def row_cells(start: int, line: str) -> list[Span]:
    """List the cells of one row that starts at `start`, without the text outside the outer bars."""
    cuts = [match.start() for match in BAR.finditer(line)]
    if not cuts:
        return [Span(start, start + len(line))]
    bounds = list(zip([-1, *cuts], [*cuts, len(line)], strict=True))
    cells = [Span(start + a + 1, start + b) for a, b in bounds]
    first = 1 if not line[: cuts[0]].strip() else 0
    last = len(cells) - 1 if len(cells) > 1 and not line[cuts[-1] + 1 :].strip() else len(cells)
    return cells[first:last]


def cell_texts(line: str) -> list[str]:
    """List the texts of the cells of one row, trimmed."""
    return [cell.of(line).strip() for cell in row_cells(0, line)]


_CHARACTERS_PER_TOKEN = 5
_TRIES = 8
BLANK_LINE = re.compile(r"\n[ \t]*\n")
"""What separates paragraphs."""
_SENTENCE = re.compile(r"(?<=[.!?…])[\"”’')\]»]*\s+(?=[\"“‘'(\[«]*[^\W\d_a-z])|(?<=[;:])\s*\n")
_LINE = re.compile(r"\n")
_CLOSING = "\"”’')]»"
"""Characters that may follow the full stop of a sentence and belong to it."""
_BLANK = re.compile(r"\s+")


def cut_within(text: str, span: Span, limit: int, measure: TokenMeasure) -> int:
    """Return where a piece from the span's start may end so that it has at most `limit` tokens, `limit` >= 1.

    It ends with a block if it is then at least half of the possible length, otherwise with a sentence, a line or a
    word. Only a word with more tokens than the limit is cut; the piece is never empty unless the span is.
    """
    far = _reach(text, span, limit, measure)
    if far >= span.end:
        return span.end
    tries = 0
    while (end := _border(text, span.start, far)) is not None:
        if measure.count_tokens(text[span.start : end].rstrip()) <= limit:
            return end
        tries += 1
        far = end - 1 if tries < _TRIES else span.start + (end - span.start) // 2
    return max(far, span.start + 1)


def _reach(text: str, span: Span, limit: int, measure: TokenMeasure) -> int:
    """Return where the first token after the limit starts, or the span's end if there is none; reads no further."""
    size = limit * _CHARACTERS_PER_TOKEN
    while True:
        stop = min(span.end, span.start + size)
        tokens = measure.token_spans(text[span.start : stop])
        if len(tokens) > limit:
            return span.start + tokens[limit][0]
        if stop == span.end:
            return stop
        size *= 2


def _border(text: str, start: int, far: int) -> int | None:
    half = start + (far - start) // 2
    for pattern, least in (
        (BLANK_LINE, half),
        (_SENTENCE, half),
        (_LINE, half),
        (_SENTENCE, start),
        (_BLANK, start),
    ):
        last = None
        # one character more, to find a boundary that starts exactly at `far`
        for match in pattern.finditer(text, max(least, start + 1), min(far + 2, len(text))):
            end = match.end() - len(match[0].lstrip(_CLOSING))
            if end > far:
                break
            last = end
        if last is not None and text[start:last].strip():
            return last
    return None


def line_around(text: str, start: int, end: int) -> Span:
    """Return the line that contains a range, without its end."""
    stop = text.find("\n", end)
    return Span(text.rfind("\n", 0, start) + 1, stop if stop >= 0 else len(text))


def sentence_around(text: str, span: Span, within: Span, most: int = 300) -> Span:
    """Return the sentence that contains a span, shortened to `most` characters unless the span is longer."""
    begin, end = within.start, within.end
    for cut in _sentence_ends(text, within):
        if cut <= span.start:
            begin = max(begin, cut)
        elif cut >= span.end:
            end = cut
            break
    if end - begin > most:
        room = max(most - len(span), 0)
        left = max(begin, span.start - room // 2)
        right = min(end, max(span.end, left + most))
        begin = _to_word(text, left, begin, span.start)
        blank = max(text.rfind(" ", span.end, right), text.rfind("\n", span.end, right))
        end = right if right == end or blank < span.end else blank
    return Span(begin, end).trimmed(text)


def _to_word(text: str, left: int, begin: int, start: int) -> int:
    """Move to the start of the next word if the offset is inside a word."""
    if left == begin or text[left - 1].isspace():
        return left
    blank = _BLANK.search(text, left, start)
    return blank.end() if blank else left


def _sentence_ends(text: str, within: Span) -> Iterator[int]:
    found = {match.end() for match in BLANK_LINE.finditer(text, within.start, within.end)}
    found |= {match.end() for match in _SENTENCE.finditer(text, within.start, within.end)}
    return iter(sorted(found))
