"""Log lines: one event a line, as text or JSON, with its fields, on stderr."""

from __future__ import annotations

import json
import logging
import warnings
from datetime import datetime, timedelta
from typing import Any

import pytest

from knowledge_mcp.cli.shared.logs import JsonFormatter, TextFormatter, set_up_logging
from knowledge_mcp.support.events import log_event

logger = logging.getLogger("knowledge_mcp.tests.logs")


@pytest.fixture
def clean(logging_restored: None) -> None:
    """Leave logging as it was."""


def lines(capsys: pytest.CaptureFixture[str]) -> list[str]:
    """Return what was logged, and make sure that nothing went to stdout."""
    captured = capsys.readouterr()
    assert captured.out == ""
    return captured.err.splitlines()


@pytest.mark.requirement("A-REQ-MAINT-001", "C-9.2-structure")
def test_an_event_is_one_line_of_json_with_its_fields(clean: None, capsys: pytest.CaptureFixture[str]) -> None:
    set_up_logging("INFO", "json")
    log_event(logger, logging.INFO, "query_complete", tool="search", results=3, request_id="r-1", message="a\nb")
    (line,) = lines(capsys)
    event: dict[str, Any] = json.loads(line)
    when = event.pop("timestamp")
    assert datetime.fromisoformat(when).utcoffset() == timedelta(0)
    assert event == {
        "level": "info",
        "message": "query_complete",
        "context": {"component": "tests.logs", "operation": "search", "requestId": "r-1"},
        "data": {"tool": "search", "results": 3, "message": "a\nb"},
    }


@pytest.mark.requirement("A-REQ-MAINT-001")
def test_an_event_is_one_line_of_text_whatever_it_holds(clean: None, capsys: pytest.CaptureFixture[str]) -> None:
    set_up_logging("INFO", "text")
    log_event(
        logger, logging.WARNING, "retry_attempt", service="store", reason="two words\nand \x1b[31m", n=2, none=None
    )
    (line,) = lines(capsys)
    assert "WARNING retry_attempt service=store" in line
    assert "\x1b" not in line
    assert line.endswith("n=2 none=null")


@pytest.mark.requirement("A-REQ-MAINT-001", "C-9.2-levels")
@pytest.mark.parametrize(("level", "shown"), [("DEBUG", 4), ("INFO", 3), ("WARNING", 2), ("ERROR", 1)])
def test_the_level_decides_what_is_shown(
    clean: None, capsys: pytest.CaptureFixture[str], level: str, shown: int
) -> None:
    set_up_logging(level)
    for number in (logging.DEBUG, logging.INFO, logging.WARNING, logging.ERROR):
        log_event(logger, number, "event")
    assert len(lines(capsys)) == shown


def test_an_exception_is_kept_in_both_forms(clean: None) -> None:
    try:
        raise ValueError("told")
    except ValueError as exc:
        record = logger.makeRecord("n", logging.ERROR, "f", 1, "failed", (), (type(exc), exc, exc.__traceback__))
    assert "ValueError: told" in TextFormatter().format(record)
    line = json.loads(JsonFormatter().format(record))
    assert (line["level"], line["message"]) == ("error", "failed")
    assert (line["error"]["name"], line["error"]["message"]) == ("ValueError", "told")
    assert "ValueError: told" in line["error"]["stack"]
    assert "data" not in line


def test_a_library_cannot_add_a_handler_of_its_own(clean: None, capsys: pytest.CaptureFixture[str]) -> None:
    set_up_logging("INFO")
    logging.basicConfig(level="DEBUG", format="theirs %(message)s")
    logging.getLogger("httpx").info("a request")
    log_event(logger, logging.DEBUG, "hidden")
    log_event(logger, logging.INFO, "seen")
    assert [line.split()[-1] for line in lines(capsys)] == ["seen"]


def test_a_warning_becomes_a_log_line(clean: None, capsys: pytest.CaptureFixture[str]) -> None:
    set_up_logging("WARNING", "json")
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.warn("old", UserWarning, stacklevel=1)
    line = json.loads(lines(capsys)[0])
    assert line["level"] == "warn"
    assert "old" in line["message"]


@pytest.mark.parametrize("library", ["pdfminer.psparser", "markitdown", "httpx", "chromadb", "one.not.yet.known"])
def test_debug_shows_our_own_steps_and_leaves_the_libraries_at_warnings(
    clean: None, capsys: pytest.CaptureFixture[str], library: str
) -> None:
    set_up_logging("DEBUG")
    theirs = logging.getLogger(library)
    theirs.debug("the text of a page, token by token")
    theirs.info("a request")
    theirs.warning("seen")
    log_event(logger, logging.DEBUG, "our_step")
    assert [line.split()[-1] for line in lines(capsys)] == ["seen", "our_step"]
