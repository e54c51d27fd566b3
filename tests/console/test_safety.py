"""Whatever documents, names and errors hold stays text; the policy holds, and these tests see where it does not."""

from __future__ import annotations

import re
from importlib import resources

import pytest
from playwright.sync_api import Browser, expect

from tests.console.browser import Console, new_page, opened
from tests.console.conftest import Holder
from tests.console.service import KEY, POLICY, Failure, Service, a_document

HOSTILE = (
    '<img src=x onerror="window.owned=1"><script>window.owned=1</script>"><svg/onload=window.owned=1>&lt;b&gt;{{7*7}}'
)
FORBIDDEN = """innerHTML outerHTML insertAdjacentHTML document.write eval( Function( localStorage sessionStorage
    indexedDB document.cookie createContextualFragment DOMParser setAttribute("style""".split()
FILES = sorted(each.name for each in resources.files("knowledge_mcp").joinpath("console").iterdir())
SOURCES = {
    name: resources.files("knowledge_mcp").joinpath("console", name).read_text(encoding="utf-8") for name in FILES
}


def _made_nothing(console: Console) -> None:
    made = "main script, main svg, main img, main iframe, main [onerror], main [onload], dialog img, dialog script"
    assert console.page.evaluate("(made) => [window.owned, document.querySelectorAll(made).length]", made) == [None, 0]
    addresses = console.page.evaluate("[...document.querySelectorAll('a')].map((each) => each.href)")
    assert [each for each in addresses if not re.match(r"https?://127\.0\.0\.1:\d+/#", each)] == []


def test_hostile_text_in_every_field_stays_text(console: Console, service: Service) -> None:
    hostile = a_document(
        1, [f"zebra {HOSTILE}", f"| {HOSTILE} | zebra |\n|---|---|\n| {HOSTILE} | x |"], title=HOSTILE,
        filename=HOSTILE, source="javascript:window.owned=1", warnings=[HOSTILE], status=HOSTILE,
        metadata={HOSTILE: HOSTILE},
    )  # fmt: skip
    for chunk in hostile["chunks"]:
        chunk["metadata"].update(sections=[HOSTILE], clause_number=HOSTILE)
    service.add(hostile)
    service.collections.append(HOSTILE)
    service.extra = {"degraded": [HOSTILE], "mode": HOSTILE, "collection": HOSTILE, "also_asked": [HOSTILE]}
    console.open("#/search?q=zebra%20script%20onerror")
    expect(console.at(".result")).to_have_count(2)
    console.at(".result summary").first.click()
    assert console.at(".result .plain-text").first.inner_text() == f"zebra {HOSTILE}"
    _made_nothing(console)
    console.at(".result h2 a").first.click()
    expect(console.at("#document-heading")).to_have_text(HOSTILE)
    expect(console.at(".passage.found mark").first).to_be_visible()
    _made_nothing(console)
    console.go("#/documents")
    expect(console.at("#documents-table th a")).to_have_text(HOSTILE)
    console.at("#documents-table button").click()
    expect(console.at("#confirm-text")).to_contain_text(HOSTILE)
    console.press("Escape")
    console.go("#/collections")
    console.at("#collections-table button").nth(0).click()
    expect(console.at("#confirm-label")).to_have_text(f"Type {HOSTILE} to confirm")
    console.press("Escape")
    _made_nothing(console)


def test_hostile_words_of_failures_and_of_jobs_stay_text(console: Console, service: Service) -> None:
    service.failures["POST /search"] = [Failure(500, HOSTILE, HOSTILE, HOSTILE)]
    service.outcome = lambda job: {**job, "state": "failed", "result": None, "error": HOSTILE}
    console.open("#/search?q=zebra")
    expect(console.at("#search-notices")).to_contain_text(HOSTILE)
    console.go("#/ingest")
    console.at("#text-name").fill(HOSTILE.replace("/", ""))
    console.at("#text").fill("text")
    console.page.get_by_role("button", name="Add text").click()
    expect(console.at(".item")).to_contain_text(HOSTILE)
    _made_nothing(console)


def test_controls_of_direction_are_shown_and_turn_nothing(console: Console, service: Service) -> None:
    turning = "plan\u202egnp.exe"
    hostile = a_document(1, [f"zebra {turning}"], title=turning, filename=turning, source=turning)
    service.add(hostile)
    console.open("#/search?q=zebra")
    console.at(".result summary").click()
    expect(console.at("#results")).to_contain_text(r"plan\u202egnp.exe")
    console.go(f"#/document/{hostile['doc_id']}")
    expect(console.at("#document-heading")).to_have_text(r"plan\u202egnp.exe")
    console.go("#/documents")
    expect(console.at("main")).to_contain_text(r"plan\u202egnp.exe")
    assert "\u202e" not in console.page.content()


def test_hostile_addresses_show_nothing_but_text(console: Console, service: Service) -> None:
    console.open(
        "#/search?q=%3Cimg%20src%3Dx%20onerror%3Dwindow.owned%3D1%3E&c=%3Cb%3E&k=99&mode=none&min=x&doc=%22%3E"
    )
    expect(console.at("#search-notices")).to_contain_text("There is no collection '<b>'.")
    console.go("#/document/..%2F..%2Fhealth?at=-1")
    expect(console.at("#document-problem")).to_contain_text("Not found")
    console.go("#/__proto__/%E0%A4%A")
    expect(console.at("#missing-heading")).to_be_visible()
    _made_nothing(console)


def test_a_source_is_a_link_only_where_it_is_a_web_address(console: Console, service: Service) -> None:
    service.add(a_document(1, ["A zebra."], source="https://docs.example.com/a?b=1#c"))
    console.open("#/search?q=zebra")
    console.at(".result summary").click()
    link = console.at(".facts dd a")
    expect(link).to_have_attribute("href", "https://docs.example.com/a?b=1#c")
    expect(link).to_have_attribute("rel", "noreferrer noopener")


def test_the_watchers_of_these_tests_see_what_breaks_the_policy(browser: Browser, holder: Holder) -> None:
    other = new_page(browser)
    with other.context, opened(other, holder.base) as console:
        console.open(key=None)
        console.page.evaluate(
            """(key) => {
                const script = Object.assign(document.createElement("script"), { textContent: "window.owned = 1" });
                document.body.append(script);
                document.body.setAttribute("style", "color: red");
                document.body.append(Object.assign(new Image(), { src: "http://127.0.0.1:9/picture.png" }));
                localStorage.setItem("stored", key);
                sessionStorage.setItem("key", key);
                document.cookie = "key=" + key;
            }""",
            KEY,
        )
        expect(console.at("body")).to_be_attached()
        assert {each.split(" ")[0] for each in console.violations()} == {"script-src-elem", "style-src-attr", "img-src"}
        assert len(console.errors) == 3
        assert console.page.evaluate("window.owned") is None
        assert console.left_behind() == [f"key={KEY}", "stored", KEY, "key", KEY, f"key={KEY}"]
        with pytest.raises(AssertionError):
            console.must_be_clean()


def test_the_files_hold_nothing_that_the_policy_refuses() -> None:
    assert "unsafe" not in POLICY
    page = SOURCES["index.html"]
    assert re.findall(r"<style|<script(?![^>]*\bsrc=)|\bstyle=|\bon[a-z]+=|https?://(?!</|\")", page) == []
    scripts = "".join(text for name, text in SOURCES.items() if name.endswith(".js"))
    assert [word for word in FORBIDDEN if word in scripts] == []
    assert re.findall(r"@import|url\(", "".join(text for name, text in SOURCES.items() if name.endswith(".css"))) == []


def test_every_file_is_asked_for_by_the_page_and_has_a_plain_name_and_size(console: Console) -> None:
    console.open()
    asked = {each.url.rpartition("/")[2] for each in console.requests if "/console/" in each.url}
    assert asked | {"index.html"} == set(FILES)
    assert [name for name in FILES if not re.fullmatch(r"[a-z]+\.(css|html|js|svg)", name)] == []
    assert {name: text.count("\n") for name, text in SOURCES.items() if text.count("\n") > 400} == {}
