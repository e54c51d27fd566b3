"""VALUES of an evaluation: questions, the places where their answers stand, and how often a place is graded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from knowledge_mcp.model.source import DOCUMENT_PATTERNS, SourceItem

Kind = Literal["beir", "pages", "questions"]
"""What a set is: a folder in the form of BEIR, PDFs with pages of evidence, or somebody's own file of questions."""


@dataclass(frozen=True, slots=True)
class AnswerPlace:
    """Say where an answer stands; what is None may be anything.

    Attributes:
        document: id, title, file name or file stem of the document; case does not matter. In a set of BEIR's form the
            key of `corpus.jsonl`, to the letter.
        clause: number of the clause; all below it counts too.
        page: physical page from 1.
        quote: words that stand there; blanks, case, quotation marks and dashes do not matter.
        grade: how good an answer it is, from 1.
    """

    document: str | None = None
    clause: str | None = None
    page: int | None = None
    quote: str | None = None
    grade: int = 1


@dataclass(frozen=True, slots=True)
class Question:
    """Ask something whose answer is known, or known to be missing.

    Attributes:
        id: unique in its set.
        text: what is asked.
        places: where the answer stands; empty exactly where the question is unanswerable.
        kind: what it was drafted from, or whatever its author calls it; empty where nobody says.
        draft: made by a program, and not yet read by a person.
    """

    id: str
    text: str
    places: tuple[AnswerPlace, ...]
    kind: str = ""
    draft: bool = False

    @property
    def unanswerable(self) -> bool:
        """Return whether the right answer is that there is none."""
        return not self.places


@dataclass(frozen=True, slots=True)
class EvalSet:
    """Hold one set of questions with the documents that they are asked of.

    Attributes:
        name: of the set, as results are named.
        kind: see `Kind`.
        questions: in the order of their file.
        documents: what is to be ingested from memory, in order; empty where files or a present base are meant.
        keys: the document's key in the set, by its uri; empty where documents are known by their own names.
        files: a folder, or one file, to be ingested, None where there is none.
        patterns: file names that count in that folder.
        notes: what a reader of the results should know, one sentence each.
    """

    name: str
    kind: Kind
    questions: tuple[Question, ...]
    documents: tuple[SourceItem, ...] = ()
    keys: Mapping[str, str] = field(default_factory=dict[str, str])
    files: Path | None = None
    patterns: tuple[str, ...] = DOCUMENT_PATTERNS
    notes: tuple[str, ...] = ()
