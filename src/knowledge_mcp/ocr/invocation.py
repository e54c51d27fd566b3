"""Run the `tesseract` program without a shell or our environment, with limits on time and memory and clear errors.

On Linux an interpreter restricts itself and then becomes the program, which can read what is installed and the page's
image, but cannot write, connect or start anything. A script instead of the program starts programs itself: whoever
installed it is trusted, and only the limits apply to it.
"""

from __future__ import annotations

import json
import math
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from knowledge_mcp.model.errors import ConfigError, InternalError, InvalidInputError, KnowledgeError, TimedOutError
from knowledge_mcp.model.extraction import OcrWord
from knowledge_mcp.support.checkpoints import GLANCE, checkpoint
from knowledge_mcp.support.sandbox import start_process
from knowledge_mcp.support.system import sandbox_linux
from knowledge_mcp.support.system.processes import end_tree, limit, start_tree

INSTALL = (
    "Install it: `apt-get install tesseract-ocr tesseract-ocr-osd` (Debian, Ubuntu) or `brew install tesseract` (macOS)"
)
_ELF = b"\x7fELF"
_ENTRY = "import sys; sys.path.insert(0, sys.argv[1]); import sandbox_linux; sandbox_linux.become(sys.argv[2])"
_TOO_LARGE = ("Image too large", "bad_alloc", "std::bad_alloc", "cannot allocate", "pix_malloc fail", "make_data fail")


def find_program(program: str) -> str:
    """Return the absolute path of the program.

    Raises:
        ConfigError: it is not installed; the suggestion says how to install it.
    """
    found = shutil.which(program)
    if found is None:
        raise ConfigError(
            "OCR needs the program `tesseract`, which is not installed.",
            details=f"no {program} on the PATH",
            suggestion=f"{INSTALL}, then try again.",
        )
    return str(Path(found).absolute())


def run_program(
    command: list[str],
    *,
    input_bytes: bytes = b"",
    readable: tuple[str, ...] = (),
    seconds: float,
    memory: int,
    accepted: tuple[int, ...] = (0,),
) -> tuple[str, str]:
    """Run a command to its end.

    Args:
        command: the program's absolute path and its arguments.
        readable: files and folders that it may read in addition to what is installed.
        input_bytes: bytes for its standard input, sent only once the limits apply.
        seconds: wall-clock time, after which it is killed with all that it started.
        memory: bytes of address space, if the system can limit another process (Linux).
        accepted: exit codes that are not failures.

    Returns:
        Its standard output and its standard error.

    Raises:
        TimedOutError: the time limit was reached.
        InvalidInputError: it ran out of memory: the image is too large.
        InternalError: it could not be started, crashed or failed; details contain its last output.
    """
    process = _start(command, readable)
    with process:
        limit(process, memory=memory, seconds=seconds)
        try:
            output, errors = _outcome(process, input_bytes, seconds)
        except subprocess.TimeoutExpired as error:
            _kill(process)
            raise TimedOutError(
                f"OCR took longer than {seconds:.0f} seconds and was stopped.",
                suggestion="Try again when the machine is less busy; split very large pages.",
            ) from error
        except BaseException:
            _kill(process)
            raise
    message = errors.decode(errors="replace").strip()
    if process.returncode not in accepted:
        raise _failure(process.returncode, message)
    return output.decode(errors="replace"), message


def _outcome(process: subprocess.Popen[bytes], input_bytes: bytes, seconds: float) -> tuple[bytes, bytes]:
    """Send input to a process and wait for its output; cancellation is checked while it works."""
    deadline = time.monotonic() + seconds
    fed: bytes | None = input_bytes
    while True:
        remaining = max(deadline - time.monotonic(), 0.01)
        try:
            return process.communicate(fed, timeout=min(remaining, GLANCE))
        except subprocess.TimeoutExpired:
            fed = None  # the input continues to be sent
            if remaining <= GLANCE:
                raise
        checkpoint()


def _start(command: list[str], readable: tuple[str, ...]) -> subprocess.Popen[bytes]:
    # the environment is otherwise empty: nothing secret reaches a program that works on untrusted bytes
    environment = {"OMP_THREAD_LIMIT": "1", "LC_ALL": "C", "PATH": os.defpath}
    try:
        started = _confine(command, readable)
        return start_process(
            lambda: start_tree(
                started, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
            )
        )
    except OSError as error:
        raise InternalError("OCR could not be started.", details=f"{command[0]}: {error.strerror or error}") from error


def _confine(command: list[str], readable: tuple[str, ...]) -> list[str]:
    """Prefix a command with the interpreter that restricts itself and then becomes it; scripts stay unchanged."""
    with open(command[0], "rb") as program:  # noqa: PTH123 - the path is a string everywhere here
        is_binary = program.read(4) == _ELF
    if sys.platform != "linux" or not is_binary:
        return command
    allowed = json.dumps({"parent": os.getpid(), "command": command, "readable": readable})
    return [sys.executable, "-I", "-S", "-c", _ENTRY, str(Path(sandbox_linux.__file__).parent), allowed]


def _kill(process: subprocess.Popen[bytes]) -> None:
    end_tree(process)
    process.kill()
    process.wait()


def _failure(code: int, message: str) -> KnowledgeError:
    words = message[-500:]
    if code == sandbox_linux.NOT_STARTED:
        return InternalError("OCR could not be started.", details=words)
    if any(sign in message for sign in _TOO_LARGE):
        return InvalidInputError(
            "The page needs more memory for OCR than allowed.",
            details=words,
            suggestion="Split the page, or scan it with a lower resolution.",
        )
    how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
    return InternalError(
        f"OCR failed ({how}).",
        details=words,
        suggestion="Try `tesseract --version`; if that fails too, install it again.",
    )


_WORD_LEVEL = "5"
_COLUMNS = 12
_LEGIBLE = 20.0
_SURE_SIGN = 60.0


def words_of(tsv: str) -> tuple[OcrWord, ...]:
    """Read the words of one page, in Tesseract's reading order; lines, paragraphs and blocks are numbered from 0.

    What is not a word is left out: blanks over rules and pictures, uncertain signs without a letter or digit (specks,
    strokes of a drawing), and anything with a confidence below 20.
    """
    words: list[OcrWord] = []
    blocks: dict[str, int] = {}
    paragraphs: dict[tuple[str, str], int] = {}
    lines: dict[tuple[str, str, str], int] = {}
    for row in tsv.splitlines():
        fields = row.split("\t")
        if len(fields) < _COLUMNS or fields[0] != _WORD_LEVEL:
            continue
        text = " ".join("\t".join(fields[_COLUMNS - 1 :]).split())
        confidence = float(fields[10])
        readable = confidence >= (_LEGIBLE if any(map(str.isalnum, text)) else _SURE_SIGN)
        if not text or not readable:
            continue
        block, paragraph, line = fields[2], fields[3], fields[4]
        left, top, width, height = (int(field) for field in fields[6:10])
        words.append(
            OcrWord(
                text,
                min(max(confidence, 0.0), 100.0),
                (left, top, left + width, top + height),
                lines.setdefault((block, paragraph, line), len(lines)),
                blocks.setdefault(block, len(blocks)),
                paragraphs.setdefault((block, paragraph), len(paragraphs)),
            )
        )
    return _with_single_letters(_without_leaders(words))


_LEADER = 0.3
"""Share of the height of a page's words that letters have at least: dots of leaders have .1 or .2."""


def _without_leaders(words: Sequence[OcrWord]) -> list[OcrWord]:
    """Leave out letters that are misread rows of dots: "Scope oes ee 12"."""
    usual = statistics.median([word.box[3] - word.box[1] for word in words]) if words else 0.0
    return [
        word for word in words if word.box[3] - word.box[1] >= _LEADER * usual or not any(map(str.isalnum, word.text))
    ]


_SINGLE = re.compile(r"[CcOoPpSsVvWwXxZz]{2}")
_NARROW = 1.15
"""Maximum width of one letter as a multiple of its height; two letters are wider."""
_CAPITAL = 0.87
"""Minimum height of a capital as a share of the height of capitals: small letters have .72."""


def _with_single_letters(words: Sequence[OcrWord]) -> tuple[OcrWord, ...]:
    """Repair single letters that the program reads twice: "Vv" becomes "V", "Xx" becomes "x"."""
    tall = [word.box[3] - word.box[1] for word in words if word.text.isupper() or word.text.isdigit()]
    capital = statistics.median(tall) if tall else 0.0
    found: list[OcrWord] = []
    for word in words:
        left, top, right, bottom = word.box
        text = word.text
        twice = _SINGLE.fullmatch(text) is not None and text[0] != text[1] and text[0].lower() == text[1].lower()
        if twice and right - left <= _NARROW * (bottom - top):
            text = text[0].upper() if bottom - top >= _CAPITAL * capital else text[0].lower()
        found.append(replace(word, text=text) if text != word.text else word)
    return tuple(found)


def text_of(words: Sequence[OcrWord]) -> str:
    """Write words line by line, with a blank line between blocks."""
    text = ""
    previous: OcrWord | None = None
    for word in words:
        if previous is not None:
            text += "\n\n" if word.block != previous.block else "\n" if word.line != previous.line else " "
        text += word.text
        previous = word
    return text


def mean_confidence(words: Sequence[OcrWord]) -> float:
    """Return the mean confidence, 0 without words."""
    return statistics.fmean(word.confidence for word in words) if words else 0.0


def weight_of(words: Sequence[OcrWord]) -> float:
    """Weigh a reading of a page: letters and digits of its longer confident words, weighted by their confidence."""
    return sum(sum(map(str.isalnum, word.text)) * word.confidence / 100 for word in words if _is_sure(word))


def in_sure_lines(words: Sequence[OcrWord]) -> tuple[OcrWord, ...]:
    """Leave out lines without a longer confident word: strokes of a drawing, grain of a photograph."""
    sure = {word.line for word in words if _is_sure(word)}
    return tuple(word for word in words if word.line in sure)


_FIRST_OF_WORD_SIGNS = "\u2e80"
"""Start of the scripts that write a word in one or two signs: a single sign can be a whole word there."""


def _is_sure(word: OcrWord) -> bool:
    longer = sum(map(str.isalnum, word.text)) > 2 or max(word.text) >= _FIRST_OF_WORD_SIGNS
    return longer and word.confidence >= _SURE_SIGN


def is_sideways(words: Sequence[OcrWord]) -> bool:
    """Return whether most words of several letters are taller than wide: the page was read sideways."""
    boxes = [word.box for word in words if len(word.text) > 3]
    tall = sum(bottom - top > right - left for left, top, right, bottom in boxes)
    return len(boxes) >= 3 and tall * 2 > len(boxes)


def skew_of(words: Sequence[OcrWord]) -> float:
    """Return by how many degrees lines fall to the right, from the centres of their first and last words; 0 if unknown.

    Only sufficiently long lines are measured; the result is their median.
    """
    lines: defaultdict[int, list[OcrWord]] = defaultdict(list)
    for word in words:
        lines[word.line].append(word)
    slopes: list[float] = []
    for line in lines.values():
        first, last = line[0].box, line[-1].box
        across = (last[0] + last[2] - first[0] - first[2]) / 2
        height = max(box[3] - box[1] for box in (first, last))
        if len(line) >= 4 and across > 6 * height > 0:
            slopes.append(math.degrees(math.atan2((last[1] + last[3] - first[1] - first[3]) / 2, across)))
    return statistics.median(slopes) if len(slopes) >= 2 else 0.0
