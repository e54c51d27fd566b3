"""Take the pictures of `docs/images`: `python -m tests.console.screenshots [folder]`.

The service is the real one, with the embedding model of this machine, over the example documents and an older edition
of one of them, made here. Pictures have few colours, so that they stay small.
"""

from __future__ import annotations

import io
import shutil
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import quote

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

from knowledge_mcp import wiring
from knowledge_mcp.model.library import Deposit
from knowledge_mcp.ports import SharedLibrary
from knowledge_mcp.settings import load_settings
from knowledge_mcp.transports.rest.app import build_rest_app
from knowledge_mcp.transports.shared.keys import KeyRing
from knowledge_mcp.transports.shared.provider import KnowledgeProvider
from tests.rest.world import Options
from tests.transports.in_thread import serving

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples" / "documents"
IMAGES = ROOT / "docs" / "images"
STANDARD, GUIDE = "unattended-weather-stations.pdf", "quality-control-guide.md"
EARLIER = (("every working day", "twice a week"), ("Somebody should", "Somebody may"), ("130 records", "120 records"))
"""What the older edition of the guide says, beside what the example says."""
QUESTION = "minimum autonomy in days of a class 1 station"
COLOURS = 256
"""As many as a palette holds: a third of the bytes of a picture without one."""


@dataclass(frozen=True)
class Shot:
    """One picture.

    Attributes:
        name: of its file, without the suffix.
        address: within the page; `<standard>`, `<guide>` and `<older>` stand for the ids of documents.
        ready: what is to be seen before it is taken.
        scheme, size: of the browser.
    """

    name: str
    address: str
    ready: str
    scheme: Literal["light", "dark"] = "light"
    size: tuple[int, int] = (1360, 850)


SHOTS = (
    Shot("console-search", f"#/search?q={quote(QUESTION)}",
         ".result mark"),
    Shot("console-document", "#/document/<standard>?at=16&q=class%20of%20a%20station", "#page-image img"),
    Shot("console-compare", "#/compare?old=<older>&new=<guide>", ".clause ins", "dark"),
    Shot("console-trace", "#/trace?from=<standard>&to=<guide>", "#trace-links tbody tr"),
    Shot("console-telephone", "#/document/<standard>?at=29&q=autonomy", ".passage.found mark", size=(390, 760)),
)  # fmt: skip


def take(folder: Path, browser: Browser, shots: Sequence[Shot] = SHOTS) -> None:
    """Take pictures into a folder, with a running Chromium."""
    with tempfile.TemporaryDirectory() as data:
        settings = load_settings(environ={"DATA_PATH": data}, folder=Path(data), surface="rag")
        library = wiring.build_library(settings)
        names = _filled(library)
        app = build_rest_app(
            KnowledgeProvider(lambda: library), KeyRing(), options=Options(), version="",
        )  # fmt: skip
        with serving(app, grace=1) as base:
            for shot in shots:
                width, height = shot.size
                context = browser.new_context(color_scheme=shot.scheme, viewport={"width": width, "height": height})
                (folder / f"{shot.name}.png").write_bytes(_taken(context.new_page(), base, shot, names))
                context.close()


def _filled(library: SharedLibrary) -> dict[str, str]:
    """Take the example documents in, and the older edition beside them; returns their ids by placeholder."""
    ids = {
        path.name: library.deposit(Deposit("standards", path.name, content=path.read_bytes())).document_id
        for path in sorted(EXAMPLES.iterdir())
    }
    older = (EXAMPLES / GUIDE).read_text(encoding="utf-8")
    for now, then in EARLIER:
        assert now in older, now
        older = older.replace(now, then)
    draft = library.deposit(Deposit("drafts", "quality-control-guide-2024.md", text=older)).document_id
    return {"<standard>": ids[STANDARD], "<guide>": ids[GUIDE], "<older>": draft}


def _taken(page: Page, base: str, shot: Shot, names: dict[str, str]) -> bytes:
    address = shot.address
    for placeholder, ident in names.items():
        address = address.replace(placeholder, ident)
    page.goto(f"{base}/{address}")
    page.locator(shot.ready).first.wait_for(timeout=60_000)
    page.locator("#status-button[data-state=ready]").wait_for()
    page.evaluate("document.activeElement.blur()")
    picture = Image.open(io.BytesIO(page.screenshot(animations="disabled")))
    small = io.BytesIO()
    picture.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE).save(small, "PNG", optimize=True)
    return small.getvalue()


def main() -> None:
    """Take all pictures."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else IMAGES
    folder.mkdir(parents=True, exist_ok=True)
    browser = shutil.which("chromium-headless-shell") or shutil.which("chromium")
    if browser is None:
        sys.exit("Chromium is needed: apt-get install chromium-headless-shell")
    with sync_playwright() as driver:
        running = driver.chromium.launch(executable_path=browser, args=["--no-sandbox", "--disable-gpu"])
        take(folder, running)
        running.close()


if __name__ == "__main__":
    main()
