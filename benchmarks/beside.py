"""Measure texts that stand beside the running text: made pages with cards, side notes and columns, set in many ways.

Usage: `python -m benchmarks.beside [--seeds 3] [--show]`

For each manner: sentences of the running text and of what stands beside it that are found whole in one block, those
that hold words of both, and whether a statement is made of words of both.
"""

from __future__ import annotations

import argparse
import io
import random
import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.reading import read_document
from knowledge_mcp.model.document import Document

_NOUNS = ("pump", "valve", "reader", "gate", "sensor", "panel", "cable", "filter", "clock", "relay", "motor", "board")
_VERBS = ("records", "reports", "follows", "checks", "controls", "replaces", "measures", "limits")
_TAILS = (
    "whenever the pressure falls", "before the next cycle begins", "as long as nobody stops it",
    "with a tolerance of one part", "until the operator has seen it", "because the line is long",
    "in the order of their numbers", "after the lamp turns green",
)  # fmt: skip
_WHITE = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class Manner:
    """How a page is set: where the card stands, its print against the body's, how far its lines are off the body's."""

    name: str
    side: str = "right"
    size: float = 9.0
    width: float = 110.0
    gutter: float = 16.0
    shift: float = 0.0
    face: str = "Helvetica"
    card_face: str = "Helvetica"
    lines: int = 2
    pitch: float = 0.0


MANNERS = (
    Manner("card to the right"),
    Manner("card to the left", side="left"),
    Manner("side note in small print", size=7.0, width=80.0),
    Manner("side note in italics", size=8.0, card_face="Helvetica-Oblique"),
    Manner("card in bold", card_face="Helvetica-Bold", size=10.0),
    Manner("the body's print and pitch, half a line off", size=10.0, shift=6.0),
    Manner("the body's print and baselines", size=10.0, pitch=13.0),
    Manner("narrow gutter", gutter=11.0, shift=4.0),
    Manner("a wide card", width=180.0, gutter=20.0, shift=3.0),
    Manner("Times beside Times", face="Times-Roman", card_face="Times-Roman", size=9.0, shift=2.0),
    Manner("typewriter beside text", card_face="Courier", size=7.0, width=150.0),
    Manner("one sentence", lines=1, shift=5.0),
)


def sentence(random_: random.Random, force: str = "") -> str:
    """Make a sentence, of seven words and more."""
    one, other = random_.sample(_NOUNS, 2)
    verb = f"{force} {random_.choice(_VERBS)[:-1]}" if force else random_.choice(_VERBS)
    return (
        f"The {one} {random_.randint(10, 99)} {verb} the {other} {random_.randint(100, 999)} {random_.choice(_TAILS)}."
    )


def page(manner: Manner, seed: int) -> tuple[bytes, list[str], list[str]]:
    """Set two pages; returns them, the running text's sentences and the card's."""
    from reportlab.pdfgen import canvas

    random_ = random.Random(f"{manner.name} {seed}")
    paragraphs = [[sentence(random_, "must" if n % 2 else "") for n in range(4)] for _ in range(5)]
    cards = [[sentence(random_) for _ in range(manner.lines)] for _ in range(2)]
    buffer = io.BytesIO()
    drawn: Any = canvas.Canvas(buffer, pagesize=(595, 842), invariant=1)
    left, right = 72.0, 523.0
    if manner.side == "right":
        right -= manner.width + manner.gutter
        card_left = right + manner.gutter
    else:
        card_left = left
        left += manner.width + manner.gutter
    for number, card in enumerate(cards):
        drawn.setFont("Helvetica-Bold", 14)
        drawn.drawString(72, 750, f"{number + 1} Parts of the plant")
        y = 720.0
        for paragraph in paragraphs[:3] if number == 0 else paragraphs[3:]:
            y = _flow(drawn, " ".join(paragraph), left, right, y, manner.face, 10.0, 13.0) - 7
        start = 720.0 - 13.0 * random_.randint(1, 5) - manner.shift
        pitch = manner.pitch or manner.size * 1.22
        _flow(drawn, " ".join(card), card_left, card_left + manner.width, start, manner.card_face, manner.size, pitch)
        drawn.showPage()
    drawn.save()
    return buffer.getvalue(), [each for some in paragraphs for each in some], [each for some in cards for each in some]


def _flow(drawn: Any, text: str, left: float, right: float, y: float, face: str, size: float, pitch: float) -> float:
    from reportlab.pdfbase.pdfmetrics import stringWidth

    line = ""
    for word in [*text.split(), ""]:
        if line and (not word or stringWidth(f"{line} {word}", face, size) > right - left):
            drawn.setFont(face, size)
            drawn.drawString(left, y, line)
            y, line = y - pitch, ""
        line = f"{line} {word}".strip()
    return y


def found_in(document: Document, sentences: Sequence[str]) -> int:
    """Count the sentences that stand whole in one block."""
    blocks = [_WHITE.sub(" ", block.span.of(document.text)) for block in document.blocks]
    return sum(any(each in block for block in blocks) for each in sentences)


def main() -> None:
    """Print one line for each manner, and the sums."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--show", action="store_true")
    options = parser.parse_args()
    print(f"{'manner':46} text        beside")
    sums = [0, 0, 0, 0]
    with tempfile.TemporaryDirectory() as folder:
        for manner in MANNERS:
            counts = [0, 0, 0, 0]
            for seed in range(options.seeds):
                data, text, card = page(manner, seed)
                path = Path(folder) / f"{seed}.pdf"
                path.write_bytes(data)
                document = read_document(path)
                for place, value in enumerate(
                    (found_in(document, text), len(text), found_in(document, card), len(card))
                ):
                    counts[place] += value
                if options.show and (found_in(document, text) < len(text) or found_in(document, card) < len(card)):
                    print(*(block.span.of(document.text)[:160] for block in document.blocks), sep="\n   ")
            sums = [one + other for one, other in zip(sums, counts, strict=True)]
            print(f"{manner.name:46} {counts[0]:3} of {counts[1]:3}  {counts[2]:3} of {counts[3]:3}")
    print(f"{'all':46} {sums[0]:3} of {sums[1]:3}  {sums[2]:3} of {sums[3]:3}")


if __name__ == "__main__":
    main()
