"""The filter of system calls, as programs of the kernel's filter machine: judged here by an interpreter of our own."""

from __future__ import annotations

import errno
import os

import pytest

from knowledge_mcp.support.system.sandbox_linux import FORBIDDEN, MACHINES, PROGRAMS, system_calls

ALLOWED, DENIED, MISSING, KILLED = 0x7FFF0000, 0x50000 | errno.EPERM, 0x50000 | errno.ENOSYS, 0x80000000
ORDINARY = {
    "read": (0, 63), "write": (1, 64), "close": (3, 57), "fstat": (5, 80), "mmap": (9, 222), "mprotect": (10, 226),
    "munmap": (11, 215), "brk": (12, 214), "ioctl": (16, 29), "futex": (202, 98), "exit_group": (231, 94),
    "getrandom": (318, 278), "epoll_create1": (291, 20), "pipe2": (293, 59), "dup": (32, 23), "lseek": (8, 62),
}  # fmt: skip
"""Calls that every reader makes, by machine."""


def judge(program: list[tuple[int, ...]], number: int, *arguments: int, architecture: int) -> int:
    """Run a filter program as the kernel does, and return its verdict."""
    words = {0: number, 4: architecture, **{16 + 8 * place: each for place, each in enumerate(arguments)}}
    held, place = 0, 0
    while True:
        code, true, false, operand = program[place]
        place += 1
        if code == 0x06:
            return operand
        if code == 0x20:
            held = words.get(operand, 0)
        else:
            holds = {0x15: held == operand, 0x25: held > operand, 0x45: bool(held & operand)}[code]
            place += true if holds else false


@pytest.fixture(params=sorted(MACHINES))
def machine(request: pytest.FixtureRequest) -> str:
    return request.param


def verdict(machine: str, call: tuple[int, int], *arguments: int, programs: bool = False, writing: bool = False) -> int:
    column, architecture, _ = MACHINES[machine]
    made = system_calls(machine, process=77, programs=programs, writing=writing)
    assert all(0 <= jump < 256 for _, true, false, _ in made for jump in (true, false))
    return judge(made, call[column], *arguments, architecture=architecture)


def test_what_readers_need_is_allowed(machine: str) -> None:
    assert {name: verdict(machine, call) for name, call in ORDINARY.items()} == dict.fromkeys(ORDINARY, ALLOWED)


def test_everything_that_is_forbidden_is_denied(machine: str) -> None:
    column = MACHINES[machine][0]
    there = {name: call for name, call in (FORBIDDEN | PROGRAMS).items() if call[column] >= 0}
    assert {name: verdict(machine, call) for name, call in there.items()} == dict.fromkeys(there, DENIED)


def test_no_number_stands_for_two_calls(machine: str) -> None:
    column = MACHINES[machine][0]
    numbers = [call[column] for call in (FORBIDDEN | PROGRAMS | ORDINARY).values() if call[column] >= 0]
    assert len(numbers) == len(set(numbers))


def test_a_thread_is_started_and_a_process_is_not(machine: str) -> None:
    clone, clone3 = (56, 220), (435, 435)
    assert verdict(machine, clone, 0x3D0F00) == ALLOWED
    assert verdict(machine, clone, 17) == DENIED
    assert verdict(machine, clone3) == MISSING


def test_signals_limits_and_sockets_are_a_process_s_own(machine: str) -> None:
    tgkill, prlimit, socketpair, prctl = (234, 131), (302, 261), (53, 199), (157, 167)
    assert (verdict(machine, tgkill, 77), verdict(machine, tgkill, 78)) == (ALLOWED, DENIED)
    assert (verdict(machine, prlimit, 0), verdict(machine, prlimit, 78)) == (ALLOWED, DENIED)
    assert (verdict(machine, socketpair, 1), verdict(machine, socketpair, 2)) == (ALLOWED, DENIED)
    assert (verdict(machine, prctl, 15), verdict(machine, prctl, 1)) == (ALLOWED, DENIED)


def test_without_landlock_no_file_is_opened_for_writing(machine: str) -> None:
    openat = (257, 56)
    for flags in (os.O_WRONLY, os.O_RDWR, os.O_RDONLY | os.O_CREAT, os.O_RDONLY | os.O_TRUNC):
        assert verdict(machine, openat, 0, 0, flags) == DENIED
        assert verdict(machine, openat, 0, 0, flags, writing=True) == ALLOWED
    assert verdict(machine, openat, 0, 0, os.O_RDONLY | os.O_CLOEXEC) == ALLOWED
    assert verdict(machine, (437, 437)) == MISSING


def test_another_machine_s_calls_and_those_of_a_later_kernel_are_none(machine: str) -> None:
    made = system_calls(machine, process=77)
    assert judge(made, 0, architecture=0x40000003) == KILLED
    assert verdict(machine, (0x40000000 + 41, 0x40000000 + 198)) == MISSING
    assert verdict(machine, (1000, 1000)) == MISSING


def test_a_program_is_executed_only_where_that_is_asked_for(machine: str) -> None:
    assert verdict(machine, PROGRAMS["execve"]) == DENIED
    assert verdict(machine, PROGRAMS["execve"], programs=True) == ALLOWED
