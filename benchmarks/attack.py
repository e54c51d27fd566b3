"""Attack the product as it is installed, and print one table: tried, got through.

    python -m benchmarks.attack                  all attacks
    python -m benchmarks.attack --only git       one target
    python -m benchmarks.attack --list           what there is

Everything stays on this machine, below a temporary folder.
The exit code is 1 if anything got through, or if an attack itself failed.
"""

from __future__ import annotations

import argparse
import importlib
import pkgutil
import sys
import tempfile
import time
import traceback
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks import attacks
from benchmarks.attacks import Attack, Outcome


def all_attacks() -> list[Attack]:
    """List the attacks of every module in `benchmarks/attacks`, by module and in their order there."""
    found: list[Attack] = []
    for module in sorted(pkgutil.iter_modules(attacks.__path__), key=lambda each: each.name):
        found.extend(getattr(importlib.import_module(f"{attacks.__name__}.{module.name}"), "ATTACKS", ()))
    return found


def main() -> int:
    """Run what was asked for; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", metavar="TARGET", action="append", help="attack this target only; may be repeated")
    parser.add_argument("--list", action="store_true", help="list the attacks and stop")
    options = parser.parse_args()
    chosen = [each for each in all_attacks() if not options.only or each.target in options.only]
    if not chosen:
        print(f"no such target; there are: {', '.join(sorted({each.target for each in all_attacks()}))}")
        return 2
    if options.list:
        for each in chosen:
            print(f"{each.target}: {each.name}")
        return 0
    return _run(chosen)


def _run(chosen: list[Attack]) -> int:
    table = Table("Target", "Attack", "Tried", "Got through", "Seconds", "Note")
    failed = False
    for each in chosen:
        print(f"{each.target}: {each.name} ...", file=sys.stderr, flush=True)
        start = time.perf_counter()
        try:
            with tempfile.TemporaryDirectory(prefix="attack-") as folder:
                outcome = each.run(Path(folder).resolve())
        except Exception as exc:  # noqa: BLE001 - one broken attack must not hide the others
            traceback.print_exc()
            outcome = Outcome(through=(f"the attack itself failed: {type(exc).__name__}",))
        failed |= bool(outcome.through)
        through = (outcome.skipped and "skipped") or str(len(outcome.through))
        note = outcome.skipped or "; ".join([*outcome.through[:3], *([outcome.note] if outcome.note else [])])
        seconds = f"{time.perf_counter() - start:.1f}"
        table.add_row(each.target, each.name, str(outcome.tried), through, seconds, note)
    Console(width=160).print(table)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
