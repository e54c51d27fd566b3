"""`knowledge-ingest` as its user meets it: options, exit codes, streams, the question about unreadable files."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path

import pytest

from tests.cli.conftest import Command
from tests.cli.running import Terminal, run, start

pytestmark = pytest.mark.requirement("A-REQ-CLI-001")


@pytest.fixture
def folder(home: Path) -> Path:
    """Make a folder with two good files, one of them in a subfolder, and one that no pattern matches."""
    docs = home / "docs"
    (docs / "deep").mkdir(parents=True)
    (docs / "one.md").write_text("The supplier shall plan.\n\nMore text.")
    (docs / "deep" / "two.md").write_text("The board must decide.")
    (docs / "notes.log").write_text("not wanted")
    return docs


def test_a_folder_is_ingested_with_progress_on_stderr_and_the_summary_on_stdout(folder: Path) -> None:
    done = run("knowledge-ingest", "docs", cwd=folder.parent)
    assert done.code == 0, done.err
    assert "Processing chunk 2/2..." in done.err
    assert "Processing" not in done.out
    rows = [line.split("│")[1:3] for line in done.out.splitlines() if line.count("│") == 3]
    table = {name.strip(): value.strip() for name, value in rows}
    assert table["Files processed"] == "2"
    assert table["Chunks created"] == "3"
    assert table["Errors"] == "0"


def test_recursion_and_pattern_choose_the_files_and_json_goes_alone_to_stdout(folder: Path, ingest: Command) -> None:
    done = ingest("--no-recursive", "--pattern", "*.md, *.log", "--json", "docs")
    report = json.loads(done.out)
    assert done.code == report["exit_code"] == 0
    assert sorted(Path(each["source_path"]).name for each in report["documents"]) == ["notes.log", "one.md"]
    assert report["files_processed"] == 2


def test_a_dry_run_counts_without_storing(folder: Path, ingest: Command) -> None:
    done = ingest("--dry-run", "docs")
    assert done.code == 0
    for text in (
        "nothing was embedded or stored",
        "one.md",
        "two.md",
        "Estimated cost: free (local)",
        "Estimated time",
    ):
        assert text in done.out
    assert "Processing chunk" not in done.err


def test_a_folder_without_matching_files_is_a_complete_failure(home: Path, ingest: Command) -> None:
    done = ingest(".")
    assert done.code == 2
    assert "There are no documents in '.'" in done.err
    assert "No files match *.pdf,*.docx in '.'" in ingest("--pattern", "*.pdf,*.docx", ".").err
    assert "Next: Name another folder, or pass other file names with --pattern." in done.err


def test_a_path_that_is_not_there_is_a_complete_failure(home: Path, ingest: Command) -> None:
    done = ingest("nothing")
    assert (done.code, done.out) == (2, "")
    assert "There is no file or folder 'nothing'" in done.err
    done = ingest("x" * 300)
    assert (done.code, done.out) == (2, "")
    assert "There is no file or folder 'xxx" in done.err
    done = ingest("https://example.org/page.html")
    assert done.code == 2
    assert "Next: For a web page or a repository: `knowledge sources add https://example.org/page.html`." in done.err


@pytest.mark.requirement("A-REQ-REL-003")
def test_every_wrong_setting_is_reported_with_exit_code_3(
    folder: Path, ingest: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"CHUNK_OVERLAP": "300", "LOG_LEVEL": "loud", "OPENAI_API_KEY": "x"}.items():
        monkeypatch.setenv(name, value)
    done = ingest("docs")
    assert (done.code, done.out) == (3, "")
    for name in ("CHUNK_OVERLAP", "LOG_LEVEL", "OPENAI_API_KEY", "sk-"):
        assert name in done.err


@pytest.mark.requirement("A-REQ-IF-004")
@pytest.mark.requirement("CLARIFY-001")
def test_without_a_terminal_unreadable_files_are_skipped_and_listed(folder: Path, ingest: Command) -> None:
    (folder / "bad.pdf").write_bytes(b"BROKEN")
    (folder / "closed.docx").write_bytes(b"LOCKED")
    done = ingest("docs")
    assert done.code == 1
    assert "bad.pdf" in done.out
    rows = {row[1].strip(): row[2].strip() for row in (line.split("│") for line in done.out.splitlines()) if row[2:]}
    assert (rows["Files skipped"], rows["Errors"]) == ("2", "0")
    assert "\n    The file is damaged.\n" in done.out
    assert "Save it without a password." in done.out


@pytest.mark.requirement("CLARIFY-001")
def test_on_error_abort_ingests_nothing(folder: Path, ingest: Command) -> None:
    (folder / "bad.pdf").write_bytes(b"BROKEN")
    done = ingest("--on-error", "abort", "--json", "docs")
    report = json.loads(done.out)
    assert done.code == 2
    assert (report["aborted"], report["files_processed"], len(report["skipped"])) == (True, 0, 1)
    assert "Aborted" in done.err


@pytest.mark.requirement("CLARIFY-001")
def test_only_unreadable_files_are_a_complete_failure(home: Path, ingest: Command) -> None:
    (home / "bad.pdf").write_bytes(b"BROKEN")
    assert ingest(".").code == 2


@pytest.mark.requirement("CLARIFY-001")
@pytest.mark.parametrize(("answer", "code", "stored"), [("c", 1, True), ("continue", 1, True), ("a", 2, False)])
def test_on_a_terminal_the_user_decides(folder: Path, answer: str, code: int, *, stored: bool) -> None:
    (folder / "bad.pdf").write_bytes(b"BROKEN")
    (folder / "closed.docx").write_bytes(b"LOCKED")
    terminal = Terminal("knowledge-ingest", "docs", cwd=folder.parent)
    terminal.wait_for("[c]ontinue / [a]bort: ")
    assert "2 files cannot be read" in terminal.seen
    assert "Save it without a password." in terminal.seen
    terminal.type("what?\n")
    terminal.seen = ""
    terminal.wait_for("[c]ontinue / [a]bort: ")
    terminal.type(f"{answer}\n")
    done = terminal.finish()
    assert done.code == code
    assert ("Files processed │     2" in done.out) is stored
    assert ("Processing chunk" in done.err) is stored


@pytest.mark.requirement("CLARIFY-001")
def test_on_a_terminal_a_password_is_asked_for_and_not_shown(folder: Path) -> None:
    (folder / "closed.pdf").write_bytes(b"SECRET")
    terminal = Terminal("knowledge-ingest", "docs", cwd=folder.parent)
    terminal.wait_for("Password of closed.pdf")
    assert "It has a password." in terminal.seen
    terminal.seen = ""
    terminal.type("guess\n")
    terminal.wait_for("The password is wrong.")
    terminal.wait_for("Password of closed.pdf")
    terminal.type("sesame\n")
    done = terminal.finish()
    assert done.code == 0
    assert "sesame" not in done.err


@pytest.mark.requirement("CLARIFY-001")
@pytest.mark.parametrize("options", [("--on-error", "continue"), ("--json",)])
def test_who_has_decided_already_is_not_asked_for_a_password(folder: Path, options: tuple[str, ...]) -> None:
    (folder / "closed.pdf").write_bytes(b"SECRET")
    terminal = Terminal("knowledge-ingest", *options, "docs", cwd=folder.parent)
    assert "Password" not in terminal.finish().err


@pytest.mark.requirement("CLARIFY-006")
def test_a_failure_on_the_way_tells_the_chunk_and_what_to_do(home: Path, ingest: Command) -> None:
    (home / "long.md").write_text("FAILS")
    done = ingest("long.md")
    assert done.code == 2
    assert "Ingestion failed at chunk 500. 499 chunks successfully stored." in done.err
    assert "Re-run with --force after resolving the issue to replace partial ingestion." in done.err
    assert done.err.index("run the same command again: it embeds only what is missing") < done.err.index("--force")
    assert "The quota is used up." in done.err
    assert "billing" in done.err
    assert "Traceback" not in done.err


def test_a_failure_after_finished_documents_is_a_partial_one(home: Path, ingest: Command) -> None:
    (home / "long.md").write_text("FAILS SECOND")
    done = ingest("--json", "long.md")
    report = json.loads(done.out)
    assert (done.code, report["exit_code"], report["files_processed"]) == (1, 1, 1)
    assert report["error"]["code"] == "rate_limited"
    assert set(report["error"]) == {"code", "message", "details", "recoverable", "suggestion"}
    assert report["failed"][0]["source"].endswith("long.md")


@pytest.mark.requirement("CLARIFY-002")
def test_a_refused_key_is_exit_code_3(home: Path, ingest: Command) -> None:
    (home / "any.md").write_text("REFUSED")
    done = ingest("any.md")
    assert done.code == 3
    assert "The API key was refused." in done.err


def test_a_defect_ends_without_a_traceback_unless_asked(home: Path, ingest: Command) -> None:
    (home / "any.md").write_text("CRASHES")
    done = ingest("--verbose", "any.md")
    assert done.code == 2
    assert "ZeroDivisionError: a defect" in done.err
    assert "Traceback" not in done.err


def test_ctrl_c_ends_with_a_clean_message(tmp_path: Path) -> None:
    (tmp_path / "any.md").write_text("HANGS")
    pipe = subprocess.PIPE
    process = start("knowledge-ingest", "any.md", cwd=tmp_path, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe)
    assert process.stderr is not None
    line = process.stderr.readline()
    assert b"Processing chunk 1/1000" in line
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out) == (130, b"")
    assert b"Interrupted." in err
    assert b"Traceback" not in err


def test_a_wrong_option_is_reported_by_name(home: Path, ingest: Command) -> None:
    done = ingest("--recursiv", ".")
    assert done.code == 2
    assert "--recursive" in done.err


@pytest.mark.parametrize("option", ["--verbose", "--dry-run"])
def test_names_with_line_ends_and_escapes_keep_every_report_whole(folder: Path, ingest: Command, option: str) -> None:
    good, bad = "one\nFiles processed 99\x1b[31m.md", "bad\nErrors 0 broken\r.md"
    (folder / "one.md").rename(folder / good)
    (folder / bad).write_text("BROKEN")
    done = ingest("docs", option)
    shown = (done.out + done.err).splitlines()
    assert not [line for line in shown if line.startswith(("Files processed", "Errors 0"))]
    assert len([line for line in shown if "\\nErrors 0 broken\\r.md" in line]) >= 1
    assert "\x1b" not in done.out + done.err
    report = json.loads(ingest("docs", "--json").out)
    assert {Path(each["source_path"]).name for each in report["documents"]} == {good, "two.md"}
    assert [Path(each["source"]).name for each in report["skipped"]] == [bad]
