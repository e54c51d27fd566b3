"""Measure how often the passage that is asked for by its own name comes first: `python -m benchmarks.identifiers`.

Usage: `python -m benchmarks.identifiers [--data FOLDER] [--count N] [--keep FOLDER] [--misses]`

Clause numbers and requirement ids are read from the raw text of the documents and their lists of headings below
`$KNOWLEDGE_EVAL_DATA`, else `../shared/data`, and symbols from the raw lines of source files, never from what the
product made of them; without the folder the script says so and ends. Each is asked as it stands and in a few words, by
the product's own search in its default mode. A clause is hit when the first result stands under a heading of that
number, a requirement when it holds the requirement's own words, a symbol when its lines hold a definition of the name.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.code_search import read_set, write_files
from benchmarks.product import environment, open_knowledge
from knowledge_mcp import wiring
from knowledge_mcp.engine.repositories.values import CodeQuery, IndexRequest
from knowledge_mcp.model.chunk import Chunk
from knowledge_mcp.model.query import SearchQuery
from knowledge_mcp.settings import read_settings

DOCUMENTS = (
    "docs/gold/sarif_v2.2_draft.md",
    "docs/docx/nasa_cfe_requirements.docx",
    "docs/pdf/mil_std_498_did_srs.pdf",
    "docs/pdf/mil_std_498_did_sdp.pdf",
    "docs/pdf/warc_tools_frs.pdf",
    "docs/pdf/warc_tools_srs.pdf",
)
TRACED = ("trace/req2req-cm1-nasa",)
CODE = ("code/commits-flask-py", "code/commits-gin-go")
CLAUSE_FORMS = ("{}", "clause {}", "section {}", "What does clause {} say?", "§ {}")
NAME_FORMS = ("{}", "What does {} require?", "requirement {}", "{} text", "explain {}")
SYMBOL_FORMS = ("{}", "{}()", "where is {} defined")
_HEADING = re.compile(r"^#+\s+(\d+(?:\.\d+)+)\.?\s+(\S.*?)\s*(?:\{.*\}|<a .*)?$", re.MULTILINE)
_TOC = re.compile(r"^(\d+(?:\.\d+)+)\.?\s+(\S.*)$")
_DEFINED = re.compile(r"^\s*(?:def|class|func(?:\s+\([^)]*\))?|type)\s+([A-Za-z_]\w{3,})", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Named:
    """Hold one question and the test of its first answer."""

    kind: str
    question: str
    is_hit: Callable[[Chunk], bool]


def clauses(data: Path, take: int) -> list[Named]:
    """Generate questions for clauses."""
    titles: dict[str, set[str]] = defaultdict(set)
    for match in _HEADING.finditer((data / DOCUMENTS[0]).read_text(encoding="utf-8")):
        titles[match.group(1)].add(_plain(match.group(2)))
    for name in ("mil_std_498_did_srs", "mil_std_498_did_sdp"):
        for row in json.loads((data / "docs/gold" / f"{name}.pdf.toc.json").read_text(encoding="utf-8")):
            if found := _TOC.match(row["title"]):
                titles[found.group(1)].add(_plain(found.group(2)))
    numbers = random.Random(8).sample(sorted(titles), min(take, len(titles)))
    return [
        Named("clause", CLAUSE_FORMS[place % len(CLAUSE_FORMS)].format(number), _under(titles[number]))
        for place, number in enumerate(numbers)
    ]


def requirements(data: Path, take: int) -> list[Named]:
    """Generate questions for requirements."""
    texts: dict[str, str] = {}
    warc = json.loads((data / "docs/gold/warc_requirements.json").read_text(encoding="utf-8"))
    for name in ("FRS", "SRS"):
        for key, text in warc[name].items():
            texts[text.split(" - ")[0] if " - " in text else key] = text.split(" - ", 1)[-1]
    for name in TRACED:
        for line in (data / name / "corpus.jsonl").open(encoding="utf-8"):
            row = json.loads(line)
            texts[row["_id"]] = row["text"]
    ids = random.Random(8).sample(sorted(texts), min(take, len(texts)))
    return [
        Named("requirement", NAME_FORMS[place % len(NAME_FORMS)].format(key), _saying(texts[key]))
        for place, key in enumerate(ids)
    ]


def symbols(data: Path, name: str, take: int) -> list[Named]:
    """Generate questions for symbols of one repository; tests and dunders are left out."""
    lines: dict[str, set[tuple[str, int]]] = defaultdict(set)
    for path, text in read_set(data / name).documents.items():
        for match in _DEFINED.finditer(text):
            place = text.count("\n", 0, match.start(1)) + 1
            lines[match.group(1)].add((path, place))
    names = sorted(each for each in lines if not each.startswith("__"))
    chosen = random.Random(8).sample(names, min(take, len(names)))
    return [
        Named("symbol", SYMBOL_FORMS[place % len(SYMBOL_FORMS)].format(each), _defining(lines[each]))
        for place, each in enumerate(chosen)
    ]


def _under(titles: set[str]) -> Callable[[Chunk], bool]:
    def is_hit(chunk: Chunk) -> bool:
        opening = _plain(chunk.content[:300])
        return any(title == _plain(chunk.section_title) or title in opening for title in titles)

    return is_hit


def _saying(text: str) -> Callable[[Chunk], bool]:
    words = _plain(text)[:60]
    return lambda chunk: words in _plain(chunk.content)


def _defining(places: set[tuple[str, int]]) -> Callable[[Chunk], bool]:
    def is_hit(chunk: Chunk) -> bool:
        path = chunk.document_id.partition(":")[2]
        first, last = chunk.lines or (0, 0)
        return any(path == file and first <= line <= last for file, line in places)

    return is_hit


def _plain(text: str) -> str:
    return re.sub(r"[\W_]+", " ", text).strip().casefold()


def ask_documents(data: Path, work: Path, questions: Sequence[Named], misses: list[str]) -> dict[str, list[bool]]:
    """Ingest the documents by the command line and ask for passages of them."""
    files = work / "files"
    files.mkdir(parents=True, exist_ok=True)
    for name in DOCUMENTS:
        (files / Path(name).name).write_bytes((data / name).read_bytes())
    for name in TRACED:
        for line in (data / name / "corpus.jsonl").open(encoding="utf-8"):
            row = json.loads(line)
            (files / f"{row['_id']}.md").write_text(f"# {row['title']}\n\n{row['text']}\n", encoding="utf-8")
    command = [str(Path(sys.executable).parent / "knowledge-ingest"), str(files)]
    done = subprocess.run(command, env=environment(work / "data"), check=False, capture_output=True, text=True)
    if done.returncode > 1:
        sys.exit(f"knowledge-ingest ended with {done.returncode}\n{done.stderr[-2000:]}")
    knowledge = open_knowledge(work / "data")
    found: dict[str, list[bool]] = defaultdict(list)
    for each in questions:
        hits = knowledge.search(SearchQuery(each.question)).hits
        _judge(each, [hit.chunk for hit in hits], found, misses)
    knowledge.close()
    return found


def ask_code(data: Path, work: Path, name: str, questions: Sequence[Named], misses: list[str]) -> dict[str, list[bool]]:
    """Index one set of source files and ask for its symbols."""
    place = work / Path(name).name
    write_files(read_set(data / name).documents, place / "files")
    settings = read_settings(environ={"DATA_PATH": str(place / "data"), "EMBEDDING_PROVIDER": "local"}).settings
    service = wiring.build_repositories(settings)
    service.index(IndexRequest(str(place / "files"), name="set"))
    found: dict[str, list[bool]] = defaultdict(list)
    for each in questions:
        hits = service.search_code(CodeQuery(each.question, limit=10)).hits
        _judge(each, [hit.chunk for hit in hits], found, misses)
    service.close()
    return found


def _judge(each: Named, chunks: Sequence[Chunk], found: dict[str, list[bool]], misses: list[str]) -> None:
    good = bool(chunks) and each.is_hit(chunks[0])
    found[each.kind].append(good)
    if not good:
        first = " ".join(chunks[0].embedding_text.split())[:100] if chunks else "nothing"
        place = next((place for place, chunk in enumerate(chunks, 1) if each.is_hit(chunk)), None)
        misses.append(f"{each.question!r}: right one at {place}; first: {first}")


def main() -> None:
    """Ask, and print one row for each kind."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("KNOWLEDGE_EVAL_DATA", "../shared/data")))
    parser.add_argument("--count", type=int, default=300, help="questions in all, a third of each kind")
    parser.add_argument("--keep", type=Path, help="work here and keep it, so that a second run ingests nothing")
    parser.add_argument("--misses", action="store_true", help="print what came first instead")
    options = parser.parse_args()
    if not options.data.is_dir():
        print(f"SKIPPED: no documents in {options.data}; set KNOWLEDGE_EVAL_DATA")
        return
    take = -(-options.count // 3)
    misses: list[str] = []
    found: dict[str, list[bool]] = {}
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as temporary:
        work = options.keep or Path(temporary)
        questions = [*clauses(options.data, take), *requirements(options.data, take)]
        found |= ask_documents(options.data, work / "documents", questions, misses)
        found["symbol"] = []
        for name in CODE:
            asked = symbols(options.data, name, -(-take // len(CODE)))
            found["symbol"] += ask_code(options.data, work, name, asked, misses)["symbol"]
    print("| kind | questions | hit@1 |\n|---|---|---|")
    for kind, good in found.items():
        print(f"| {kind} | {len(good)} | {sum(good) / len(good):.3f} |")
    everything = [each for good in found.values() for each in good]
    print(f"| all | {len(everything)} | {sum(everything) / len(everything):.3f} |")
    print(f"{time.perf_counter() - started:.0f} s")
    if options.misses:
        print("\n".join(misses))


if __name__ == "__main__":
    main()
