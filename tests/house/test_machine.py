"""A missing program skips a test on a developer's machine and fails it in CI."""

from __future__ import annotations

import socket
import subprocess

import pytest

from tests.machine import in_ci, needs, node22

NOWHERE = {"PATH": "/nonexistent"}


@pytest.mark.requirement("C-12.2-unit")
def test_a_connection_out_of_this_machine_fails_the_test_that_makes_it() -> None:
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out,
        pytest.raises(AssertionError, match="outside this machine"),
    ):
        out.connect(("192.0.2.1", 9))


def test_a_program_that_is_there_is_given_by_its_path() -> None:
    assert needs("sh").endswith("/sh")


def test_a_missing_program_skips_the_test_locally() -> None:
    with pytest.raises(pytest.skip.Exception, match="tesseract is not installed; apt-get install tesseract-ocr"):
        needs("tesseract", environment=NOWHERE)


def test_a_missing_program_fails_the_test_in_ci() -> None:
    with pytest.raises(pytest.fail.Exception, match="in CI nothing may be left out: tesseract"):
        needs("tesseract", environment={**NOWHERE, "CI": "true"})


@pytest.mark.parametrize(
    ("value", "expected"), [("true", True), ("1", True), ("", False), ("0", False), ("False", False)]
)
def test_ci_is_recognised_by_its_variable(value: str, expected: bool) -> None:
    assert in_ci({"CI": value}) is expected
    assert in_ci({}) is False


def test_the_node_that_is_found_is_new_enough() -> None:
    version = subprocess.run([node22(), "--version"], capture_output=True, text=True, check=True).stdout
    assert int(version.removeprefix("v").split(".")[0]) >= 22
