"""Nothing leaves the machine: an ingest and both servers are watched, system call by system call."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.attacks.leaving import sent_elsewhere, watched
from tests.machine import needs


@pytest.mark.parametrize(
    "line",
    [
        'connect(9, {sa_family=AF_INET, sin_port=htons(443), sin_addr=inet_addr("192.0.2.1")}, 16) = -1 EINPROGRESS',
        'connect(9, {sa_family=AF_INET, sin_port=htons(53), sin_addr=inet_addr("127.0.0.53")}, 16) = 0',
        'connect(9, {sa_family=AF_INET6, sin6_port=htons(443), inet_pton(AF_INET6, "2001:db8::1", &a)}, 28) = 0',
        'sendto(9, "..", 32, 0, {sa_family=AF_INET, sin_port=htons(53), sin_addr=inet_addr("192.0.2.1")}, 16) = 32',
        'connect(9, {sa_family=AF_UNIX, sun_path="/var/run/nscd/socket"}, 110) = 0',
    ],
)
def test_a_call_that_reaches_for_another_machine_is_seen(line: str) -> None:
    assert sent_elsewhere(f"4711 {line}\n") == [f"4711 {line}"]


@pytest.mark.parametrize(
    "line",
    [
        'connect(9, {sa_family=AF_INET, sin_port=htons(6333), sin_addr=inet_addr("127.0.0.1")}, 16) = 0',
        'connect(9, {sa_family=AF_INET6, sin6_port=htons(80), inet_pton(AF_INET6, "::1", &sin6_addr)}, 28) = 0',
        'bind(9, {sa_family=AF_INET, sin_port=htons(3002), sin_addr=inet_addr("0.0.0.0")}, 16) = 0',
        'connect(9, {sa_family=AF_UNIX, sun_path="/var/run/nscd/socket"}, 110) = -1 ENOENT',
    ],
)
def test_a_call_that_stays_on_this_machine_is_no_finding(line: str) -> None:
    assert sent_elsewhere(f"4711 {line}\n") == []


@pytest.mark.slow
def test_the_servers_and_an_ingest_send_nothing_and_write_nowhere_but_in_their_folder(tmp_path: Path) -> None:
    sent, files = watched(needs("strace"), tmp_path, seconds=60)
    assert sent == {"ingest": [], "http": [], "stdio": []}
    assert files == []
