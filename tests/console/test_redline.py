"""The redline that `knowledge compare --html --pages` writes, opened in a browser as a file on the disk."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any, Literal

import pytest
from playwright.sync_api import Page, expect
from pypdfium2 import PdfDocument

from knowledge_mcp.cli.knowledge.review.compare import compare_editions, draw_pages, edition_at
from knowledge_mcp.settings import load_settings
from knowledge_mcp.surfaces import redline
from tests.console.browser import make_blank, probe
from tests.machine import node_clients
from tests.readers.pdf_files import sheet

Clauses = tuple[tuple[str, tuple[str, ...]], ...]

OLD: Clauses = (
    ("1 Doors", ("The doors should close within 5 s.", "Doors are made of steel.")),
    ("1.1 Locks", ("A lock shall hold the door while the car is away.",)),
    ("2 Ropes", ("Ropes are greased with oil that is free of acid once a year.",)),
    ("3 Buffers", ("Buffers below the car take up its fall over two metres of height.",)),
)
NEW: Clauses = (
    ("1 Doors", ("The doors shall close within 4 s.", "Doors are made of steel.")),
    ("1.1 Locks", ("A lock shall hold the door while the car is away.",)),
    ("2 Ropes and chains", ("Ropes are greased with oil that is free of acid once a year.",)),
    ("3 Alarm", ("A passenger shall be able to call a watchman by voice.", "The watchman answers at once.")),
)


def _printed(path: Path, clauses: Clauses) -> str:
    pages = sheet()
    for heading, sentences in clauses:
        pages.heading(heading)
        pages.paragraph(*sentences)
    path.write_bytes(pages.done())
    return str(path)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Write the redline of two PDF files, with their pages, and return its address."""
    folder = tmp_path_factory.mktemp("redline")
    settings = load_settings()
    files = (_printed(folder / "old.pdf", OLD), _printed(folder / "new.pdf", NEW))
    changes = compare_editions(edition_at(settings, files[0]), edition_at(settings, files[1]))
    pages = (draw_pages(settings, files[0], changes, "old"), draw_pages(settings, files[1], changes, "new"))
    (folder / "changes.html").write_text(redline.as_html("old.pdf", "new.pdf", changes, pages))
    return (folder / "changes.html").as_uri()


@pytest.fixture
def shown(page: Page, written: str) -> Generator[Page]:
    """Open the redline; it may neither ask for anything nor fail."""
    make_blank(page)
    asked: list[str] = []
    said: list[str] = []
    listeners: dict[str, Callable[[Any], None]] = {
        "request": lambda request: asked.append(request.url),
        "console": lambda message: said.append(message.text),
        "pageerror": lambda error: said.append(str(error)),
    }
    for name, listener in listeners.items():
        page.on(name, listener)  # type: ignore[call-overload]  # one listener a name
    page.goto(written)
    yield page
    for name, listener in listeners.items():
        page.remove_listener(name, listener)
    assert [each for each in asked if not each.startswith("data:")] == [written]
    assert said == []


def _here(page: Page) -> str:
    """Return what the reader has stepped to; it has the focus and is on the screen."""
    here = page.locator(".here")
    expect(here).to_have_count(1)
    expect(here).to_be_focused()
    expect(here).to_be_in_viewport()
    return " ".join(here.inner_text().split())


@pytest.mark.slow
def test_keys_and_buttons_step_through_every_change_once_and_begin_again(shown: Page) -> None:
    seen: list[str] = []
    for number in itertools.count(1):
        shown.keyboard.press("n")
        total = int(shown.locator("#at").inner_text().rpartition(" ")[2])
        expect(shown.locator("#at")).to_have_text(f"{number} of {total}")
        seen.append(_here(shown))
        if number == total:
            break
    assert [each.split("|")[0][:25] for each in seen] == [
        "The doors should close wi",
        "renamed 2 Ropes 2 Ropes a",
        "removed 3 Buffers words",
        "added 3 Alarm requirement",
    ]
    shown.get_by_role("button", name="Next change").click()
    assert _here(shown) == seen[0]
    shown.keyboard.press("p")
    assert _here(shown) == seen[-1]
    shown.get_by_role("button", name="Previous change").click()
    assert _here(shown) == seen[-2]


def test_a_count_steps_through_the_clauses_it_counts_and_the_keys_go_on_from_there(shown: Page) -> None:
    shown.get_by_role("button", name="1 removed").click()
    assert _here(shown) == "removed 3 Buffers words"
    expect(shown.locator("#at")).to_have_text("clause 1 of 1: removed")
    shown.get_by_role("button", name="1 force").click()
    assert _here(shown) == "edited 1 Doors force number"
    shown.keyboard.press("n")
    assert _here(shown).startswith("The doors should close")
    expect(shown.locator("#at")).to_have_text("1 of 4")


def test_a_step_opens_what_is_folded_and_keys_fold_and_unfold(shown: Page) -> None:
    doors = shown.locator("summary", has_text="1 Doors")
    row = shown.locator(".row.change", has_text="doors").first
    assert (
        shown.locator("details", has=shown.locator("summary", has_text="1.1 Locks")).last.get_attribute("open") is None
    )
    doors.focus()
    shown.keyboard.press("Enter")
    expect(row).to_be_hidden()
    shown.keyboard.press("n")
    expect(row).to_be_visible()
    shown.get_by_role("button", name="Fold all").click()
    expect(shown.locator(".row:visible")).to_have_count(0)
    shown.get_by_role("button", name="Open all").click()
    expect(shown.locator("details:not([open])")).to_have_count(0)
    expect(shown.get_by_text("while the car is away").first).to_be_visible()


def test_only_changes_leaves_the_rest_out(shown: Page) -> None:
    shown.get_by_role("button", name="Open all").click()
    shown.get_by_label("Only changes").check()
    expect(shown.get_by_text("while the car is away").first).to_be_hidden()
    expect(shown.get_by_text("made of steel").first).to_be_hidden()
    expect(shown.get_by_text("should", exact=True)).to_be_visible()
    shown.get_by_label("Only changes").uncheck()
    expect(shown.get_by_text("made of steel").first).to_be_visible()


def test_pages_are_drawn_when_they_are_asked_for_and_not_before(shown: Page) -> None:
    expect(shown.locator("img")).to_have_count(0)
    look = shown.get_by_role("button", name="Show pages of 1 Doors")
    expect(look).to_have_attribute("aria-expanded", "false")
    look.focus()
    shown.keyboard.press("Enter")
    expect(look).to_have_attribute("aria-expanded", "true")
    pictures = shown.locator("img")
    expect(pictures).to_have_count(2)
    assert [each.get_attribute("alt") for each in pictures.all()] == ["old.pdf, page 1", "new.pdf, page 1"]
    shown.wait_for_function("[...document.images].every(each => each.complete && each.naturalWidth > 400)")
    look.click()
    expect(pictures).to_have_count(0)


def test_a_print_has_every_change_marked_and_no_tools(shown: Page) -> None:
    shown.get_by_role("button", name="Fold all").click()
    text = " ".join(" ".join(each.get_textpage().get_text_range() for each in PdfDocument(shown.pdf())).split())
    for words in ("The doors should close within 5 s.", "The doors shall close within 4 s.", "3 Alarm", "3 Buffers"):
        assert words in text
    for words in ("Next change", "Only changes", "Show pages", "Fold all"):
        assert words not in text
    expect(shown.locator("details[open]")).to_have_count(0)  # as it was before


def test_a_phone_shows_once_what_did_not_change_and_print_stays_side_by_side(shown: Page) -> None:
    steel = shown.get_by_text("Doors are made of steel.")
    closing = shown.locator(".row.change", has_text="close within").locator("p")
    expect(steel.filter(visible=True)).to_have_count(2)
    shown.set_viewport_size({"width": 390, "height": 900})
    expect(steel.filter(visible=True)).to_have_count(1)
    expect(closing.filter(visible=True)).to_have_count(2)
    assert closing.nth(0).bounding_box()["y"] < closing.nth(1).bounding_box()["y"]  # type: ignore[index]
    shown.get_by_role("button", name="Open all").click()
    shown.mouse.wheel(0, 400)
    expect(shown.get_by_role("button", name="Next change")).to_be_in_viewport()
    shown.emulate_media(media="print")
    expect(steel.filter(visible=True)).to_have_count(2)
    assert closing.nth(0).bounding_box()["y"] == closing.nth(1).bounding_box()["y"]  # type: ignore[index]


@pytest.mark.slow
def test_axe_finds_no_violation_light_and_dark_wide_and_narrow(shown: Page) -> None:
    source = (node_clients() / "node_modules" / "axe-core" / "axe.min.js").read_text(encoding="utf-8")
    shown.get_by_role("button", name="Open all").click()
    shown.get_by_role("button", name="Show pages of 1 Doors").click()
    shown.keyboard.press("n")
    shown.evaluate(source)
    schemes: tuple[Literal["light", "dark"], ...] = ("light", "dark")
    found: list[Any] = []
    for width, scheme in itertools.product((1440, 360), schemes):
        shown.set_viewport_size({"width": width, "height": 900})
        shown.emulate_media(color_scheme=scheme)
        found += [(width, scheme, each) for each in shown.evaluate(probe("axe"))]
        assert shown.evaluate("document.documentElement.scrollWidth") <= width
    assert found == []
