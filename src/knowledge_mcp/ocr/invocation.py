"""Run the `tesseract` program: no shell, no environment of ours, limits on time and memory, its errors named.

On Linux an interpreter confines itself and then becomes the program, which can read what is installed and the page's
image, write nothing, connect to nothing, and start nothing. A script in the program's place starts programs itself:
whoever put it there is trusted, and it has the limits only.
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
    """Return the program's absolute path.

    Raises:
        ConfigError: it is not installed; the suggestion says how to install it.
    """
    found = shutil.which(program)
    if found is None:
        raise ConfigError(
            "Text recognition needs the program `tesseract`, which is not installed.",
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
        readable: files and folders that it may read besides what is installed.
        input_bytes: bytes for its standard input, fed only once the limits hold.
        seconds: wall-clock time, after which it is killed with whatever it started.
        memory: bytes of address space, where the system can limit them for another process (Linux).
        accepted: exit codes that are no failure.

    Returns:
        Its standard output and its standard error.

    Raises:
        TimedOutError: the time ran out.
        InvalidInputError: it ran out of memory: the image is too large.
        InternalError: it could not be started, crashed or failed; details hold its last words.
    """
    process = _start(command, readable)
    with process:
        limit(process, memory=memory, seconds=seconds)
        try:
            output, errors = _outcome(process, input_bytes, seconds)
        except subprocess.TimeoutExpired as error:
            _kill(process)
            raise TimedOutError(
                f"Text recognition took longer than {seconds:.0f} seconds and was stopped.",
                suggestion="Try again when the machine is less busy; split very large sheets.",
            ) from error
        except BaseException:
            _kill(process)
            raise
    message = errors.decode(errors="replace").strip()
    if process.returncode not in accepted:
        raise _failure(process.returncode, message)
    return output.decode(errors="replace"), message


def _outcome(process: subprocess.Popen[bytes], input_bytes: bytes, seconds: float) -> tuple[bytes, bytes]:
    """Feed a process and wait for what it prints; whoever no longer wants that is heard while it works."""
    deadline = time.monotonic() + seconds
    fed: bytes | None = input_bytes
    while True:
        remaining = max(deadline - time.monotonic(), 0.01)
        try:
            return process.communicate(fed, timeout=min(remaining, GLANCE))
        except subprocess.TimeoutExpired:
            fed = None  # it goes on being fed
            if remaining <= GLANCE:
                raise
        checkpoint()


def _start(command: list[str], readable: tuple[str, ...]) -> subprocess.Popen[bytes]:
    # the environment is empty but for this: nothing secret reaches a program that works on untrusted bytes
    environment = {"OMP_THREAD_LIMIT": "1", "LC_ALL": "C", "PATH": os.defpath}
    try:
        started = _confine(command, readable)
        return start_process(
            lambda: start_tree(
                started, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
            )
        )
    except OSError as error:
        raise InternalError(
            "Text recognition could not be started.", details=f"{command[0]}: {error.strerror or error}"
        ) from error


def _confine(command: list[str], readable: tuple[str, ...]) -> list[str]:
    """Put the interpreter before a command that confines itself and then becomes it; scripts stay as they are."""
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
        return InternalError("Text recognition could not be started.", details=words)
    if any(sign in message for sign in _TOO_LARGE):
        return InvalidInputError(
            "The page needs more memory for text recognition than allowed.",
            details=words,
            suggestion="Split the page, or scan it with fewer dots per inch.",
        )
    how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
    return InternalError(
        f"Text recognition failed ({how}).",
        details=words,
        suggestion="Try `tesseract --version`; install it again if that fails too.",
    )


_WORD_LEVEL = "5"
_COLUMNS = 12
_LEGIBLE = 20.0
_SURE_SIGN = 60.0


def words_of(tsv: str) -> tuple[OcrWord, ...]:
    """Read the words of one page, in Tesseract's reading order; lines, paragraphs and blocks numbered from 0.

    Left out is what is no word: blanks over rules and pictures, signs without a letter or digit of which Tesseract is
    not sure (specks, strokes of a drawing), and anything below a confidence of 20.
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
"""Share of the height of a page's words below which letters are none: dots that lead to a number have .1 or .2."""


def _without_leaders(words: Sequence[OcrWord]) -> list[OcrWord]:
    """Leave out the letters that rows of dots were taken for: "Scope oes ee 12"."""
    usual = statistics.median([word.box[3] - word.box[1] for word in words]) if words else 0.0
    return [
        word for word in words if word.box[3] - word.box[1] >= _LEADER * usual or not any(map(str.isalnum, word.text))
    ]


_SINGLE = re.compile(r"[CcOoPpSsVvWwXxZz]{2}")
_NARROW = 1.15
"""Times its height that one letter is wide at most; two are wider."""
_CAPITAL = 0.87
"""Share of the height of capitals from which on a letter is one: small ones have .72 of it."""


def _with_single_letters(words: Sequence[OcrWord]) -> tuple[OcrWord, ...]:
    """Make one letter of those that the program reads twice, where one stands alone: "Vv" for "V", "Xx" for "x"."""
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
    """Print words line by line, a blank line between blocks."""
    text = ""
    previous: OcrWord | None = None
    for word in words:
        if previous is not None:
            text += "\n\n" if word.block != previous.block else "\n" if word.line != previous.line else " "
        text += word.text
        previous = word
    return text


def mean_confidence(words: Sequence[OcrWord]) -> float:
    """Return the mean confidence, 0 where there is no word."""
    return statistics.fmean(word.confidence for word in words) if words else 0.0


def weight_of(words: Sequence[OcrWord]) -> float:
    """Weigh a reading of a page: letters and digits of longer words that are sure, by their confidence."""
    return sum(sum(map(str.isalnum, word.text)) * word.confidence / 100 for word in words if _is_sure(word))


def in_sure_lines(words: Sequence[OcrWord]) -> tuple[OcrWord, ...]:
    """Leave out lines without a longer word that is sure: strokes of a drawing, grain of a photograph."""
    sure = {word.line for word in words if _is_sure(word)}
    return tuple(word for word in words if word.line in sure)


_FIRST_OF_WORD_SIGNS = "\u2e80"
"""From here on lie scripts that write a word in one sign or two: a single one can be a whole word."""


def _is_sure(word: OcrWord) -> bool:
    longer = sum(map(str.isalnum, word.text)) > 2 or max(word.text) >= _FIRST_OF_WORD_SIGNS
    return longer and word.confidence >= _SURE_SIGN


def is_sideways(words: Sequence[OcrWord]) -> bool:
    """Return whether most words of several letters are taller than wide: the page was read lying on its side."""
    boxes = [word.box for word in words if len(word.text) > 3]
    tall = sum(bottom - top > right - left for left, top, right, bottom in boxes)
    return len(boxes) >= 3 and tall * 2 > len(boxes)


def skew_of(words: Sequence[OcrWord]) -> float:
    """Measure how many degrees lines fall to the right, by the middles of their first and last words; 0 if unknown.

    Only lines long enough are measured; the answer is their median.
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
