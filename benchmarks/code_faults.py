"""Break the indexing of repositories, check what is reported and shown, repair it, and index again.

Usage: `python -m benchmarks.code_faults [kills|addresses|disk|many|huge|names …] [--files 100000]`

Each case runs `pk-mcp` as a process (`benchmarks.faulty_repositories`) over repositories that a Git server on loopback
serves. After each fault no repository may be shown as ready that is not whole, the token may stand in nothing that was
printed or written, and one more run after the repair must leave, record for record, passage for passage, what
an undisturbed run leaves.

- kills: SIGKILL during clone, scan, embedding and storing; at a refresh after changes; at a reindex
- addresses: bad URLs, missing branch and repository, wrong and missing token, no network, an answer cut off
- disk: the disk of the clone, or of the store, is full (a small tmpfs; needs root)
- many: a repository of 100,000 tiny files; seconds of the processor and peak memory
- huge: a repository with a file of a gigabyte
- names: file names with `..`, newlines, dashes, escape sequences, bytes that are no text; trees made to break out

Exit code 1 when any case is not as it should be.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.fault_worlds import TOKEN, Done, World, big_repository, fill, tiny_repository
from tests.servers.git_server import GitServer, MadeRepository

FILES = 150
CONTROL = {chr(code) for code in (*range(9), *range(11, 32), *range(0x7F, 0xA0))}


@dataclasses.dataclass(frozen=True, slots=True)
class Row:
    """Tell what one case came to; `wrong` is empty where all is as it should be."""

    case: str
    first: str
    told: str
    shown: str
    again: str
    wrong: str


def row(case: str, broken: Done, shown: str, again: str, *wrong: str) -> Row:
    """Make a row, and look for the token, a traceback and control characters in what was printed."""
    found = [each for each in wrong if each]
    said = broken.out + broken.err
    found += ["the token is shown"] if TOKEN in said else []
    found += ["a traceback is shown"] if "Traceback" in said else []
    found += ["control characters are shown"] if CONTROL & set(said) else []
    ended = f"killed ({-broken.code})" if broken.code < 0 else f"exit {broken.code}"
    made = Row(case, ended, broken.told, shown, again, "; ".join(found))
    print(json.dumps(dataclasses.asdict(made), ensure_ascii=False), flush=True)
    return made


def states(world: World) -> str:
    """Say how the repositories are shown."""
    return ", ".join(f"{each['status']} {each['file_count']}" for each in world.status()) or "nothing"


# ---- kills


def kills(folder: Path, _: argparse.Namespace) -> Generator[Row]:
    """Kill a first indexing, a refresh and a reindex at each of their steps."""
    made = MadeRepository(folder / "served" / "team" / "code")
    made.commit(fill(FILES, edition=1))
    with GitServer(folder / "served", token=TOKEN) as server:
        address = server.url("team/code.git")
        whole = World(folder / "whole", server)
        assert whole.run("index", address).code == 0
        expected = whole.contents()
        yield _killed_clone(World(folder / "clone", server), server, address, expected)
        for point in ("scan:70", "embed:1", "embed:2", "store:2", "write:40", "write:90", "store:4"):
            world = World(folder / f"first-{point.replace(':', '-')}", server)
            broken = world.run("index", address, FAULTY_KILL=point)
            yield _after_kill(f"killed at {point} of a first indexing", world, broken, address, expected, "error")
        made.commit(fill(FILES // 2, edition=2))
        assert whole.run("index", address).code == 0
        changed = whole.contents()
        made.git("branch", "second")
        made.git("reset", "--quiet", "--hard", "HEAD~1")
        for point in ("scan:30", "embed:1", "store:2", "write:20"):
            world = World(folder / f"refresh-{point.replace(':', '-')}", server)
            assert world.run("index", address).code == 0
            made.git("reset", "--quiet", "--hard", "second")
            broken = world.run("refresh", "code", FAULTY_KILL=point)
            yield _after_kill(f"killed at {point} of a refresh", world, broken, address, changed, "error")
            made.git("reset", "--quiet", "--hard", "second~1")
        for point in ("embed:2", "write:60", "swap:1", "drop:2"):
            world = World(folder / f"reindex-{point.replace(':', '-')}", server)
            assert world.run("index", address).code == 0
            broken = world.run("reindex", "code", FAULTY_KILL=point)
            repair = "index" if point.startswith("drop") else "reindex"
            yield _after_kill(f"killed at {point} of a reindex", world, broken, address, expected, "ready", repair)


def _killed_clone(world: World, server: GitServer, address: str, expected: object) -> Row:
    server.behaviour.stalled = True
    server.behaviour.reached.clear()
    process = world.start("index", address)
    assert server.behaviour.reached.wait(60)
    process.kill()
    broken = world.finish(process)
    server.behaviour.stalled = False
    server.behaviour.release.set()
    return _after_kill("killed while cloning", world, broken, address, expected, "nothing")


def _after_kill(
    case: str, world: World, broken: Done, address: str, expected: object, required: str, repair: str = "index"
) -> Row:
    shown = states(world)
    search = world.run("search", "value of the second edition", "--threshold", "0", "--json")
    again = world.run(repair, "code" if repair == "reindex" else address)
    return row(
        case,
        broken,
        shown,
        f"exit {again.code}, {states(world)}",
        "" if broken.code == -9 else "it was not killed",
        "" if shown.startswith(required) else f"shown as {shown}",
        "" if search.code == 0 else f"search: {search.told}",
        "" if states(world).startswith("ready") else "not ready after all",
        "" if world.contents() == expected else "not what an undisturbed run leaves",
        world.leaks(),
    )


# ---- addresses


def addresses(folder: Path, _: argparse.Namespace) -> Generator[Row]:
    """Ask for what cannot be had; nothing may be left, and what was indexed before stays as it was."""
    MadeRepository(folder / "served" / "team" / "code").commit(fill(20, edition=1))
    with GitServer(folder / "served", token=TOKEN) as server:
        good = server.url("team/code.git")
        cases: Mapping[str, tuple[list[str], dict[str, str]]] = {
            "http to another machine": (["http://example.invalid/o/n"], {}),
            "ssh address": (["git@github.com:o/n.git"], {}),
            "token in the address": ([f"https://me:{TOKEN}@github.com/o/n"], {}),
            "option as address": (["--", "--upload-pack=touch /tmp/x"], {}),
            "command as address": (["ext::sh -c id"], {}),
            "way out in the address": (["https://github.com/o/../../etc"], {}),
            "missing folder": (["/nowhere/at/all"], {}),
            "missing branch": ([good, "--branch", "nowhere"], {}),
            "option as branch": ([good, "--branch=--upload-pack=x"], {}),
            "missing repository": ([server.url("team/none.git")], {}),
            "wrong token": ([good], {"GIT_TOKENS": f"{server.host}={TOKEN}x"}),
            "no token": ([good], {"GIT_TOKENS": ""}),
            "no such host": (["https://nowhere.invalid/o/n"], {}),
            "connection refused": (["http://127.0.0.1:1/o/n"], {}),
        }
        world = World(folder / "world", server)
        for case, (arguments, more) in cases.items():
            broken = world.run("index", *arguments, **more)
            wrong = "" if broken.code in (1, 2, 3) else "it did not fail"
            yield row(case, broken, states(world), "", wrong, _nothing(world), world.leaks())
        for case, change in _UPSETS.items():
            change(server)
            broken = world.run("index", good)
            server.behaviour.status, server.behaviour.cut_after = 0, None
            wrong = "" if broken.code in (1, 3) else "it did not fail"
            yield row(case, broken, states(world), "", wrong, _nothing(world), world.leaks())
        assert world.run("index", good).code == 0
        server.behaviour.status = 503
        broken = world.run("refresh", "code")
        server.behaviour.status = 0
        kept = "" if states(world) == "ready 20" else "the index did not stay"
        again = world.run("refresh", "code")
        yield row("host down at a refresh", broken, states(world), f"exit {again.code}", kept, world.leaks())


def _nothing(world: World) -> str:
    left = [path.name for path in world.clones.glob("*") if path.suffix != ".lock"]
    return "" if states(world) == "nothing" and not left else f"left: {states(world)} {left}"


def _status(code: int) -> Callable[[GitServer], None]:
    def change(server: GitServer) -> None:
        server.behaviour.status = code

    return change


def _cut(server: GitServer) -> None:
    server.behaviour.cut_after = 700


_UPSETS = {"answer 503": _status(503), "answer 429": _status(429), "answer 404": _status(404), "cut off": _cut}

# ---- disk


def disk(folder: Path, _: argparse.Namespace) -> Generator[Row]:
    """Fill the disk of the clone, then that of the store."""
    files = fill(400, edition=1)
    noise = {f"noise/{number}.py": f"NOISE = '{os.urandom(40_000).hex()}'\n" for number in range(60)}
    MadeRepository(folder / "served" / "team" / "code").commit({**files, **noise})
    with GitServer(folder / "served", token=TOKEN) as server:
        address = server.url("team/code.git")
        whole = World(folder / "whole", server)
        assert whole.run("index", address).code == 0
        expected = whole.contents()
        for what, size in (("clones", "3m"), ("data", "1500k")):
            world = World(folder / f"full-{what}", server)
            place = world.clones if what == "clones" else world.data
            with tmpfs(place, size) as grow:
                if grow is None:
                    print(f"SKIPPED: disk of the {what}: no tmpfs can be mounted (needs root)")
                    continue
                broken = world.run("index", address)
                shown = states(world)
                grow()
                again = world.run("index", address)
                equal = world.contents() == expected
                yield row(
                    f"disk of the {what} full",
                    broken,
                    shown,
                    f"exit {again.code}, {states(world)}",
                    "" if broken.code == 1 else "it did not fail",
                    f"shown as {shown}" if "ready" in shown else "",
                    "" if equal else "not what an undisturbed run leaves",
                    world.leaks(),
                )


@contextmanager
def tmpfs(place: Path, size: str) -> Generator[Callable[[], object] | None]:
    """Mount a small disk, with a function that makes it large; None where that may not be."""
    place.mkdir(parents=True, exist_ok=True)
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(place)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        yield None
        return
    try:
        yield lambda: subprocess.run(["mount", "-o", "remount,size=500m", str(place)], check=True)
    finally:
        subprocess.run(["umount", str(place)], check=True)


# ---- size


def many(folder: Path, options: argparse.Namespace) -> Generator[Row]:
    """Index very many tiny files, kill it in the middle, go on, look again, change one."""
    count: int = options.files
    made = tiny_repository(folder / "served" / "team" / "code", count)
    with GitServer(folder / "served", token=TOKEN) as server:
        address = server.url("team/code.git")
        world = World(folder / "world", server)
        broken = world.run("index", address, FAULTY_KILL=f"write:{count // 2}")
        shown = states(world)
        wrong = "" if shown.startswith("error") else f"shown as {shown}"
        yield row(f"{count:,} files, killed in the middle", broken, shown, broken.cost, wrong)
        for case, change in (
            ("resumed", lambda: None),
            ("nothing changed", lambda: None),
            ("one changed", lambda: tiny_repository(made.folder, 1, again=True)),
        ):
            change()
            done = world.run("index", address)
            shown = states(world)
            wrong = "" if (done.code, shown) == (0, f"ready {count}") else f"exit {done.code}, {shown}"
            yield row(f"{count:,} files, {case}", done, shown, done.cost, wrong)
        found = world.run("search", f"value_{count // 3}", "--json")
        first: dict[str, Any] = json.loads(found.out)["results"][0]
        wrong = "" if first["file_path"].endswith(f"m{count // 3}.py") else f"found {first['file_path']}"
        yield row(f"{count:,} files, a search", found, first["file_path"], found.cost, wrong)


def huge(folder: Path, _: argparse.Namespace) -> Generator[Row]:
    """Index a repository with a file of a gigabyte."""
    big_repository(folder / "served" / "team" / "code", 1024**3)
    with GitServer(folder / "served", token=TOKEN) as server:
        world = World(folder / "world", server)
        done = world.run("index", server.url("team/code.git"))
        wrong = "" if "big.py: It has 1,073,741,824 bytes" in done.out else "it is not reported"
        large = "" if done.peak < 400 * 1024**2 else "it takes too much memory"
        yield row("a file of a gigabyte", done, states(world), done.cost, wrong, large)


# ---- names

NAMES = (
    b"-rf.py", b"--help.py", b"a\nb.py", b"\x1b[31mred\x1b[0m.py", b"..\\up.py", b"..a.py", b"a b;$(id).py",
    b"\xff\xfe.py", "日本.py".encode(), b"x" * 240 + b".py", "\u202eyp.exe.py".encode(), b"dir/..x/y.py", b"\"q'.py",
    b"%s%n.py", b"[bold]b.py", b"c\x9bd.py",
)  # fmt: skip


def names(folder: Path, _: argparse.Namespace) -> Generator[Row]:
    """Index hostile file names, and clone trees that name what lies outside."""
    made = MadeRepository(folder / "served" / "team" / "code")
    for number, name in enumerate(NAMES):
        made.write({os.fsdecode(name): f"def hostile_{number}():\n    return {number}\n"})
    made.commit()
    with GitServer(folder / "served", token=TOKEN) as server:
        world = World(folder / "world", server)
        address = server.url("team/code.git")
        done = world.run("index", address, "--verbose")
        result = "" if states(world) == f"ready {len(NAMES)}" else f"{states(world)} of {len(NAMES)}"
        yield row("hostile file names, indexed", done, states(world), "", result, world.leaks())
        found = world.run("search", "hostile", "--threshold", "0", "--limit", "50")
        yield row("hostile file names, searched", found, states(world), "", "" if found.code == 0 else found.told)
        names_found = {each["file_path"] for each in world.results("hostile")}
        wrong = "" if len(names_found) == len(NAMES) else f"{len(names_found)} of {len(NAMES)} found"
        unread = [name for name in names_found if not world.readable(name)]
        yield row("hostile file names, as JSON", found, str(len(names_found)), "", wrong, str(unread) if unread else "")
        made.write({os.fsdecode(name): "def hostile_too():\n    return 'new'\n" for name in NAMES})
        made.commit()
        again = world.run("refresh", "code")
        yield row("hostile file names, refreshed", again, states(world), "", "" if again.code == 0 else again.told)
        for entry in ("..", ".git", ".", "a/../../b"):
            hostile = MadeRepository(folder / "served" / "team" / f"tree{len(entry)}")
            hostile.commit({"good.py": "def good():\n    return 1\n"})
            _enter(hostile, entry)
            broken = world.run("index", server.url(f"team/{hostile.folder.name}.git"))
            wrong = "" if broken.code else "it was indexed"
            yield row(f"a tree that names '{entry}'", broken, states(world), "", wrong, world.leaks())


def _enter(made: MadeRepository, entry: str) -> None:
    """Commit a tree with an entry that Git itself would not write."""
    blob = made.git("rev-parse", "HEAD:good.py")
    content = b"100644 " + entry.encode() + b"\0" + bytes.fromhex(blob)
    tree = subprocess.run(
        ["git", "hash-object", "-t", "tree", "-w", "--literally", "--stdin"],
        cwd=made.folder, input=content, capture_output=True, check=True,
    ).stdout.decode().strip()  # fmt: skip
    commit = made.git("commit-tree", tree, "-m", "hostile")
    made.git("update-ref", "refs/heads/main", commit)


PARTS = {"kills": kills, "addresses": addresses, "disk": disk, "many": many, "huge": huge, "names": names}


def main() -> int:
    """Run the parts named, all by default, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", default=list(PARTS))
    parser.add_argument("--files", type=int, default=100_000)
    options = parser.parse_args()
    rows: list[Row] = []
    for part in options.parts:
        with tempfile.TemporaryDirectory(prefix=f"faults-{part}-") as folder:
            rows.extend(PARTS[part](Path(folder), options))
    print("\n| case | the run | told | shown then | once repaired, or cost | wrong |\n|---|---|---|---|---|---|")
    for each in rows:
        cells = (each.case, each.first, each.told, each.shown, each.again, each.wrong or "-")
        print(f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |")
    return 1 if any(each.wrong for each in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
