"""The summary of an ingest and its exit code; durations as people write them; progress as plain lines."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
import typer

from knowledge_mcp.cli.serve.starting import run_to_exit_code
from knowledge_mcp.cli.shared.failures import ExitCode, exit_code_of, print_failure
from knowledge_mcp.cli.shared.progress import IngestTally, LineProgress
from knowledge_mcp.cli.shared.report import cost_of, duration, exit_code_for, list_unreadable, local_seconds
from knowledge_mcp.cli.shared.session import guard
from knowledge_mcp.model.errors import (
    AuthError,
    ConfigError,
    ConnectionFailedError,
    InternalError,
    KnowledgeError,
    RateLimitedError,
    SpaceMismatchError,
    reason_of,
)
from knowledge_mcp.model.ingest import (
    IngestedDocument,
    IngestEvent,
    IngestEventKind,
    IngestReport,
    PlannedDocument,
    SkippedFile,
)
from tests.cli.running import SECONDS, start
from tests.fakes.knowledge import FakeKnowledge

RECORD = FakeKnowledge().documents()[0]
NEW = IngestedDocument(RECORD, embedded=2, reused=0, unchanged=False)
OLD = IngestedDocument(RECORD, embedded=0, reused=0, unchanged=True)
PLANNED = PlannedDocument("/a.md", "a", 0, 3, 30, unchanged=False)
BAD = SkippedFile("/b.pdf", "corrupted", "It is damaged.")


@pytest.mark.requirement("A-REQ-CLI-001")
@pytest.mark.parametrize(
    ("report", "aborted", "code"),
    [
        (IngestReport(documents=(NEW,)), False, ExitCode.SUCCESS),
        (IngestReport(documents=(OLD,)), False, ExitCode.SUCCESS),
        (IngestReport(planned=(PLANNED,)), False, ExitCode.SUCCESS),
        (IngestReport(documents=(NEW,), skipped=(BAD,)), False, ExitCode.FAILURE),
        (IngestReport(documents=(OLD,), failed=(BAD,)), False, ExitCode.FAILURE),
        (IngestReport(planned=(PLANNED,), skipped=(BAD,)), False, ExitCode.FAILURE),
        (IngestReport(skipped=(BAD,)), False, ExitCode.NOTHING_DONE),
        (IngestReport(failed=(BAD,)), False, ExitCode.NOTHING_DONE),
        (IngestReport(), False, ExitCode.NOTHING_DONE),
        (IngestReport(documents=(OLD,), skipped=(BAD,)), True, ExitCode.NOTHING_DONE),
    ],
)
def test_the_exit_code_follows_from_the_report(report: IngestReport, code: ExitCode, *, aborted: bool) -> None:
    assert exit_code_for(report, aborted=aborted) is code


@pytest.mark.requirement("A-REQ-CLI-001")
@pytest.mark.requirement("CLARIFY-002")
@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ConfigError("x"), 3),
        (SpaceMismatchError("x"), 3),
        (AuthError("x"), 3),
        (ConnectionFailedError("x"), 3),
        (RateLimitedError("x"), 2),
        (InternalError("x"), 2),
    ],
)
def test_the_exit_code_follows_from_the_error(error: KnowledgeError, code: int) -> None:
    assert exit_code_of(error, ExitCode.NOTHING_DONE) == code


def test_details_are_shown_when_asked_for_and_for_settings(capsys: pytest.CaptureFixture[str]) -> None:
    def result(error: KnowledgeError, *, verbose: bool) -> str:
        print_failure(error, verbose=verbose)
        return capsys.readouterr().err

    assert "line 2" in result(ConfigError("wrong", details="line 1\nline 2"), verbose=False)
    assert "line 2" not in result(SpaceMismatchError("wrong", details="line 1\nline 2"), verbose=False)
    assert "line 2" not in result(InternalError("wrong", details="line 2"), verbose=False)
    assert "line 2" in result(InternalError("wrong", details="line 2"), verbose=True)
    assert "(--verbose shows the details)" in result(InternalError("wrong", details="line 2"), verbose=False)


@pytest.mark.parametrize("level", ["INFO", "DEBUG"])
def test_a_server_names_its_own_option_that_shows_details(capsys: pytest.CaptureFixture[str], level: str) -> None:
    def fail() -> int:
        raise InternalError("wrong", details="line 2")

    assert run_to_exit_code(fail, verbose=level == "DEBUG") == ExitCode.FAILURE
    said = capsys.readouterr().err
    assert ("line 2" in said) == (level == "DEBUG")
    assert ("(--log-level DEBUG shows the details)" in said) == (level == "INFO")
    assert "--verbose" not in said


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0.0 s"), (9.94, "9.9 s"), (9.96, "10 s"), (59.4, "59 s"), (59.6, "1 min 00 s"), (185, "3 min 05 s"),
     (7800, "2 h 10 min")],
)  # fmt: skip
def test_durations_are_written_for_people(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_local_embedding_is_free_and_takes_its_time() -> None:
    assert cost_of("local", 10**6, 0.0) == "free (local)"
    assert cost_of("openai", 2 * 10**6, 0.02).startswith("0.0400 USD (2,000,000 tokens")
    assert "1,000,000 tokens" in cost_of("openai", 10**6, None)
    assert local_seconds(640, "int8", 2) == 10
    assert local_seconds(640, "fp32", 2) > local_seconds(640, "int8", 2)


@pytest.mark.requirement("CLARIFY-006")
def test_plain_progress_has_the_specified_line_and_more_when_verbose(capsys: pytest.CaptureFixture[str]) -> None:
    events = [
        IngestEvent(IngestEventKind.FOUND, "/d/a.pdf"),
        IngestEvent(IngestEventKind.CHECKED, "/d/a.pdf", total=12),
        IngestEvent(IngestEventKind.READING, "/d/a.pdf"),
        IngestEvent(IngestEventKind.READING, "/d/a.pdf", 0, 12),
        IngestEvent(IngestEventKind.READING, "/d/a.pdf", 4, 12),
        IngestEvent(IngestEventKind.CHUNKED, "/d/a.pdf", 0, 1000),
        IngestEvent(IngestEventKind.EMBEDDED, "/d/a.pdf", 500, 1000),
        IngestEvent(IngestEventKind.STORED, "/d/a.pdf", 1000, 1000),
        IngestEvent(IngestEventKind.UNCHANGED, "/d/b.pdf"),
    ]

    def shown(*, verbose: bool) -> list[str]:
        progress = LineProgress(verbose=verbose)
        for event in events:
            progress.show(event)
        progress.pause()
        return capsys.readouterr().err.splitlines()

    brief, whole = shown(verbose=False), shown(verbose=True)
    assert "Processing chunk 500/1000... (a.pdf)" in brief
    assert brief.count("Reading a.pdf...") == whole.count("Reading a.pdf...") == 1
    assert not any("page 4/12" in line for line in brief)
    assert "Reading a.pdf: page 4/12" in whole
    assert set(brief) < set(whole)


def test_the_tally_remembers_what_a_report_would_not() -> None:
    tally = IngestTally()
    for event in (
        IngestEvent(IngestEventKind.FOUND, "/a"),
        IngestEvent(IngestEventKind.STORED, "/a", 3, 3),
        IngestEvent(IngestEventKind.FAILED, "/b", 499, 1000, "why"),
    ):
        tally.note(event)
    assert (tally.found, tally.stored, tally.failed_at, tally.failures) == (
        1, ["/a"], {"/b": (499, 1000)}, {"/b": "why"},
    )  # fmt: skip


def test_what_is_shown_cannot_steer_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    name = "a\x1b[31m\x07\u202e\U000e0061.pdf\ttab"
    print_failure(InternalError(name))
    assert "\x1b" not in capsys.readouterr().err
    lines = list_unreadable([SkippedFile(name, "corrupted", "It is damaged.")])
    assert not set("".join(lines)) & {"\x1b", "\x07", "\u202e", "\U000e0061"}
    assert "\t" in lines[0]


@pytest.mark.parametrize("error", [KeyError("analyser"), ValueError(), RuntimeError("two\nlines")])
def test_a_command_that_fails_unexpectedly_says_of_what(error: Exception, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit), guard():
        raise error
    first = capsys.readouterr().err.splitlines()[0]
    assert first == f"Error: The command failed. {reason_of(error)}"
    assert type(error).__name__ in first


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no device that is always full")
@pytest.mark.parametrize("command", ["knowledge", "knowledge-ingest"])
def test_an_output_on_a_full_disk_is_reported_as_that(tmp_path: Path, command: str) -> None:
    (tmp_path / "a.md").write_text("# Pumps")
    argument = ("a.md",) if command == "knowledge-ingest" else ("documents", "list")
    with Path("/dev/full").open("wb") as full:
        process = start(
            command, *argument, cwd=tmp_path, stdin=subprocess.DEVNULL, stdout=full.fileno(), stderr=subprocess.PIPE
        )
        _, err = process.communicate(timeout=SECONDS)
    assert process.returncode == 1
    assert b"cannot be written or read: No space left on device" in err
    assert b"Traceback" not in err
    assert b"Report this" not in err
