"""Whole folders dropped or chosen: every file with its path, progress of all, failures by file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.console.browser import Console, probe
from tests.console.service import Service

DROP = probe("dropfolder")


def _outcome(job: dict[str, Any]) -> dict[str, Any]:
    if job["source"] == "broken.docx":
        return {**job, "state": "failed", "result": None, "error": "broken.docx is truncated."}
    return job


@pytest.mark.slow
def test_a_folder_is_dropped_with_all_that_is_in_it(console: Console, service: Service) -> None:
    service.outcome = _outcome
    console.open("#/ingest")
    paths = ["plans/a.md", "plans/old/a.md", "plans/broken.docx", "plans/.hidden", "plans/old/Thumbs.db"]
    paths += [f"plans/many/{number:03}.md" for number in range(110)]  # more than a browser gives at once
    console.page.evaluate(DROP, paths)
    expect(console.at("#ingest-status")).to_contain_text("113 files added to the queue; 2 hidden files skipped")
    expect(console.at("#queue-figures")).to_have_text("113 of 113 documents · 100 % · 1 failed", timeout=60_000)
    sent = service.took("POST /ingest_file")
    sources = [json.loads(each["metadata"])["source"] for each in sent]
    assert sources == sorted(path for path in paths if "hidden" not in path and "Thumbs" not in path)
    console.at("#queue-errors summary").click()
    expect(console.at("#queue-errors li")).to_have_text("plans/broken.docx: broken.docx is truncated.")
    service.outcome = lambda job: job
    console.at("#queue-retry").click()
    expect(console.at("#queue-figures")).to_have_text("113 of 113 documents · 100 %")


def test_a_folder_is_chosen(console: Console, service: Service, tmp_path: Path) -> None:
    (tmp_path / "notes" / "deep").mkdir(parents=True)
    (tmp_path / "notes" / "one.md").write_text("One.")
    (tmp_path / "notes" / "deep" / "one.md").write_text("Another.")
    console.open("#/ingest")
    console.at("#folder").set_input_files(tmp_path / "notes")
    expect(console.at(".item[data-state=done]")).to_have_count(2)
    sources = {json.loads(each["metadata"])["source"] for each in service.took("POST /ingest_file")}
    assert sources == {"notes/one.md", "notes/deep/one.md"}


def test_the_progress_of_all_grows_with_what_is_sent_and_read(console: Console, service: Service) -> None:
    service.hold.set()
    console.open("#/ingest")
    files: list[Any] = [{"name": f"{name}.md", "mimeType": "text/markdown", "buffer": b"x"} for name in "abcd"]
    console.at("#files").set_input_files(files)
    expect(console.at("#queue-figures")).to_have_text("0 of 4 documents · 17 %")  # half and 40 of 100 of the rest
    service.hold.clear()
    expect(console.at("#queue-figures")).to_have_text("4 of 4 documents · 100 %")


def test_all_that_waits_is_cancelled_at_a_press(console: Console, service: Service) -> None:
    service.hold.set()
    console.open("#/ingest")
    files: list[Any] = [{"name": f"{name}.md", "mimeType": "text/markdown", "buffer": b"x"} for name in "abc"]
    console.at("#files").set_input_files(files)
    expect(console.at(".item[data-state=running]")).to_have_count(1)
    console.at("#queue-cancel").click()
    expect(console.at("#queue-figures")).to_have_text("3 of 3 documents · 100 % · 3 cancelled")
