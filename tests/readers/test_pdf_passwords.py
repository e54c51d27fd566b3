"""Protected PDFs: opened by the passwords of a file, or by what a person types, else refused with the next step."""

from __future__ import annotations

import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import pytest

from knowledge_mcp.model.errors import ConfigError, UnreadableDocumentError, UnreadableReason
from knowledge_mcp.model.extraction import ScanOptions
from knowledge_mcp.model.source import SourceItem
from knowledge_mcp.readers.pdf.reader import PdfReader
from knowledge_mcp.readers.shared import passwords as module
from knowledge_mcp.readers.shared.passwords import Passwords
from knowledge_mcp.support.sandbox import Sandbox
from tests.readers.pdf_files import changed, item_of, standard

pytestmark = pytest.mark.requirement("CLARIFY-001")


@pytest.fixture(params=[3, 4, 6], ids=["RC4", "AES-128", "AES-256"])
def protected(request: pytest.FixtureRequest) -> SourceItem:
    return locked(revision=request.param)


def locked(user: str = "zoë 1", owner: str = "another", revision: Literal[3, 4, 6] = 6) -> SourceItem:
    import pikepdf

    lock: Any = pikepdf.Encryption(user=user, owner=owner, R=revision, aes=revision > 3, metadata=revision > 3)
    return item_of(changed(standard(bookmarks=False), lambda document: None, encryption=lock))


def reader_of(sandbox: Sandbox, passwords: Passwords | None) -> PdfReader:
    return PdfReader(sandbox=sandbox, passwords=passwords)


def listed(tmp_path: Path, *words: str) -> Passwords:
    file = tmp_path / "passwords"
    file.write_text("\n".join(words) + "\n", encoding="utf-8")
    return Passwords(file)


class Person:
    """Says one thing after the other when asked for a password."""

    def __init__(self, *answers: str | None) -> None:
        self.answers = list(answers)
        self.heard: list[tuple[str, str]] = []

    def __call__(self, name: str, why: str) -> str | None:
        self.heard.append((name, why))
        return self.answers.pop(0)


def test_a_password_of_the_file_opens_it_and_its_hash_stays_that_of_the_protected_bytes(
    sandbox: Sandbox, tmp_path: Path, protected: SourceItem
) -> None:
    plain = reader_of(sandbox, None).read(item_of(standard(bookmarks=False)))
    reader = reader_of(sandbox, listed(tmp_path, "wrong", "", "zoë 1"))
    assert reader.check(protected).pages == len(plain.pages)
    document = reader.read(protected)
    assert document.text == plain.text
    assert (document.sha256, document.source_uri) == (protected.sha256, protected.uri)
    assert reader.survey(protected).pages == reader.survey(item_of(standard(bookmarks=False))).pages


def test_a_person_is_asked_until_a_password_fits_and_not_again_for_the_same_file(sandbox: Sandbox) -> None:
    person = Person("wrong", "zoë 1")
    reader, item = reader_of(sandbox, Passwords(ask=person)), locked()
    assert reader.check(item).pages
    assert reader.read(item).text
    assert reader.with_options(ScanOptions(enabled=False)).read(item).text
    assert [name for name, _ in person.heard] == [item.name, item.name]
    assert "protected by a password" in person.heard[0][1]
    assert person.heard[1][1] == "The password is wrong."


def test_who_gives_none_leaves_the_file_out_and_is_not_asked_again(sandbox: Sandbox) -> None:
    person = Person(None)
    reader, item = reader_of(sandbox, Passwords(ask=person)), locked()
    for _ in range(2):
        with pytest.raises(UnreadableDocumentError) as caught:
            reader.check(item)
        assert caught.value.reason is UnreadableReason.PASSWORD_PROTECTED
    assert len(person.heard) == 1


def test_without_a_fitting_password_the_refusal_names_the_variable_and_no_password(
    sandbox: Sandbox, tmp_path: Path
) -> None:
    with pytest.raises(UnreadableDocumentError) as caught:
        reader_of(sandbox, listed(tmp_path, "not-the-one")).read(locked())
    assert "DOCUMENT_PASSWORDS_FILE" in caught.value.suggestion
    assert "not-the-one" not in f"{caught.value} {caught.value.details} {caught.value.suggestion}"


@pytest.mark.parametrize("content", [None, b"\xff\xfe\x00"])
def test_a_file_of_passwords_that_cannot_be_read_is_a_wrong_setting(
    sandbox: Sandbox, tmp_path: Path, content: bytes | None
) -> None:
    file = tmp_path / "passwords"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(ConfigError, match="passwords"):
        reader_of(sandbox, Passwords(file)).check(locked())


def test_a_file_without_a_password_needs_no_list(sandbox: Sandbox, tmp_path: Path) -> None:
    reader = reader_of(sandbox, Passwords(tmp_path / "none"))
    assert reader.check(item_of(standard(bookmarks=False))).pages


def test_the_opened_copy_is_private_and_gone_afterwards(sandbox: Sandbox) -> None:
    seen: list[tuple[Path, int]] = []

    def look(item: SourceItem) -> str:
        if item.path is None:
            raise UnreadableDocumentError("locked", reason=UnreadableReason.PASSWORD_PROTECTED, source=item.uri)
        seen.append((item.path, stat.S_IMODE(item.path.stat().st_mode)))
        with item.open() as stream:
            return stream.read(5).decode()

    action: Callable[[SourceItem], str] = look
    assert Passwords(ask=Person("zoë 1")).read(locked(), sandbox, module.Limits(), action) == "%PDF-"
    [(path, mode)] = seen
    assert mode == 0o600
    assert not path.exists()
