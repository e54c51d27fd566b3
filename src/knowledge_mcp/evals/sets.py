"""From a path to a set: which form it has is told by what lies there."""

from __future__ import annotations

from pathlib import Path

from knowledge_mcp.evals.beir import is_beir, read_beir
from knowledge_mcp.evals.own import is_own, read_own
from knowledge_mcp.evals.pages import is_pages, read_pages
from knowledge_mcp.evals.questions import EvalSet
from knowledge_mcp.model.errors import InvalidInputError, NotFoundError

__all__ = ["open_set"]

_FORMS = (
    "A set is a folder with corpus.jsonl, queries.jsonl and qrels/*.tsv, a folder with questions.jsonl and pdfs/, or a "
    "file of questions (.jsonl or .csv); `knowledge eval draft` writes one."
)


def open_set(path: Path, *, split: str | None = None, hold_back: float = 0.0, documents: Path | None = None) -> EvalSet:
    """Read the set at a path, whatever its form; arguments and errors as in its reader.

    Raises:
        NotFoundError: there is nothing.
        InvalidInputError: it has no known form, or does not go with an argument.
    """
    if not path.exists():
        raise NotFoundError(f"There is no file or folder {path}.", suggestion=_FORMS)
    if path.is_dir() and is_beir(path):
        _only(path, "brings its own documents", documents=documents)
        return read_beir(path, split=split, hold_back=hold_back)
    _only(path, "is not in the form of BEIR", split=split, hold_back=hold_back or None)
    if path.is_dir() and is_pages(path):
        _only(path, "brings its own documents", documents=documents)
        return read_pages(path)
    if path.is_file() and is_own(path):
        return read_own(path, documents=documents)
    raise InvalidInputError(f"{path} is no evaluation set.", suggestion=_FORMS)


def _only(path: Path, why: str, **given: object) -> None:
    for name, value in given.items():
        if value is not None:
            option = {"documents": "--docs", "split": "--split", "hold_back": "--hold-back"}[name]
            raise InvalidInputError(f"{option} says nothing about {path}, which {why}.")
