"""OCR engines for tests: one that says what it is told to, and programs that stand in for `tesseract`."""

from __future__ import annotations

import struct
import threading
from collections.abc import Iterable
from pathlib import Path

from knowledge_mcp.model.errors import KnowledgeError
from knowledge_mcp.model.extraction import OcrPage, OcrWord
from knowledge_mcp.ocr.invocation import mean_confidence, text_of


def page_of(*lines: str, confidence: float = 95.0, size: tuple[int, int] = (1240, 800)) -> OcrPage:
    """Make a page of lines set in one block, each word in a box of its own."""
    words: list[OcrWord] = []
    for row, line in enumerate(lines):
        left, top = 90, 90 + 60 * row
        for text in line.split():
            right = left + 22 * len(text)
            words.append(OcrWord(text, confidence, (left, top, right, top + 40), row))
            left = right + 16
    found = tuple(words)
    return OcrPage(found, text_of(found), mean_confidence(found), 0, 0.0, *size)


class ScriptedEngine:
    """Answer page after page; an error among the answers is raised.

    Attributes:
        seen: width and height of the images that were given.
        together: the most images that were in work at one time.
    """

    def __init__(self, answers: Iterable[OcrPage | KnowledgeError | OSError], *, workers: int = 1) -> None:
        self._answers = list(answers)
        self._workers = workers
        self._lock = threading.Lock()
        self._inside = 0
        self.together = 0
        self.seen: list[tuple[int, int]] = []
        self.languages: list[str] = []
        self.unable: KnowledgeError | None = None

    @property
    def version(self) -> str:
        return "" if self.unable else "scripted-1"

    @property
    def workers(self) -> int:
        return self._workers

    def ready(self, language: str = "eng") -> None:
        if self.unable is not None:
            raise self.unable

    def read(self, png: bytes, *, language: str = "eng") -> OcrPage:
        with self._lock:
            self._inside += 1
            self.together = max(self.together, self._inside)
            self.seen.append(struct.unpack_from(">II", png, 16))
            self.languages.append(language)
            answer = self._answers.pop(0)
        with self._lock:
            self._inside -= 1
        if isinstance(answer, Exception):
            raise answer
        return answer

    def close(self) -> None:
        """Do nothing: there is nothing to free."""


def program(folder: Path, script: str) -> str:
    """Write a program in the shell's language that stands in for `tesseract`, and return its path.

    It lists `eng` and `osd`, then does what the script says.
    """
    path = folder / "tesseract"
    listing = 'case "$*" in *--list-langs*) printf "List of available languages (2):\\neng\\nosd\\n"; exit 0;; esac'
    path.write_text(f"#!/bin/sh\n{listing}\n{script}\n")
    path.chmod(0o755)
    return str(path)
