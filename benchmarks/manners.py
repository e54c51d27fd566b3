"""Measure headings, bookmarks hidden, on twenty made documents with what looks like headings and is none.

Usage: `python -m benchmarks.manners [--seeds 4] [--show]`

Five manners: maps and charts, faxes with noise of recognition, callouts with bold items and references over two lines,
run-in titles with appendices and a foreword, and four copies of a document in one file, two of them without print that
stands out. Scored as `benchmarks.parsing` scores: by the made documents' own bookmarks.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import mean, median

from benchmarks.beside import sentence
from benchmarks.parsing import bookmarks, compare, headings_of, item_of, show_differences, text_of_pages
from benchmarks.printed import Look, Part, as_pdf
from knowledge_mcp.readers.pdf.reader import PdfReader

_TITLES = (
    "Field survey", "Water levels", "Sampling of wells", "Pumping tests", "Laboratory methods", "Results of the tests",
    "Quality of the data", "Land use", "Costs of operation", "Monitoring plan", "Roads and access",
    "Staff and training",
)  # fmt: skip
_PLACES = ("Oakfield", "Lake Tarn", "San Marco", "NORTH BASIN", "Mill Creek", "EL PASO ALTO", "Gravel Pit", "Route 66")
_NOISE = ("~. ,;i l1| .", "0-e-el-k- 5.A.:01.6e.e.", "ii '.l  .~ rn", ". - -_ . .. =", "lI1l| 0O", "r.n ,~ ^ :;")


def _text(random_: random.Random, sentences: int = 5) -> Part:
    return Part("paragraph", " ".join(sentence(random_) for _ in range(sentences)))


def _chapters(random_: random.Random, count: int, more: Callable[[int], list[Part]]) -> list[Part]:
    titles = random_.sample(_TITLES, count)
    parts: list[Part] = []
    for number, title in enumerate(titles, 1):
        parts += [Part("heading", title, 1, str(number)), _text(random_), _text(random_)]
        for below in range(1, 3):
            parts += [Part("heading", f"{random_.choice(_TITLES)} in part {below}", 2, f"{number}.{below}")]
            parts += [_text(random_, 4), *more(number)]
    return parts


def maps(random_: random.Random) -> list[Part]:
    """Make a report whose figures have labels of all sizes, scale bars and axes."""

    def figure(number: int) -> list[Part]:
        names = random_.sample(_PLACES, 5)
        labels = [
            (random_.uniform(90, 400), random_.uniform(140, 520), random_.choice([7, 9, 12, 16]), n) for n in names
        ]
        scale = [(300 + 40 * n, 560.0, 8.0, str(5 * n)) for n in range(4)] + [(470.0, 560.0, 8.0, "KILOMETERS")]
        axis = [(90.0, 600 + 30 * n, 9.0, f"{100 - 20 * n}") for n in range(5)]
        axis += [
            (200.0, 745.0, 11.0, "Time in hours"),
            (90.0, 585.0, 11.0, "Flow (m3/s)"),
            (90.0, 120.0, 13.0, "EXPLANATION"),
        ]
        some = [Part("label", "", 2 if random_.random() < 0.5 else 1, places=tuple(labels + scale + axis))]
        return [Part("page", ""), *some, Part("page", "")] if number % 2 else []

    return _chapters(random_, 4, figure)


def faxes(random_: random.Random) -> list[Part]:
    """Make letters and reports that went through a fax and were recognised badly here and there."""

    def noise(number: int) -> list[Part]:
        head = (
            72.0,
            30.0,
            11.0,
            f"{number:02}/03/2004 14:2{number}  FROM: SMITH LTD  +44 171 555 0{number}00  P.0{number}",
        )
        spots = [
            (random_.uniform(80, 300), random_.uniform(700, 780), random_.choice([9, 14, 18]), random_.choice(_NOISE))
        ]
        return [Part("page", ""), Part("label", "", 2, places=(head, *spots))]

    return _chapters(random_, 4, noise)


def callouts(random_: random.Random) -> list[Part]:
    """Make a guide with bold callouts, bold items and references that go over two lines."""

    def more(number: int) -> list[Part]:
        here = f"{number}.{random_.randint(1, 2)}"
        far = " ".join(sentence(random_) for _ in range(2))
        return [
            Part("bold", random_.choice(["Important!", "Do not open the valve", "Read this first", "Keep it closed"])),
            Part("paragraph", f"{far} All of this is told again with its figures and with its tables in chapter "
                 f"{here} and {number + 1}.1 Costs and staff of this guide, which see."),
            Part("bold-item", "Tank of the pump", 0, "1."),
            Part("bold-item", "Gate of the valve", 0, "2."),
            Part("bold-item", "Lamp of the panel", 0, "3."),
        ]  # fmt: skip

    return _chapters(random_, 4, more)


def run_ins(random_: random.Random) -> list[Part]:
    """Make a manual with a foreword, run-in titles from a. to f., and appendices."""
    parts = [Part("heading", "Foreword"), _text(random_), Part("heading", "Executive Overview"), _text(random_)]
    for number, title in enumerate(random_.sample(_TITLES, 4), 1):
        parts += [Part("heading", title, 1, str(number)), _text(random_)]
        for letter, run_in in zip("abcdef", random_.sample(_TITLES, 6), strict=True):
            parts.append(Part("run-in", f"{run_in}.", 2, f"{letter}.", more=_text(random_, 3).text))
    for letter, title in zip("ABC", random_.sample(_TITLES, 3), strict=True):
        parts += [Part("heading", title, 1, f"Appendix {letter}"), _text(random_), _text(random_)]
    return parts


def copies(random_: random.Random) -> list[Part]:
    """Make four copies of a document in one file; the last two are set in one print throughout."""
    one = _chapters(random_, 3, lambda _: [])
    plain = [Part("plain" if part.role == "heading" else part.role, part.text, part.level, part.number) for part in one]
    parts: list[Part] = []
    for copy in (one, one, plain, plain):
        parts += [*copy, Part("page", "")]
    return parts


MANNERS = (maps, faxes, callouts, run_ins, copies)


def main() -> None:
    """Print a line for each document, and median and mean of F1."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--show", action="store_true")
    options = parser.parse_args()
    scores: list[float] = []
    print(f"{'document':14} gold found precision recall    F1")
    with tempfile.TemporaryDirectory() as folder:
        for manner in MANNERS:
            for seed in range(options.seeds):
                random_ = random.Random(f"{manner.__name__} {seed}")
                look = Look(
                    face=("Helvetica", "Times")[seed % 2], larger=seed != 3, running=f"Report {seed} of the plant"
                )
                path = Path(folder) / f"{manner.__name__}-{seed}.pdf"
                path.write_bytes(as_pdf(manner(random_), look))
                gold = bookmarks(path, Path(folder) / "none")
                reader = PdfReader(use_outline=False)
                score = compare(path.name, gold, headings_of(reader.read(item_of(path))), text_of_pages(path))
                reader.close()
                scores.append(score.f1)
                print(
                    f"{path.stem:14} {score.gold:4} {score.found:5} {score.precision:9.3f} {score.recall:6.3f} "
                    f"{score.f1:5.3f}"
                )
                if options.show:
                    show_differences(score)
    print(f"{len(scores)} documents: F1 median {median(scores):.3f} mean {mean(scores):.3f}")


if __name__ == "__main__":
    main()
