"""Attacks on the running product, one module a target; each module lists its attacks as `ATTACKS`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Attack", "Outcome"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """Say what an attack came to.

    Attributes:
        tried: attempts made.
        through: descriptions of the attempts that got through, empty when all were stopped.
        skipped: why the attack could not be tried here (a program or a kernel feature is missing), empty when it was.
        note: a figure worth showing, such as the seconds or bytes it took.
    """

    tried: int = 0
    through: tuple[str, ...] = ()
    skipped: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Attack:
    """Name one attack.

    Attributes:
        target: what is attacked, in a word or two: "git", "paths", "connections".
        name: what is tried, in one short sentence.
        run: makes the attempts below an empty folder that is its own, and says what they came to.
    """

    target: str
    name: str
    run: Callable[[Path], Outcome]
