"""The OCR engine that runs the `tesseract` program: one process per page, several at a time, each page upright.

A page is first read as it is. Only if the result is poor, it is cleaned of grain, straightened, turned by Tesseract's
orientation detection (or, if that is unsure, each way), and finally read as scattered text. The best reading is used.
"""

from __future__ import annotations

import hashlib
import io
import os
import re
import struct
import tempfile
import threading
import time
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

from knowledge_mcp.model.errors import InternalError, InvalidInputError, KnowledgeError, TimedOutError, reason_of
from knowledge_mcp.model.extraction import OcrPage, OcrWord
from knowledge_mcp.ocr.bullets import StartPrint, height_of, places_of, unread_boxes, with_bullets
from knowledge_mcp.ocr.invocation import (
    find_program,
    in_sure_lines,
    is_sideways,
    mean_confidence,
    run_program,
    skew_of,
    text_of,
    weight_of,
    words_of,
)
from knowledge_mcp.ocr.readings import begins_doubtfully, count_lost, doubtful_boxes, with_edges, with_missing
from knowledge_mcp.ocr.remains import LeftPiece, words_of_pieces
from knowledge_mcp.ocr.rules import Box, Straightening, count_crossed, fall_of, is_within
from knowledge_mcp.support.checkpoints import GLANCE, checkpoint
from knowledge_mcp.support.sandbox import InputFile, Limits, Refusal, Sandbox, SandboxFailure
from knowledge_mcp.support.workers import usable_cores

if TYPE_CHECKING:
    pass

_JOBS = "knowledge_mcp.ocr.pictures"
_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_HEADER = struct.Struct(">8x4x4sII")
_LANGUAGE = re.compile(r"[A-Za-z0-9_/]{2,40}(?:\+[A-Za-z0-9_/]{2,40}){0,9}")
_MOST_PIXELS = 60_000_000
_MEMORY = 512 * 1024 * 1024
_GOOD, _WEAK = 80.0, 60.0
_SKEWED = 1.5
"""Pages with at least this skew in degrees are straightened and read again; below it Tesseract loses nothing."""
_LEAST_SKEW, _SURE_SKEW = 0.05, 0.3
"""Degrees below which a page counts as straight: by its rules, which then rise by half a point over its width, and
by its lines, whose first and last words may have letters of different heights.
"""
_SURE_TURN = 2.0
_CLEARLY = 1.5
"""Another orientation must read this many times as much as the original one to be preferred."""
_BLANK = 0.0004
_LEAST_UNREAD = 0.001
"""Minimum unread share of a page's print for another attempt: on a full page, a fifth of a word."""
_BAND = 0.75
"""Maximum share of a word's box that its ink is high if the box is that of the background on which it is printed."""
_BETWEEN = range(3, 7)
"""Letters of the word placed between pieces of print: enough to be a word, and no wider than needed."""
_LOW = frozenset("gjpqyQJ")
"""Letters with descenders: a 9 aligned with their feet is read as g."""
_OVER_RULES = 2
"""Minimum number of words that overlap vertical rules at which a flattened picture is read too."""
_REMEMBERED = 16
"""Number of cached pages: a document is judged by a sample of its pages, which are then read with the others."""
_PAGE, _BLOCK, _SCATTERED = "3", "6", "11"
_LIMITS = Limits(memory=768 * 1024 * 1024, seconds=60.0, silence=60.0)


class Options(Protocol):
    """The settings that `from_options` reads."""

    enable_ocr: bool


def from_options(options: Options) -> TesseractEngine | None:
    """Create the configured engine; None if OCR is switched off. Nothing is started or searched."""
    return TesseractEngine() if options.enable_ocr else None


@dataclass(frozen=True, slots=True)
class _Reading:
    """One reading of a page: how the page was turned, and what was read."""

    png: bytes
    words: tuple[OcrWord, ...]
    rotation: int = 0
    skew: float = 0.0

    @property
    def confidence(self) -> float:
        return mean_confidence(self.words)

    @property
    def weight(self) -> float:
        return weight_of(self.words)


class TesseractEngine:
    """Read page images with Tesseract (`ports.OcrEngine`). Thread-safe; at most `workers` programs run at a time.

    Args:
        program: name on the PATH, or a path.
        workers: programs at a time; default: one per core, at most four.
        seconds: wall-clock time for all readings of one page together.
    """

    def __init__(
        self,
        *,
        program: str = "tesseract",
        workers: int | None = None,
        seconds: float = 120.0,
    ) -> None:
        self._program = program
        self.workers = max(1, workers if workers is not None else min(usable_cores(), 4))
        self.seconds = seconds
        self._sandbox = Sandbox(_LIMITS, keep=1)
        self._slots = threading.BoundedSemaphore(self.workers)
        self._lock = threading.Lock()
        self._languages: tuple[str, ...] | None = None
        self._recent: OrderedDict[tuple[bytes, str], OcrPage] = OrderedDict()

    @property
    def version(self) -> str:
        """Return the engine's name and version if it is installed, otherwise empty; part of a reader's version."""
        try:
            find_program(self._program)
        except KnowledgeError:
            return ""
        return "tesseract-5"

    def languages(self) -> tuple[str, ...]:
        """List the languages whose data is installed, including `osd` (orientation).

        Raises:
            ConfigError: the program is not installed.
            InternalError, TimedOutError: it does not run.
        """
        path = find_program(self._program)
        with self._lock:
            if self._languages is None:
                output, errors = run_program([path, "--list-langs"], seconds=20.0, memory=_MEMORY)
                names = (line.strip() for line in (output or errors).splitlines())
                self._languages = tuple(sorted(name for name in names if _LANGUAGE.fullmatch(name)))
            return self._languages

    def ready(self, language: str = "eng") -> None:
        """Check that pages of a language, or of several joined by `+`, can be read.

        Raises:
            ConfigError: the program is not installed; the suggestion contains the command that installs it.
            InvalidInputError: a language's data is not installed; names the installed ones, and how to install it.
        """
        installed = self.languages()
        if not _LANGUAGE.fullmatch(language):
            raise InvalidInputError(
                f"{language[:80]!r} is not a language of Tesseract.",
                suggestion=f"Use one of {_list(installed)}, or several joined by `+`.",
            )
        missing = [name for name in language.split("+") if name not in installed]
        if missing:
            packages = " ".join(f"tesseract-ocr-{name.replace('_', '-').lower()}" for name in missing)
            raise InvalidInputError(
                f"Tesseract has no data for the language {' and '.join(missing)}; installed: {_list(installed)}.",
                suggestion=f"Install it: `apt-get install {packages}` (Debian, Ubuntu) or "
                "`brew install tesseract-lang` (macOS), or choose an installed language.",
            )

    def read(self, png: bytes, *, language: str = "eng") -> OcrPage:
        """Read one PNG-encoded page image in any orientation.

        Raises:
            ConfigError, InvalidInputError: as for `ready`; or the image is not a PNG, or too large.
            TimedOutError: the time limit was reached.
            InternalError: the program crashed or failed.
        """
        _check(png)
        self.ready(language)
        key = (hashlib.sha256(png).digest(), language)
        with self._lock:
            cached = self._recent.get(key)
        if cached is not None:
            return cached
        while not self._slots.acquire(timeout=GLANCE):
            checkpoint()
        try:
            page = _page(*_Attempts(self, language, time.monotonic() + self.seconds).measured(png))
        finally:
            self._slots.release()
        with self._lock:
            self._recent[key] = page
            while len(self._recent) > _REMEMBERED:
                self._recent.popitem(last=False)
        return page

    def close(self) -> None:
        """End the idle child processes."""
        self._sandbox.close()

    # ---- for the attempts

    def recognise(self, png: bytes, language: str, mode: str, deadline: float) -> tuple[OcrWord, ...]:
        """Run the program on one image; `mode` is its page segmentation mode."""
        options = ["-l", language, "--psm", mode, "-c", "tessedit_create_tsv=1"]
        output, _ = self._run(options, png, deadline)
        return words_of(output)

    def detects_orientation(self) -> bool:
        """Return whether Tesseract's data for orientation detection is installed."""
        return "osd" in self.languages()

    def orientation(self, png: bytes, deadline: float) -> int | None:
        """Return the clockwise turn that makes an image upright; None if Tesseract is not sure, or lacks the data."""
        if not self.detects_orientation():
            return None
        try:
            output, _ = self._run(["--psm", "0"], png, deadline, accepted=(0, 1))
        except TimedOutError:
            return None
        facts = dict(line.split(": ", 1) for line in output.splitlines() if ": " in line)
        if float(facts.get("Orientation confidence", 0)) < _SURE_TURN:
            return None
        return int(facts.get("Rotate", 0))

    def picture(self, function: str, png: bytes, **arguments: Any) -> Any:
        """Run a job of `ocr.pictures` on an image in a child process and return its one value."""
        (value,) = self.job(function, png, **arguments)
        return value

    def job(self, function: str, png: bytes, **arguments: Any) -> list[Any]:
        """Run a job of `ocr.pictures` on an image in a child process and return its values."""
        files = {"path": InputFile(io.BytesIO(png), ".png")}
        try:
            return list(self._sandbox.run(f"{_JOBS}:{function}", arguments, files=files, limits=_LIMITS))
        except (Refusal, SandboxFailure) as failure:
            raise InternalError("The page image could not be analysed.", details=reason_of(failure)) from failure

    def _run(
        self, options: list[str], png: bytes, deadline: float, accepted: tuple[int, ...] = (0,)
    ) -> tuple[str, str]:
        remaining = deadline - time.monotonic()
        if remaining <= 0:
            raise TimedOutError(f"OCR took longer than {self.seconds:.0f} seconds and was stopped.")
        command = [find_program(self._program), "stdin", "stdout", *options]
        # a list of one file: the program reads an image from standard input letter by letter, which takes a tenth of
        # the time for reading the page
        with tempfile.NamedTemporaryFile(prefix="page-", suffix=".png") as file:
            file.write(png)
            file.flush()
            paths = os.fsencode(file.name) + b"\n"
            readable = (file.name,)
            return run_program(
                command, input_bytes=paths, readable=readable, seconds=remaining, memory=_MEMORY, accepted=accepted
            )


class _Attempts:
    """Read one page in as many ways as needed."""

    def __init__(self, engine: TesseractEngine, language: str, deadline: float) -> None:
        self._engine = engine
        self._language = language
        self._deadline = deadline
        self._late: TimedOutError | None = None

    def best(self, png: bytes) -> _Reading:
        """Return the best reading; if no attempt gave words, raise the error that ended one."""
        best = self._best(png)
        if self._late is not None and not best.words:
            raise TimedOutError(
                f"OCR took longer than {self._engine.seconds:.0f} seconds and was stopped.",
                suggestion=self._late.suggestion,
            ) from self._late
        return best

    def measured(self, png: bytes) -> tuple[_Reading, float, dict[str, Any]]:
        """Return the best reading with its confidence and measurements (see `pictures.measure`).

        If words overlap rules, a flattened picture is read as well, and the reading with more is used. Unread print is
        then read separately: a missed "not" reverses a sentence. Bullets are recognised by their shape.
        """
        best = self.best(png)
        if best.confidence < _WEAK:  # a drawing, or grain: lines without a confident word are left out
            sure = replace(best, words=in_sure_lines(best.words))
            return sure, best.confidence, self._measure(sure)
        seen = self._measure(best)
        rules = seen["rules"]
        if count_crossed([word.box for word in best.words], rules) >= _OVER_RULES:
            again = self._attempt(self._flat(best, rules))
            more, less = (again, best) if again.weight > best.weight else (best, again)
            best, seen = self._with_words(best, with_missing(more.words, less.words), seen)
        starts: list[StartPrint] = seen["starts"]
        unread = rules or seen["unread"] >= _LEAST_UNREAD or unread_boxes(starts) or begins_doubtfully(best.words)
        if best.words and unread:
            left, pieces = self._remains(best, rules)
            best, seen = self._with_words(best, with_missing(best.words, left, rules), seen)
            lost = count_lost(pieces, best.words, rules, unread_boxes(starts))
            seen["unread"] = max(seen["unread"], lost / (len(best.words) + lost))
        best, again = self._with_words(best, with_bullets(best.words, seen["starts"]), seen)
        return best, best.confidence, {**again, "unread": seen["unread"]}

    def _flat(self, reading: _Reading, rules: Sequence[Box]) -> _Reading:
        flat: bytes = self._engine.picture("flatten", reading.png, rules=rules)
        return replace(reading, png=flat, words=())

    def _remains(self, reading: _Reading, rules: Sequence[Box]) -> tuple[tuple[OcrWord, ...], list[LeftPiece]]:
        """Read what a reading left on a page, with the most confident short words of the reading between.

        Returns:
            The new words, and the boxes of all pieces of print.
        """
        plain = (word for word in reading.words if word.text.isalpha() and not _LOW & set(word.text))
        short = [word for word in plain if len(word.text) in _BETWEEN]
        if not short:
            return (), []
        between = max(short, key=lambda word: word.confidence).box
        height = max(round(height_of(reading.words)), 1)
        read, doubtful = with_edges(reading.words, rules), doubtful_boxes(reading.words, rules)
        found, *sheet = self._engine.job(
            "gather", reading.png, rules=rules, read=read, doubtful=doubtful, between=between, height=height
        )
        pieces = [LeftPiece(tuple(box), left, line) for box, left, line in found]
        words = self._attempt(replace(reading, png=sheet[0]), _BLOCK).words if sheet else ()
        return words_of_pieces(words, pieces, height), pieces

    def _with_words(
        self, reading: _Reading, words: tuple[OcrWord, ...], seen: dict[str, Any]
    ) -> tuple[_Reading, dict[str, Any]]:
        """Replace the words of a reading, and measure it again if they differ.

        A stroke within a replaced word is no rule; one that was taken for a sign is longer than the sign.
        """
        if words == reading.words:
            return reading, seen
        changed = replace(reading, words=words)
        again = self._measure(changed)
        known, before = seen["rules"], [word.box for word in reading.words]
        again["rules"] = [
            rule for rule in again["rules"] if rule in known or not any(is_within(rule, box) for box in before)
        ]
        return changed, again

    def _measure(self, reading: _Reading) -> dict[str, Any]:
        boxes, places = [word.box for word in reading.words], list(places_of(reading.words))
        before, height = [place.box for place in places], height_of(reading.words)
        found: dict[str, Any] = self._engine.picture("measure", reading.png, boxes=boxes, before=before, height=height)
        starts = [
            StartPrint(place, *printed) for place, printed in zip(places, found["before"], strict=True) if printed
        ]
        return {**found, "starts": starts}

    def _best(self, png: bytes) -> _Reading:
        first = self._attempt(_Reading(png, ()))
        sideways = is_sideways(first.words)
        if first.confidence >= _GOOD and not sideways:
            skew = skew_of(first.words)
            if abs(skew) < _SKEWED:
                return first
            return self._better(first, self._attempt(self._straighten(first, -skew)))
        look: dict[str, float] = self._engine.picture("look", png)
        if not first.words and look["ink"] < _BLANK:
            return first
        if look["specks"] > look["ink"]:  # specks hide letters, and slow the program down much more than letters do
            cleaned: bytes = self._engine.picture("clean", png)
            first = self._better(first, self._attempt(_Reading(cleaned, ())))
            if first.confidence >= _GOOD and not is_sideways(first.words) and abs(skew_of(first.words)) < _SKEWED:
                return first
        straight = first
        if look["skew"]:
            straight = self._straighten(first, look["skew"])
        turn = self._engine.orientation(straight.png, self._half())
        best = first if straight is first else self._better(first, self._attempt(straight))
        for degrees in self._turns(turn, best):
            if best.confidence >= _GOOD and not is_sideways(best.words):
                return best
            best = self._better(best, self._attempt(self._turn(straight, degrees)))
        return best if best.confidence >= _WEAK else self._scattered(best, sure=turn is not None)

    def _turns(self, turn: int | None, best: _Reading) -> tuple[int, ...]:
        """List the turns to try: the detected one, otherwise what the words suggest, or all if detection is missing."""
        if turn is not None:
            return (turn,) if turn else ()
        if is_sideways(best.words):
            return (90, 270)
        return () if self._engine.detects_orientation() else (90, 180, 270)

    def _scattered(self, best: _Reading, *, sure: bool) -> _Reading:
        """Read scattered words, as on a drawing; in each orientation if the right one is unknown."""
        best = self._better(best, self._attempt(best, _SCATTERED))
        if sure or best.rotation or best.confidence >= _WEAK:
            return best
        upright = best
        for degrees in (90, 180, 270):
            turned = self._attempt(self._turn(upright, degrees), _SCATTERED)
            if turned.weight > _CLEARLY * upright.weight:
                best = self._better(best, turned)
        return best

    def _attempt(self, reading: _Reading, mode: str = _PAGE) -> _Reading:
        try:
            words = self._engine.recognise(reading.png, self._language, mode, self._half())
        except TimedOutError as error:
            self._late, words = error, ()
        return replace(reading, words=words)

    def _half(self) -> float:
        """Return an attempt's deadline: half of the remaining time, so that one that hangs leaves time for others."""
        now = time.monotonic()
        return now + (self._deadline - now) / 2

    def _better(self, one: _Reading, other: _Reading) -> _Reading:
        """Choose the reading with more confident letters; if equal, the one that is not sideways."""
        if is_sideways(one.words) and not is_sideways(other.words):
            return other if other.weight > 0.8 * one.weight else one
        return other if other.weight > one.weight else one

    def _straighten(self, reading: _Reading, degrees: float) -> _Reading:
        turned: bytes = self._engine.picture("turn", reading.png, degrees=degrees)
        return replace(reading, png=turned, words=(), skew=degrees)

    def _turn(self, reading: _Reading, degrees: int) -> _Reading:
        turned: bytes = self._engine.picture("turn", reading.png, degrees=degrees)
        return replace(reading, png=turned, words=(), rotation=degrees)


def _measured(word: OcrWord, stroke: float, top: int, bottom: int) -> OcrWord:
    """Add the stroke width to a word; its box is reduced to its ink if the program used a shaded band as the box."""
    left, high, right, low = word.box
    is_band = bottom - top < _BAND * (low - high)
    return replace(word, stroke=stroke, box=(left, top, right, bottom) if is_band else word.box)


def _page(reading: _Reading, confidence: float, measured: dict[str, Any]) -> OcrPage:
    """Build the page from its best reading; coordinates of a slightly skewed page are straightened.

    Args:
        reading: its words are those that are kept.
        confidence: of all words that were read.
        measured: see `pictures.measure`.
    """
    width, height = _size(reading.png)
    words = tuple(_measured(word, *printed) for word, printed in zip(reading.words, measured["print"], strict=True))
    skew = reading.skew
    rules: list[Box] = [(left, top, right, bottom) for left, top, right, bottom in measured["rules"]]
    known = fall_of(rules)
    askew = (skew_of(words) if known is None else known) if not skew else 0.0
    if abs(askew) >= (_SURE_SKEW if known is None else _LEAST_SKEW):
        turn = Straightening(-askew, width, height)
        words = tuple(replace(word, box=turn.word(word.box)) for word in words)
        rules, skew, (width, height) = [turn.rule(each) for each in rules], -askew, turn.size
    return OcrPage(
        words, text_of(words), confidence if words else 0.0, reading.rotation, round(skew, 2), width, height,
        measured["unread"], tuple(rules),
    )  # fmt: skip


def _check(png: bytes) -> None:
    """Check that it is a PNG of acceptable size.

    Nothing else may reach the program: it opens many formats, and takes unknown bytes for a list of files to open.
    """
    if not png.startswith(_SIGNATURE) or len(png) < _HEADER.size or _HEADER.unpack_from(png)[0] != b"IHDR":
        raise InvalidInputError("The page image is not a PNG.", details=f"{len(png)} bytes")
    width, height = _size(png)
    if not 0 < width * height <= _MOST_PIXELS:
        raise InvalidInputError(
            f"The page image has {width} x {height} pixels, more than can be processed.",
            suggestion="Split the page, or scan it with a lower resolution.",
        )


def _size(png: bytes) -> tuple[int, int]:
    _, width, height = _HEADER.unpack_from(png)
    return width, height


def _list(names: tuple[str, ...]) -> str:
    return ", ".join(name for name in names if name != "osd") or "none"
