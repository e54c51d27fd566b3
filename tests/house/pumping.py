"""Run in a child: try every pattern of the package on texts that grow, and print what grows faster than they do.

The child is ended by whoever started it where one pattern alone takes for ever; its last line then names that pattern.
"""

from __future__ import annotations

import gc
import re
import signal
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from types import FrameType

from tests.house.patterns import Used, collected, pumped

_SHORT = (14, 20, 26)
_LONG = 4000
_MOST = 100_000
_QUICK = 0.002
"""Seconds that a linear pattern does not need for `_LONG` characters, even on a busy machine, most of the time."""
_MEASURABLE = 0.02
_RATIO = 3.0
_ROUNDS = 5
_TRIES = 3
_PATIENCE = 0.5
_ENDLESS = float("inf")
_SHARE = 0.05
"""Seconds that one pattern gets; the first texts are those made of its own repeats."""

BOUNDED: dict[str, tuple[int, str]] = {
    "knowledge_mcp.readers.code.outline": (400, "lines of code are cut to 400 characters before rules read them"),
    "knowledge_mcp.readers.pdf.headings.contents._TRAIL": (16, "replaced in the last 16 characters of a line"),
    "knowledge_mcp.readers.pdf.paragraphs.endings._CUT_WORD": (60, "searched in the last 60 characters of a line"),
    "knowledge_mcp.engine.core.clauses_beside": (120, "searched in the 120 characters before a name"),
    "knowledge_mcp.engine.evidence.quote_finding._BROKEN_BEFORE": (60, "searched in the few characters before a place"),
    "knowledge_mcp.engine.evidence.captions._LEADERS": (300, "searched in the last 300 characters of an entry"),
    "knowledge_mcp.settings": (400, "the operator's own settings"),
    "knowledge_mcp.language.glossary.entries._POINTER": (300, "longer meanings are not looked at"),
    "knowledge_mcp.language.requirements.mentions": (200, "only the characters near a name are read"),
    "knowledge_mcp.cli": (400, "the operator's own words"),
    "knowledge_mcp.evals": (400, "the operator's own files"),
    "knowledge_mcp.testing": (400, "used by tests alone"),
}
"""Patterns whose texts are short, by the beginning of their place: the longest text, and why it is."""


def grows_too_fast(run: Callable[[str], object], pump: tuple[str, str, str], most: int = _MOST) -> bool:
    """Tell whether twice the text takes three times as long or more, each time, or a few dozen characters a moment."""
    for size in _SHORT:
        if _least(run, _text(pump, size), _MEASURABLE) > _MEASURABLE:
            return True
    if most < _LONG:
        return _least(run, _text(pump, most), _ENDLESS) == _ENDLESS
    size = _LONG
    once = _least(run, _text(pump, size), _QUICK)
    if once < _QUICK:
        return False
    while once < _MEASURABLE and size < most:
        size *= 2
        once = _least(run, _text(pump, size), _MEASURABLE)
    if once == _ENDLESS:
        return True
    # beside other work even the time of this process alone varies: slow is what is so each time, over two doublings
    return once >= _MEASURABLE and all(_is_slower(run, pump, size) for _ in range(_ROUNDS))


def _is_slower(run: Callable[[str], object], pump: tuple[str, str, str], size: int) -> bool:
    most = _RATIO**2 * _least(run, _text(pump, size // 2))
    return _least(run, _text(pump, 2 * size), most) > most


def faults(used: Iterable[Used], share: float = _SHARE) -> list[str]:
    """List the patterns that are too slow, each with the text that shows it."""
    found: list[str] = []
    for each in used:
        _tell(f"at {each.place}")
        most = next((limit for place, (limit, _) in BOUNDED.items() if each.place.startswith(place)), _MOST)
        shown = _shown(each, most, share)
        found += [shown] if shown else []
    return found


def _shown(used: Used, most: int, share: float) -> str | None:
    """Find the text that shows a pattern to be slow, None where none does in the time that one pattern gets."""
    begun = time.process_time()
    for pump in pumped(used.pattern):
        for method in used.methods:
            if grows_too_fast(_runner(used.pattern, method), pump, most):
                return f"{used.place}: {method} of {pump!r} ({used.pattern.pattern[:60]!r})"
        if time.process_time() - begun > share:
            break
    return None


def main() -> int:
    """Try all of them, or those given as arguments, each for as long as it takes; or the splitters of words."""
    signal.signal(signal.SIGVTALRM, _end)
    gc.disable()  # a third of the time that it takes to read the package
    if sys.argv[1:] == ["--splitters"]:
        return _splitters()
    share = float("inf") if len(sys.argv) > 1 else _SHARE
    if len(sys.argv) > 1:
        used = [Used(words, re.compile(words), ("fullmatch", "search")) for words in sys.argv[1:]]
    else:
        used, unknown = collected(Path(__file__).resolve().parent.parent.parent)
        _tell(f"{len(used)} patterns; built of values: {' '.join(unknown)}")
    found = faults(used, share)
    for each in found:
        _tell(f"TOO SLOW {each}")
    _tell("done")
    return int(bool(found))


def _splitters() -> int:
    from tests.house.splitters import PUMPS, SPLITTERS

    for name, splitter in SPLITTERS.items():
        slow = next((pump for pump in PUMPS if grows_too_fast(splitter, pump)), None)
        _tell(f"TOO SLOW {name}: {slow}" if slow else f"at {name}")
    _tell("done")
    return 0


def _tell(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _runner(pattern: re.Pattern[str], method: str) -> Callable[[str], object]:
    if method == "finditer":
        return lambda text: sum(1 for _ in pattern.finditer(text))
    return getattr(pattern, method)


def _text(pump: tuple[str, str, str], size: int) -> str:
    before, body, behind = pump
    return f"{before}{body * max(1, (size - len(before) - len(behind)) // len(body))}{behind}"


def _seconds(run: Callable[[str], object], text: str) -> float:
    """Run it, for half a second at most; returns the seconds of this process, whatever else runs."""
    begun = time.process_time()
    signal.setitimer(signal.ITIMER_VIRTUAL, _PATIENCE)
    try:
        run(text)
    except _TooLongError:
        return _ENDLESS
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    return time.process_time() - begun


class _TooLongError(Exception):
    """End a search that takes too long."""


def _end(_number: int, _frame: FrameType | None) -> None:
    raise _TooLongError


def _least(run: Callable[[str], object], text: str, enough: float = 0.0) -> float:
    """Take the least of some tries, which tells what it takes where nothing else runs; one below `enough` ends them."""
    least = _ENDLESS
    for _ in range(_TRIES):
        least = min(least, _seconds(run, text))
        if least < enough:
            break
    return least


if __name__ == "__main__":
    sys.exit(main())
