"""Damage to the store's file: what is damaged is named and never served; a backup is whole whatever goes on."""

from __future__ import annotations

import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from benchmarks.attacks import Attack, Outcome

QUOTE = "The station shall run on battery for eight hours."
FORGED = "The station could run on battery for eight hours."
FLIPS = 300


class _Product:
    """Run the installed commands over a data folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.store = folder / "data" / "knowledge.sqlite"
        self.docs = folder / "docs"
        self.docs.mkdir()
        for number in range(6):
            clauses = "\n\n".join(
                f"## {clause} Clause {clause}\n\nDevice {number} shall keep record {clause} for {clause} years."
                for clause in range(1, 12)
            )
            (self.docs / f"device{number}.md").write_text(f"# Device {number}\n\n{clauses}\n")
        (self.docs / "pumps.md").write_text(
            f"# Pumps\n\n## 1 Power\n\n{QUOTE}\n\n## 2 Alarms\n\nAn alarm shall sound.\n"
        )
        self.command("knowledge-ingest", str(self.docs))

    def command(self, name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run one command to its end."""
        environ = {**os.environ, "DATA_PATH": str(self.folder / "data"), "HOME": str(self.folder)}
        if models := os.environ.get("MODELS_PATH") or str(Path.home() / ".cache" / "knowledge-mcp" / "models"):
            environ["MODELS_PATH"] = models
        line = [str(Path(sys.executable).with_name(name)), *arguments]
        return subprocess.run(
            line, cwd=self.folder, env=environ, capture_output=True, text=True, timeout=120, check=False
        )

    def change(self, *statements: str) -> None:
        """Change the file behind the product's back."""
        with closing(sqlite3.connect(self.store)) as connection:
            for statement in statements:
                connection.execute(statement)
            connection.commit()


def _is_named(done: subprocess.CompletedProcess[str]) -> bool:
    said = done.stdout + done.stderr
    return done.returncode != 0 and "Traceback" not in said and ("damaged" in said or "could not be read" in said)


def _altered_words(folder: Path) -> Outcome:
    product = _Product(folder)
    sound = product.store.read_bytes()
    kinds: dict[str, str] = {
        "text": "UPDATE texts SET text = replace(text, 'shall run', 'could run')",
        "passage": "UPDATE chunks SET payload = replace(payload, 'shall run', 'could run')",
    }
    kinds["both"] = "; ".join(kinds.values())
    through: list[str] = []
    tried = 0
    for kind, statements in kinds.items():
        product.store.write_bytes(sound)
        product.change(*statements.split("; "))
        for quote in (FORGED, QUOTE):
            tried += 1
            done = product.command("knowledge", "verify-quote", quote)
            if done.returncode == 0 or "exact" in done.stdout:
                through.append(f"{kind}: '{quote}' is {done.stdout[:40]!r}")
        tried += 1
        if _says_sound(product):
            through.append(f"{kind}: the doctor calls it consistent")
    return Outcome(tried, tuple(through))


def _says_sound(product: _Product) -> bool:
    done = product.command("knowledge", "doctor", "--json")
    return done.returncode == 0 or "Traceback" in done.stderr or not done.stdout.startswith("{")


KINDS = {
    "emptied text": "UPDATE texts SET text = ''",
    "payload that is no JSON": "UPDATE chunks SET payload = 'x'",
    "changed record": "UPDATE documents SET record = replace(record, 'markdown', 'markdawn')",
    "short vector": "UPDATE vectors SET vector = x'0000'",
    "vector of NaN": "UPDATE vectors SET vector = CAST(x'0000c07f' || substr(vector, 5) AS BLOB)",
    "structure that is no JSON": "UPDATE structures SET structure = 'x'",
    "postings of noise": "UPDATE postings SET data = x'ffffffffff'",
}


def _kinds(folder: Path) -> Outcome:
    product = _Product(folder)
    sound = product.store.read_bytes()
    through: list[str] = []
    for kind, statement in KINDS.items():
        product.store.write_bytes(sound)
        product.change(statement)
        if _says_sound(product):
            through.append(f"{kind}: the doctor calls it consistent, or crashes")
    return Outcome(len(KINDS), tuple(through))


def _flipped_bytes(folder: Path) -> Outcome:
    """Flip bytes all over the file and ask in this process, which answers hundreds of times as fast as a command."""
    from knowledge_mcp.lexical.analyser import MultilingualAnalyser
    from knowledge_mcp.model.errors import KnowledgeError, noticing
    from knowledge_mcp.stores.sqlite.store import SqliteStore
    from knowledge_mcp.testing.store_search import text_of

    product = _Product(folder)
    sound = product.store.read_bytes()
    collection = "se_knowledge_base"

    def contents() -> tuple[set[str], bool]:
        store = SqliteStore(product.store, MultilingualAnalyser(), patience=5.0)
        try:
            with noticing() as damage:
                records = store.open(collection).documents()
                found: dict[str, tuple[str, ...]] = {}
                for each in records:
                    chunks = tuple(one.content for one in store.open(collection).chunks("document", [each.id]))
                    found[each.id] = (text_of(store.open(collection), each.id) or "", *chunks)
                words = store.open(collection).search(vector=None, text="battery record", filter=None, limit=10)
                store.open(collection).chunks("id", [hit.chunk_id for hit in words.lexical or ()])
                findings = store.open(collection).verify()
            return {words for each in found.values() for words in each if words}, bool(damage or findings)
        finally:
            store.close()

    right, _ = contents()
    dice = random.Random(14)
    through: list[str] = []
    named = 0
    for _ in range(FLIPS):
        place = dice.randrange(len(sound))
        damaged = bytearray(sound)
        damaged[place] ^= 1 << dice.randrange(8)
        for end in ("-wal", "-shm"):
            Path(f"{product.store}{end}").unlink(missing_ok=True)
        product.store.write_bytes(damaged)
        try:
            served, is_told = contents()
            named += is_told
            if not served <= right:
                through.append(f"byte {place}: words that were never stored are served")
        except KnowledgeError:
            named += 1
        except Exception as exc:  # noqa: BLE001 - any other failure is a crash
            through.append(f"byte {place}: {type(exc).__name__}: {exc}")
    return Outcome(FLIPS, tuple(through), note=f"{named} reported as damaged")


def _truncated(folder: Path) -> Outcome:
    product = _Product(folder)
    sound = product.store.read_bytes()
    through: list[str] = []
    shares = (0.1, 0.5, 0.9, 0.999)
    for share in shares:
        product.store.write_bytes(sound[: int(len(sound) * share)])
        done = product.command("knowledge", "search", "battery")
        if not _is_named(done) and QUOTE not in done.stdout:
            through.append(f"{share:.1%} of the file: exit code {done.returncode}, {done.stderr[:60]!r}")
    return Outcome(len(shares), tuple(through))


def _backup_during_writes(folder: Path) -> Outcome:
    product = _Product(folder)
    stop = threading.Event()

    def write() -> None:
        number = 0
        while not stop.is_set():
            number += 1
            text = product.docs / "device0.md"
            text.write_text(text.read_text().replace("Device 0", f"Device 0 issue {number}", 1))
            product.command("knowledge-ingest", str(product.docs))

    writer = threading.Thread(target=write)
    writer.start()
    through: list[str] = []
    copies = [folder / f"{number}.tar" for number in range(3)]
    try:
        for copy in copies:
            done = product.command("knowledge", "backup", str(copy))
            if done.returncode:
                through.append(f"backup: {done.stderr[:80]!r}")
    finally:
        stop.set()
        writer.join()
    for copy in (each for each in copies if each.exists()):
        done = product.command("knowledge", "restore", str(copy), "--force", "--json")
        if done.returncode or json.loads(done.stdout)["documents"] != 7:
            through.append(f"restore: {done.stdout[:80]!r} {done.stderr[:80]!r}")
        if product.command("knowledge", "verify-quote", QUOTE).returncode:
            through.append("a quote is not found in what was restored")
        checked = product.command("knowledge", "doctor")
        if checked.returncode:
            through.append(f"what was restored is damaged: {checked.stdout[-80:]!r}")
    before = product.store.read_bytes()
    damaged = bytearray(copies[0].read_bytes())
    damaged[len(damaged) // 2] ^= 1
    copies[0].write_bytes(damaged)
    if product.command("knowledge", "restore", str(copies[0]), "--force").returncode == 0:
        through.append("a damaged backup is restored")
    if product.store.read_bytes() != before:
        through.append("a refused restore has changed the store")
    return Outcome(2 * len(copies) + 1, tuple(through))


def _mounted(folder: Path, options: str) -> Path | None:
    """Mount a small file system, None where that is not permitted."""
    mount = shutil.which("mount")
    place = folder / "mount"
    place.mkdir()
    if mount is None or os.geteuid() != 0:
        return None
    done = subprocess.run([mount, "-t", "tmpfs", "-o", options, "tmpfs", str(place)], capture_output=True, check=False)
    return place if done.returncode == 0 else None


def _on_disk(folder: Path, options: str, prepare: Callable[[Path], object]) -> Outcome:
    product = _Product(folder)
    place = _mounted(folder, options)
    if place is None:
        return Outcome(skipped="mounting needs root and CAP_SYS_ADMIN")
    try:
        shutil.copy(product.store, place)
        prepare(place)
        (folder / "data").rename(folder / "before")
        (folder / "data").symlink_to(place)
        done = product.command("knowledge", "verify-quote", QUOTE)
        through = () if done.returncode == 0 else (done.stderr[:120],)
        return Outcome(1, through)
    finally:
        subprocess.run(["umount", str(place)], capture_output=True, check=False)


def _read_only(folder: Path) -> Outcome:
    return _on_disk(
        folder, "size=20m", lambda place: subprocess.run(["mount", "-o", "remount,ro", str(place)], check=True)
    )


def _full(folder: Path) -> Outcome:
    def fill(place: Path) -> None:
        with (place / "fill").open("wb", buffering=0) as stream:
            try:
                while stream.write(bytes(4096)):
                    pass
            except OSError:
                return

    return _on_disk(folder, "size=3m", fill)


ATTACKS = (
    Attack("damage", "A word of the text or of a passage is changed on the disk", _altered_words),
    Attack("damage", "Texts, passages, records, vectors, structures and postings are spoilt", _kinds),
    Attack("damage", "Single bits are flipped all over the file", _flipped_bytes),
    Attack("damage", "The file is cut short", _truncated),
    Attack("damage", "A backup is taken while documents are written, and restored", _backup_during_writes),
    Attack("damage", "A closed store is asked on a read-only disk", _read_only),
    Attack("damage", "A closed store is asked on a full disk", _full),
)
"""What is tried; the product may answer rightly or name the damage."""
