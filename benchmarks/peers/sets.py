"""Labelled sets as every peer gets them: texts with their titles in front, questions, grades; standard library only."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LONGEST_QUESTION = 1000
"""Characters of a question that are asked, of everyone: the product's search of code takes no more."""


@dataclass(frozen=True, slots=True)
class JudgedSet:
    """Hold one set.

    Attributes:
        name: its path below the data, such as `ir/cranfield`.
        folder: where it lies.
        documents: text by id, the title and a blank line before it; blank documents are left out.
        questions: text by id; those that have a relevant document.
        grades: by question, the grade (1 or more) by document.
    """

    name: str
    folder: Path
    documents: Mapping[str, str]
    questions: Mapping[str, str]
    grades: Mapping[str, Mapping[str, int]]

    @property
    def is_code(self) -> bool:
        """Tell whether its documents are source files."""
        return self.name.startswith(("code/", "trace/req2code"))


def data_folder() -> Path:
    """Name the folder of the labelled sets."""
    return Path(os.environ.get("KNOWLEDGE_EVAL_DATA", "../shared/data"))


def read_set(data: Path, name: str) -> JudgedSet:
    """Read a set in the form of BEIR."""
    folder = data / name
    grades: dict[str, dict[str, int]] = {}
    for line in (folder / "qrels" / "test.tsv").read_text(encoding="utf-8").split("\n")[1:]:
        question, document, grade = line.split("\t") if line else ("", "", "0")
        if int(grade) > 0:
            grades.setdefault(question, {})[document] = int(grade)
    texts = {row["_id"]: f"{row.get('title') or ''}\n\n{row['text']}".strip() for row in _rows(folder / "corpus.jsonl")}
    asked = {row["_id"]: row["text"].strip()[:LONGEST_QUESTION] for row in _rows(folder / "queries.jsonl")}
    return JudgedSet(
        name=name,
        folder=folder,
        documents={key: text for key, text in texts.items() if text},
        questions={key: text for key, text in asked.items() if text and key in grades},
        grades=grades,
    )


def ndcg(ranking: Sequence[str], grades: Mapping[str, int], depth: int = 10) -> float:
    """Work out nDCG of a ranking of documents; a grade g gains 2^g - 1."""
    found = (2 ** grades.get(key, 0) - 1 for key in ranking[:depth])
    best = sorted((2**grade - 1 for grade in grades.values()), reverse=True)[:depth]
    return _discounted(list(found)) / _discounted(best)


def _discounted(gains: Sequence[int]) -> float:
    return sum(gain / math.log2(place + 2) for place, gain in enumerate(gains))


def _rows(path: Path) -> list[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines if line.strip()]
