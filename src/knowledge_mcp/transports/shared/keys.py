"""Named keys with permissions, from one setting and from a file that may change while the server runs.

Keys are stored only as SHA-256 digests, and compared in constant time over all of them, so that neither the process's
memory nor the response time reveals one.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import logging
import re
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from knowledge_mcp.model.rights import EVERYBODY, Rights, names_one
from knowledge_mcp.support.files import read_whole_text

logger = logging.getLogger(__name__)

RECHECK_SECONDS = 1.0
"""Minimum seconds between two checks of the file."""

TOKEN_PREFIX = "oauth:"
"""Prefix of the names of callers with a token; key names never begin with it."""

_EVERYTHING = ("*",)
_DEFAULT_NAME = "default"
_DIGEST = re.compile(r"[0-9a-fA-F]{64}")
_NAME = re.compile(r"[^\x00-\x20\x7f](?:[^\x00-\x1f\x7f]{0,98}[^\x00-\x20\x7f])?")
_RIGHTS = frozenset({"read", "write", "groups"})
_FIELDS = frozenset({"name", "key", "sha256"}) | _RIGHTS


class _UnfitError(ValueError):
    """What is wrong with a key file."""


@dataclass(frozen=True, slots=True)
class Key:
    """A caller's name, and the collections that may be read and written: patterns with `*`, `?` and `[…]`.

    Names with a colon, such as `engine:standards`, are not collections: only `*`, or a pattern that begins with the
    part up to the colon, gives permission for them.

    Attributes:
        groups: the caller's groups, for documents that only some groups may read; `*` for all.
    """

    name: str
    read: tuple[str, ...] = _EVERYTHING
    write: tuple[str, ...] = _EVERYTHING
    groups: tuple[str, ...] = _EVERYTHING

    def may_read(self, collection: str) -> bool:
        """Return whether a collection may be read."""
        return names_one(self.read, collection)

    def may_write(self, collection: str) -> bool:
        """Return whether a collection may be written."""
        return names_one(self.write, collection)

    @property
    def rights(self) -> Rights:
        """Return the read permissions."""
        return Rights(self.read, self.groups)

    @property
    def reach(self) -> Rights:
        """Return the read permissions, plus collections that are found by name because they may be written."""
        return Rights(self.read, self.groups, reach=self.write)

    def sees_all_of(self, collection: str) -> bool:
        """Return whether a collection may be read, with the documents of all groups."""
        return self.may_read(collection) and EVERYBODY in self.groups

    @property
    def may_do_everything(self) -> bool:
        """Return whether the key has no limits, neither in reading nor in writing."""
        return self.rights.are_full and EVERYBODY in self.write

    @property
    def may_read_totals(self) -> bool:
        """Return whether metrics of all collections together may be read: by administrators, and by a key for metrics.

        A key for metrics, such as for Prometheus, has no other permission; a token without a role has none at all.
        """
        return self.may_do_everything or not (self.read or self.write or self.name.startswith(TOKEN_PREFIX))


ANONYMOUS = Key("anonymous")
"""The caller if no key is configured."""

NOBODY = Key("nobody", (), (), ())
"""The caller if authentication was expected and is missing."""

KEY = "knowledge_key"
"""Key in a request's scope of its `Key`."""


@dataclass(frozen=True, slots=True)
class GroupRole:
    """The permissions of a group in tokens, with the fields of a key."""

    group: str
    read: tuple[str, ...]
    write: tuple[str, ...]
    groups: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class KeyFile:
    """The content of a key file: the digest of each key, and the roles of groups."""

    keys: Mapping[Key, bytes]
    roles: tuple[GroupRole, ...] = ()


class KeyRing:
    """The set of keys; thread-safe.

    A changed file is read again, at most once a second, when a key is checked. If it is broken or missing, this is
    logged as an ERROR, once for each change, and the previous keys stay valid.

    Args:
        single: one key with all permissions, named `default`; a key of that name in the file replaces it.
        path: a key file, in one of the forms of `parse_keys`.
        setting: name of the file's setting, for messages.
        clock: seconds, monotonic.
    """

    def __init__(
        self,
        single: str | None = None,
        path: Path | None = None,
        *,
        setting: str = "RAG_API_KEYS_FILE",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._own = {Key(_DEFAULT_NAME): _digest(single)} if single else {}
        self._path = path
        self._setting = setting
        self._clock = clock
        self._lock = threading.Lock()
        self._state: object = None
        self._checked = clock()
        self.problem = ""
        """The problem with the present file, one sentence without any key; empty if there is none."""
        self._keys: dict[Key, bytes] = dict(self._own)
        self._roles: tuple[GroupRole, ...] = ()
        self._look(first=True)

    @classmethod
    def of(cls, secrets: Mapping[str, str]) -> KeyRing:
        """Create keys by name, each with all permissions; without any, no key is required.

        Raises:
            ValueError: a key is empty.
        """
        if not all(secrets.values()):
            raise ValueError("a token must not be empty")
        ring = cls()
        ring._own = {Key(name): _digest(secret) for name, secret in secrets.items()}
        ring._keys = dict(ring._own)
        return ring

    @property
    def required(self) -> bool:
        """Return whether a key is required: one is configured, or a file that may contain some later."""
        return bool(self._own) or self._path is not None

    @property
    def names(self) -> tuple[str, ...]:
        """List the keys' names, sorted."""
        return tuple(sorted(key.name for key in self._keys))

    def recognise(self, secret: bytes) -> Key | None:
        """Return the key with this secret, None if there is none."""
        digest = hashlib.sha256(secret).digest()
        found = None
        for key, known in self._current().items():  # all of them, so that the time does not reveal which one it was
            if hmac.compare_digest(digest, known):
                found = key
        return found

    def validity(self, secret: bytes, key: Key) -> Callable[[], bool]:
        """Return a check whether the secret still belongs to that key, with the same permissions."""
        digest = hashlib.sha256(secret).digest()
        return lambda: self._current().get(key) == digest

    def holder(self, name: str, groups: Iterable[str]) -> Key:
        """Return the permissions of a token's holder: those of all roles of its groups together.

        If no roles are defined, everyone who may sign on reads every collection, and writes none. Documents
        restricted to groups are readable by those groups.
        """
        names = sorted(set(groups) - {"*"})  # an issuer's group of that name would mean everyone
        with self._lock:
            self._follow()
            roles = self._roles
        if not roles:
            return Key(f"{TOKEN_PREFIX}{name}", _EVERYTHING, (), tuple(names))
        assigned = [role for role in roles if role.group in names]
        return Key(
            f"{TOKEN_PREFIX}{name}",
            tuple(sorted({each for role in assigned for each in role.read})),
            tuple(sorted({each for role in assigned for each in role.write})),
            tuple(sorted({*names, *(each for role in assigned for each in role.groups)})),
        )

    def _current(self) -> dict[Key, bytes]:
        with self._lock:
            self._follow()
            return dict(self._keys)

    def _follow(self) -> None:
        now = self._clock()
        if self._path is not None and now - self._checked >= RECHECK_SECONDS:
            self._checked = now
            self._look()

    def _look(self, *, first: bool = False) -> None:
        """Read the file if it has changed since last time."""
        if self._path is None:
            return
        try:
            status = self._path.stat()
            state: object = (status.st_mtime_ns, status.st_ino, status.st_size)
        except OSError as exc:
            state = f"it cannot be read: {exc.strerror or type(exc).__name__}"
        if state == self._state and not first:
            return
        self._state = state
        try:
            if isinstance(state, str):
                raise _UnfitError(state)
            read = parse_keys(read_whole_text(self._path))
        except (OSError, ValueError) as exc:
            self.problem = f"{self._setting} {self._path}: {_describe_failure(exc)}."
            if not first:
                logger.error("%s The previous keys stay in use.", self.problem)  # noqa: TRY400 - nothing of the file
            return
        names = {key.name for key in read.keys}
        self._keys = {**{key: digest for key, digest in self._own.items() if key.name not in names}, **read.keys}
        self._roles = read.roles
        self.problem = ""
        if not first:
            logger.info("%s was reloaded: %d keys, %d roles", self._setting, len(read.keys), len(read.roles))
        if self._path.stat().st_mode & 0o004:
            logger.warning("%s %s can be read by every user of this machine; `chmod 600` it", self._setting, self._path)


def parse_keys(text: str) -> KeyFile:
    """Parse a file of keys, and of the roles of groups.

    There are three forms: `{"keys": [{"name", "key" or "sha256", "read"?, "write"?, "groups"?}], "roles": [{"group",
    "read"?, "write"?, "groups"?}]}`, in which one of the two lists is enough; a JSON object of key by name; lines
    `name: key`. By default a key may read and write all collections, and it reads the documents of all groups if it
    reads all collections. A role has only the stated permissions.

    Raises:
        ValueError: the text has no such form, or contains no key; names the position and never a key.
    """
    roles: tuple[GroupRole, ...] = ()
    if text.lstrip().startswith("{"):
        try:
            content = cast("dict[str, object]", json.loads(text))
        except (ValueError, RecursionError):
            raise ValueError("it is not a valid JSON object") from None
        if isinstance(content.get("keys"), list) or isinstance(content.get("roles"), list):
            if unknown := sorted(set(content) - {"keys", "roles"}):
                raise ValueError(f"there is an unknown field '{unknown[0][:60]}'")
            entries, roles = _read_keys(content.get("keys", [])), _roles(content.get("roles", []))
        else:
            entries = _plain(content.items())
    else:
        entries = _plain(_lines(text))
    keys: dict[Key, bytes] = {}
    for key, digest in entries:
        if any(key.name == other.name for other in keys):
            raise ValueError(f"the name '{key.name}' is given twice")
        if digest in keys.values():
            raise ValueError(f"the key of '{key.name}' is also used for another name")
        keys[key] = digest
    if not keys and not roles:
        raise ValueError("it contains no key")
    return KeyFile(keys, roles)


def _lines(text: str) -> Iterable[tuple[str, object]]:
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        name, colon, secret = line.partition(":")
        if not colon:
            raise ValueError(f"line {number} does not have the form 'name: key'")
        yield name.strip(), secret.strip()


def _plain(pairs: Iterable[tuple[str, object]]) -> Iterable[tuple[Key, bytes]]:
    for name, secret in pairs:
        yield Key(_check_name(name)), _digest(_check_secret(name, secret))


def _objects(content: object, what: str) -> Iterable[Mapping[str, object]]:
    if not isinstance(content, list):
        raise _UnfitError(f"'{what}' is not a list")
    for number, each in enumerate(cast("list[object]", content), 1):
        if not isinstance(each, dict):
            raise _UnfitError(f"entry {number} of {what} is not an object")
        yield cast("Mapping[str, object]", each)


def _roles(content: object) -> tuple[GroupRole, ...]:
    found: list[GroupRole] = []
    for entry in _objects(content, "roles"):
        group = entry.get("group")
        if not isinstance(group, str) or not group.strip() or group == "*" or not group.isprintable():
            raise _UnfitError("a role's group is missing or not a valid group name")
        if unknown := sorted(set(entry) - _RIGHTS - {"group"}):
            raise ValueError(f"the role of '{group[:100]}' has an unknown field '{unknown[0][:60]}'")
        found.append(GroupRole(group, *(_patterns(entry, group, right, ()) for right in ("read", "write", "groups"))))
    return tuple(found)


def _read_keys(content: object) -> Iterable[tuple[Key, bytes]]:
    for entry in _objects(content, "keys"):
        name = _check_name(entry.get("name"))
        if unknown := sorted(set(entry) - _FIELDS):
            raise ValueError(f"the key '{name}' has an unknown field '{unknown[0]}'")
        if ("key" in entry) == ("sha256" in entry):
            raise ValueError(f"the key '{name}' needs either 'key' or 'sha256'")
        if "key" in entry:
            digest = _digest(_check_secret(name, entry["key"]))
        else:
            hexadecimal = entry["sha256"]
            if not isinstance(hexadecimal, str) or not _DIGEST.fullmatch(hexadecimal):
                raise ValueError(f"the sha256 of '{name}' is not 64 hexadecimal digits")
            digest = bytes.fromhex(hexadecimal)
        read, write = (_patterns(entry, name, right, _EVERYTHING) for right in ("read", "write"))
        groups = _patterns(entry, name, "groups", _EVERYTHING if "*" in read else ())
        yield Key(name, read, write, groups), digest


def _patterns(entry: Mapping[str, object], name: str, right: str, unnamed: tuple[str, ...]) -> tuple[str, ...]:
    value = entry.get(right, list(unnamed))
    if not isinstance(value, list) or not all(isinstance(each, str) and each for each in cast("list[object]", value)):
        what = "groups" if right == "groups" else "collection patterns"
        raise ValueError(f"'{right}' of '{name}' is not a list of {what}")
    return tuple(cast("list[str]", value))


def _check_name(name: object) -> str:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ValueError("a key's name is missing, too long, or contains unprintable characters")
    if name.startswith(TOKEN_PREFIX):
        raise ValueError(f"a key's name must not begin with '{TOKEN_PREFIX}', which is reserved for tokens")
    return name


def _check_secret(name: str, secret: object) -> str:
    if not isinstance(secret, str) or not secret or not secret.isascii() or not secret.isprintable() or " " in secret:
        raise ValueError(f"the key of '{name}' must consist of visible ASCII characters without spaces")
    return secret


def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()


def _describe_failure(exc: OSError | ValueError) -> str:
    if isinstance(exc, OSError):
        return f"it cannot be read: {exc.strerror or type(exc).__name__}"
    return "it is not UTF-8 text" if isinstance(exc, UnicodeDecodeError) else str(exc)
