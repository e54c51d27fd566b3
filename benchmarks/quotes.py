"""Measure whether true quotes are found, and whether an altered one is ever called true.

Usage: `python -m benchmarks.quotes [--keep FOLDER] [--documents 8] [--of-each 100] [--seed 7] [--show]`

Documents are taken in turn from `docs/pdf`, `docs/md` and `docs/docx` below `$KNOWLEDGE_EVAL_DATA`, else
`../shared/data` (without them, from `examples/documents`), and ingested with default settings. Quotes are cut out of
their canonical texts at random: true ones as they stand or set again (lines, hyphens at line ends, curly quotation
marks, dashes, ligatures, case), altered ones changed in one place, put together from two, or said of the wrong
document. Half of them name the document. Printed are verdicts by kind of quote, recall of the true (bar: .99), altered
ones called exact or normalised (bar: none), and milliseconds by question; it ends with 1 where a bar is missed.
"""

from __future__ import annotations

import argparse
import itertools
import os
import random
import re
import statistics
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.product import environment, open_knowledge
from knowledge_mcp.engine.evidence.quotes import verify_quote
from knowledge_mcp.model.evidence import QuoteAnswer, QuoteQuery, QuoteVerdict
from knowledge_mcp.model.ingest import IngestOptions
from knowledge_mcp.sources.files import FileSource

RECALL = 0.99
TRUE = (QuoteVerdict.EXACT, QuoteVerdict.NORMALISED)
FOLDERS = (("pdf", "*.pdf"), ("md", "*.md"), ("docx", "*.docx"))
LARGEST = 900_000
"""Bytes of the largest file taken: what is measured is comparing, not reading."""

_SENTENCE = re.compile(r"[A-Z][^.!?\n|]{30,300}[.!?](?=\s)")
_MODAL = re.compile(r"\b(shall|must|should|may|can|will|is|are)\b(?! not\b)")
_NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?![\w.])")


@dataclass(frozen=True, slots=True)
class Case:
    """Hold one quote, what kind it is, and the document it is said to stand in, None for any."""

    kind: str
    quote: str
    document_id: str | None


class Corpus:
    """Hold the texts, and cut quotes out of them, the same ones for the same seed."""

    def __init__(self, texts: dict[str, str], seed: int) -> None:
        self.texts = texts
        self.random = random.Random(seed)
        self.sentences = {name: [match.group() for match in _SENTENCE.finditer(text)] for name, text in texts.items()}
        self.sentences = {name: found for name, found in self.sentences.items() if len(found) > 20}
        self._bare = {name: _bare(text) for name, text in texts.items()}
        self.vocabulary = sorted({word for text in texts.values() for word in re.findall(r"\b[a-z]{4,12}\b", text)})

    def sentence(self) -> tuple[str, str]:
        """Choose a document and one of its sentences."""
        name = self.random.choice(sorted(self.sentences))
        return name, self.random.choice(self.sentences[name])

    def stretch(self) -> tuple[str, str]:
        """Choose a document and some of its words in a row, whatever they are: sentences, lists, rows of tables."""
        name = self.random.choice(sorted(self.sentences))
        text = self.texts[name]
        while True:
            start = self.random.randrange(len(text))
            words = list(itertools.islice(re.finditer(r"\S+", text[start : start + 2000]), 60))
            first, count = 1, self.random.randint(6, 45)
            if len(words) < first + count + 1 or re.search(
                r"[A-Za-z][-\u2010]\s*$", text[: start + words[first].start()]
            ):
                continue
            quote = text[start + words[first].start() : start + words[first + count].start()].strip()
            if re.search(r"[A-Za-z][-\u2010]$", quote) or len(re.findall(r"[A-Za-z]{3,}", quote)) < 4:
                continue
            return name, quote

    def stands(self, quote: str, name: str | None = None) -> bool:
        """Tell whether the letters and digits of a quote stand in a row in a document, or in any."""
        bare = _bare(quote)
        return any(bare in text for each, text in self._bare.items() if name in {None, each})


def _bare(text: str) -> str:
    return "".join(character for character in text.lower() if character.isalnum())


# ---- true quotes ----------------------------------------------------------------------------------------------------


def as_it_stands(corpus: Corpus) -> tuple[str, str]:
    """Quote a sentence."""
    return corpus.sentence()


def any_words(corpus: Corpus) -> tuple[str, str]:
    """Quote words in a row, over lines, paragraphs, cells and passages."""
    return corpus.stretch()


def wrapped(corpus: Corpus) -> tuple[str, str]:
    """Set the lines again."""
    name, quote = corpus.stretch() if corpus.random.random() < 0.5 else corpus.sentence()
    lines, line = list[str](), ""
    for word in quote.split():
        if len(line) + len(word) > 38:
            lines.append(line)
            line = ""
        line = f"{line} {word}".strip()
    return name, "\n".join([*lines, line])


def hyphenated(corpus: Corpus) -> tuple[str, str]:
    """Break long words at line ends."""
    name, quote = corpus.sentence()

    def broken(match: re.Match[str]) -> str:
        word = match.group()
        place = corpus.random.randint(3, len(word) - 3)
        return f"{word[:place]}-\n{word[place:]}" if corpus.random.random() < 0.3 else word

    return name, re.sub(r"\b[a-z]{8,}\b", broken, quote)


def set_in_print(corpus: Corpus) -> tuple[str, str]:
    """Set with curly quotation marks, long dashes, ligatures, hard blanks, soft hyphens, or capitals."""
    name, quote = corpus.sentence()
    quote = re.sub(r'"([^"]*)"', "\u201c\\1\u201d", quote).replace("'", "\u2019").replace(" - ", " \u2013 ")
    quote = quote.replace("ffi", "\ufb03").replace("fi", "\ufb01").replace("fl", "\ufb02")
    quote = re.sub(r"(?<=[a-z]{4})(?=[a-z]{4})", "\u00ad", quote, count=2).replace(" ", "\u00a0", 2)
    return name, quote.lower() if corpus.random.random() < 0.3 and not re.search(r"\d", quote) else quote


# ---- altered quotes -------------------------------------------------------------------------------------------------


def one_word(corpus: Corpus) -> tuple[str, str]:
    """Change, leave out or add one word."""
    name, quote = corpus.sentence()
    words = quote.split(" ")
    place = corpus.random.randrange(1, len(words) - 1)
    other = corpus.random.choice(corpus.vocabulary)
    words[place : place + 1] = corpus.random.choice([[other], [], [words[place], other]])
    return name, " ".join(words)


def one_number(corpus: Corpus) -> tuple[str, str]:
    """Change one digit, or leave the decimal point out."""
    while True:
        name, quote = corpus.sentence()
        numbers = list(_NUMBER.finditer(quote))
        if numbers:
            break
    match = corpus.random.choice(numbers)
    number = match.group()
    if "." in number and corpus.random.random() < 0.5:
        changed = number.replace(".", "")
    else:
        place = corpus.random.choice([n for n, character in enumerate(number) if character.isdigit()])
        digit = corpus.random.choice([each for each in "0123456789" if each != number[place]])
        changed = number[:place] + digit + number[place + 1 :]
    return name, quote[: match.start()] + changed + quote[match.end() :]


def negated(corpus: Corpus) -> tuple[str, str]:
    """Put a "not" in, or leave it out."""
    while True:
        name, quote = corpus.sentence()
        if " not " in quote:
            return name, quote.replace(" not ", " ", 1)
        if _MODAL.search(quote) and corpus.random.random() < 0.2:
            return name, _MODAL.sub(r"\1 not", quote, count=1)


def stitched(corpus: Corpus) -> tuple[str, str]:
    """Put two sentences of one document or of two together as if they followed one another."""
    name, first = corpus.sentence()
    other, second = corpus.sentence()
    while first == second or (corpus.random.random() < 0.7 and other != name):
        other, second = corpus.sentence()
    return name if other == name else "", f"{first} {second}"


def wrong_document(corpus: Corpus) -> tuple[str, str]:
    """Say of a quote that it stands in another document."""
    while True:
        name, quote = corpus.sentence()
        others = [each for each in sorted(corpus.texts) if not corpus.stands(quote, each)]
        if name not in others and others:
            return corpus.random.choice(others), quote


Make = Callable[[Corpus], tuple[str, str]]
TRUE_KINDS: tuple[Make, ...] = (as_it_stands, any_words, wrapped, hyphenated, set_in_print)
ALTERED_KINDS: tuple[Make, ...] = (one_word, one_number, negated, stitched, wrong_document)
EXPECTED = {make.__name__: (QuoteVerdict.ALTERED,) for make in ALTERED_KINDS} | {
    **{make.__name__: TRUE for make in TRUE_KINDS},
    stitched.__name__: (QuoteVerdict.STITCHED,),
    wrong_document.__name__: (QuoteVerdict.ELSEWHERE,),
}


def make_cases(corpus: Corpus, of_each: int) -> list[Case]:
    """Make all quotes; an altered one that happens to stand somewhere is rebuilt."""
    cases: list[Case] = []
    for make in (*TRUE_KINDS, *ALTERED_KINDS):
        for number in range(of_each):
            name, quote = make(corpus)
            while make in ALTERED_KINDS and make is not wrong_document and corpus.stands(quote):
                name, quote = make(corpus)
            named = name if make is wrong_document or number % 2 == 0 else ""
            cases.append(Case(make.__name__, quote, named or None))
    return cases


# ---- measuring ------------------------------------------------------------------------------------------------------


def chosen_files(count: int) -> list[Path]:
    """Take files in turn from each folder, by name."""
    data = Path(os.environ.get("KNOWLEDGE_EVAL_DATA", "../shared/data")) / "docs"
    if not data.is_dir():
        print("note: no evaluation data; measuring on the examples, which are small")
        return sorted(path for path in Path("examples/documents").iterdir() if path.is_file())[:count]
    found = [
        sorted(path for path in (data / folder).glob(pattern) if path.stat().st_size < LARGEST)
        for folder, pattern in FOLDERS
    ]
    mixed = [path for turn in itertools.zip_longest(*found) for path in turn if path is not None]
    return mixed[:count]


def measure(work: Path, files: list[Path], of_each: int, seed: int, show: bool) -> bool:
    """Ingest what is not there yet, ask every question, print the tables; returns whether the bars are held."""
    from knowledge_mcp.settings import load_settings
    from knowledge_mcp.wiring import build_base

    knowledge = open_knowledge(work)
    for path in files:
        knowledge.ingest(FileSource(path), IngestOptions())
    texts = {record.id: knowledge.document_text(record.id) for record in knowledge.documents()}
    knowledge.close()
    size = sum(map(len, texts.values()))
    cases = make_cases(Corpus(texts, seed), of_each)
    print(f"{len(texts)} documents, {size:,} characters, {len(cases)} quotes\n")
    base = build_base(load_settings(environ=environment(work)))
    verdicts: dict[str, Counter[QuoteVerdict]] = defaultdict(Counter)
    times: list[float] = []
    busy: list[float] = []
    for case in cases:
        started, worked = time.perf_counter(), time.process_time()
        answer = verify_quote(base, QuoteQuery(case.quote, case.document_id))
        times.append(1000 * (time.perf_counter() - started))
        busy.append(1000 * (time.process_time() - worked))
        verdicts[case.kind][answer.verdict] += 1
        if show and answer.verdict not in EXPECTED[case.kind]:
            show_case(case, answer)
    base.embedder.close()
    base.store.close()
    held = report(verdicts, of_each)
    for name, each in (("passed", times), ("of processor", busy)):
        cuts = statistics.quantiles(each, n=20)
        print(f"milliseconds {name}: p50 {statistics.median(each):.1f}, p95 {cuts[-1]:.1f}, most {max(each):.1f}")
    return held


def show_case(case: Case, answer: QuoteAnswer) -> None:
    """Print one quote that was judged otherwise than expected."""
    place = answer.places[0] if answer.places else None
    print(f"--- {case.kind} in {case.document_id}: {answer.verdict}\n    quoted  {case.quote!r}")
    if place is not None:
        result = [(each.quoted, each.printed) for each in place.differences]
        print(f"    printed {place.passage.text!r} ({place.passage.locator.document_id})\n    {result}")


def report(verdicts: dict[str, Counter[QuoteVerdict]], of_each: int) -> bool:
    """Print the table and what it comes to; returns whether the bars are held."""
    print(f"| quote | {' | '.join(QuoteVerdict)} |\n|---|{'---|' * len(QuoteVerdict)}")
    for kind, counts in verdicts.items():
        print(f"| {kind.replace('_', ' ')} | {' | '.join(str(counts[each]) for each in QuoteVerdict)} |")
    found = sum(verdicts[make.__name__][each] for make in TRUE_KINDS for each in TRUE)
    false = sum(verdicts[make.__name__][each] for make in ALTERED_KINDS for each in TRUE)
    recall = found / (of_each * len(TRUE_KINDS))
    print(f"\nrecall of true quotes {recall:.4f} (bar {RECALL}); altered ones called true: {false} (bar 0)")
    return recall >= RECALL and false == 0


def main() -> None:
    """Measure, and end with 1 where a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", type=Path, help="work here and keep it, so that a second run ingests nothing")
    parser.add_argument("--documents", type=int, default=8)
    parser.add_argument("--of-each", type=int, default=100, help="quotes of each kind")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--show", action="store_true", help="print what was judged otherwise than expected")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        work = options.keep or Path(temporary)
        held = measure(work, chosen_files(options.documents), options.of_each, options.seed, options.show)
    sys.exit(0 if held else 1)


if __name__ == "__main__":
    main()
