"""Child process: mails (.msg, .eml): sender, receivers, date, subject and body. Attachments are named, not opened.

Outlook's .msg is read by our own code, because MarkItDown drops copies, date and attachments, finds nothing in a
message with only an HTML body, and passes plain text on as Markdown. The container is opened by olefile.
"""

from __future__ import annotations

import codecs
import datetime as dt
import email.policy
import functools
import re
import struct
from collections.abc import Iterator
from email.headerregistry import HeaderRegistry
from email.message import EmailMessage
from email.parser import BytesParser
from pathlib import Path
from typing import Any

from knowledge_mcp.model.document import BlockKind
from knowledge_mcp.readers.shared.containers import OLE, corrupted, foreign, magic_of, mislabelled, password_protected
from knowledge_mcp.readers.shared.pieces import Piece, facts, heading, messages, piece
from knowledge_mcp.readers.shared.text import NotTextError, bytes_of, decode_text
from knowledge_mcp.support.charsets import decoded
from knowledge_mcp.support.sandbox_worker import Refusal

_EXPECTED, _MAIL = "an Outlook message", "a mail"
_PROPERTIES = "__properties_version1.0"
_HEADER, _ENTRY = 32, 16
_FREE = 0xFFFFFFFF
_LONG, _TIME = 0x0003, 0x0040
_MESSAGE_PAGE, _INTERNET_PAGE, _SENT, _RECEIVED = 0x3FFD, 0x3FDE, 0x0039, 0x0E06
_EPOCH = dt.datetime(1601, 1, 1, tzinfo=dt.UTC)
_MOST_BYTES = 64_000_000
_PAGES = {20127: "ascii", 28591: "latin-1", 28592: "iso8859-2", 28605: "iso8859-15", 20866: "koi8-r", 65001: "utf-8"}
_SENDER_NAME, _SENDER, _SENDER_SMTP = "0C1A", "0C1F", "5D01"
_TO, _CC, _SUBJECT, _BODY, _HTML, _RTF = "0E04", "0E03", "0037", "1000", "1013", "1009"
_SHORT, _FAR_MORE = 100, 2
"""Up to this many words, a plain text may only say that there is a page; how many times longer the page is then."""
_SOFT, _STUFFED = re.compile(r"(?<!\n--) \n(?![>\n])"), re.compile(r"^ ", re.MULTILINE)
"""In flowed text, the end of a line that continues on the next one, and a blank that protects a line's beginning."""
_LONG_NAME, _SHORT_NAME, _DISPLAY_NAME = "3707", "3704", "3001"


def msg(path: str, *, check: bool) -> Iterator[dict[str, Any]]:
    """Yield the messages of an Outlook message.

    Raises:
        Refusal: it is not an Outlook message, or is damaged, empty or too large.
    """
    import olefile

    head = magic_of(path)
    if not head.startswith(OLE):
        what = foreign(head)
        raise (
            mislabelled(_EXPECTED, what)
            if what
            else corrupted(_EXPECTED, "the file does not begin as an OLE container")
        )
    try:
        with olefile.OleFileIO(path) as container:
            if not container.exists(_PROPERTIES):
                raise _other(container)
            if _is_truncated(path):
                raise corrupted(_EXPECTED, "the file ends before its last sector")
            if not check:
                yield from messages(_pieces(_Message(container)))
    except (OSError, ValueError, IndexError, KeyError, TypeError, struct.error, AttributeError) as error:
        raise corrupted(_EXPECTED, error) from error


def _is_truncated(path: str) -> bool:
    """Return whether sectors are in use that the file does not have; olefile silently returns what is left.

    Only the first 109 sectors of the allocation table are checked; they describe at least seven megabytes.
    """
    size = Path(path).stat().st_size
    with Path(path).open("rb") as stream:
        header = stream.read(512)
        sector = 1 << struct.unpack_from("<H", header, 30)[0]
        if sector not in {512, 4096}:
            return False
        last = -(-size // sector) - 2
        for position, number in enumerate(struct.unpack_from("<109I", header, 76)):
            if number == _FREE:
                break
            stream.seek((number + 1) * sector)
            table = stream.read(sector)
            if len(table) < sector or number > last:
                return True
            entries = struct.unpack(f"<{sector // 4}I", table)
            used = max((place for place, entry in enumerate(entries) if entry != _FREE), default=-1)
            if used >= 0 and position * len(entries) + used > last:
                return True
    return False


def _other(container: Any) -> Refusal:
    if container.exists("EncryptedPackage"):
        return password_protected()
    kinds = (("WordDocument", "a Word document"), ("Workbook", "an Excel workbook"), ("Book", "an Excel workbook"))
    what = next((what for name, what in kinds if container.exists(name)), "another OLE file")
    return mislabelled(_EXPECTED, what)


class _Message:
    """Read the properties of one message."""

    def __init__(self, container: Any) -> None:
        self._container = container
        self.fixed = self._read_fixed()
        self._pages = [page for page in (self._codec(_MESSAGE_PAGE), self._codec(_INTERNET_PAGE)) if page]

    def text(self, tag: str, folder: str = "", *, body: bool = False) -> str:
        """Return a text property, empty if the message does not have it."""
        wide = self.data(f"{folder}__substg1.0_{tag}001F")
        if wide:
            return wide.decode("utf-16-le", "replace").rstrip("\x00")
        return self._decoded(self.data(f"{folder}__substg1.0_{tag}001E").rstrip(b"\x00"), body=body)

    def html(self) -> str:
        """Return the HTML body, empty if there is none."""
        data = self.data(f"__substg1.0_{_HTML}0102")
        return self._decoded(data, body=True) if data else self.text(_HTML, body=True)

    def data(self, name: str) -> bytes:
        """Return a stream's bytes, empty if it is missing."""
        if not self._container.exists(name):
            return b""
        if self._container.get_size(name) > _MOST_BYTES:
            raise Refusal("too_large", "A part of the message is too large to be read.", details=name)
        found: bytes = self._container.openstream(name).read()
        return found

    def attachments(self) -> list[str]:
        """Return the names of the attachments."""
        folders = sorted({str(entry[0]) for entry in self._container.listdir() if str(entry[0]).startswith("__attach")})
        names: list[str] = []
        for folder in folders:
            found = (self.text(tag, f"{folder}/") for tag in (_LONG_NAME, _DISPLAY_NAME, _SHORT_NAME))
            names.append(" ".join(next((name for name in found if name), "unnamed").split()))
        return names

    def sent(self) -> str:
        """Return when it was sent, or received, as ISO 8601 UTC; empty if unknown."""
        ticks = self.fixed.get((_SENT, _TIME)) or self.fixed.get((_RECEIVED, _TIME)) or 0
        try:
            sent = _EPOCH + dt.timedelta(microseconds=ticks // 10)
            return sent.isoformat(timespec="seconds") if ticks else ""
        except OverflowError:
            return ""

    def sender(self) -> str:
        """Return the sender's name and address, as far as they are known."""
        name, address = self.text(_SENDER_NAME), self.text(_SENDER_SMTP) or self.text(_SENDER)
        if address.upper().startswith("/O=") or address == name:
            address = ""
        return f"{name} <{address}>" if name and address else name or address

    def _read_fixed(self) -> dict[tuple[int, int], int]:
        data, found = self.data(_PROPERTIES), dict[tuple[int, int], int]()
        for place in range(_HEADER, len(data) - _ENTRY + 1, _ENTRY):
            tag, _, value = struct.unpack_from("<IIQ", data, place)
            kind = tag & 0xFFFF
            found[tag >> 16, kind] = value & 0xFFFFFFFF if kind == _LONG else value
        return found

    def _codec(self, tag: int) -> str:
        page = self.fixed.get((tag, _LONG), 0)
        name = _PAGES.get(page, f"cp{page}")
        try:
            return codecs.lookup(name).name if page else ""
        except LookupError:
            return ""

    def _decoded(self, data: bytes, *, body: bool) -> str:
        """Decode by the code page that the message names (for a body, its own first), else by detection."""
        for name in reversed(self._pages) if body else self._pages:
            try:
                return data.decode(name)
            except UnicodeDecodeError:
                continue
        return _likely(data)


def _pieces(message: _Message) -> Iterator[Piece]:
    fields = {
        "from": message.sender(),
        "to": message.text(_TO),
        "cc": message.text(_CC),
        "date": message.sent(),
    }
    body = message.text(_BODY, body=True)
    html = message.html() if len(body.split()) < _SHORT else ""
    yield from _written(message.text(_SUBJECT), fields, message.attachments(), body, html)
    if not body.strip() and not html.strip() and (rich := message.data(f"__substg1.0_{_RTF}0102")):
        from knowledge_mcp.readers.office.rtf.compressed import uncompressed
        from knowledge_mcp.readers.office.rtf.job import rtf_pieces

        yield from (each for each in rtf_pieces(uncompressed(rich)) if "facts" not in each)


def _written(subject: str, fields: dict[str, str], attachments: list[str], body: str, html: str) -> Iterator[Piece]:
    """Write a mail: subject as heading, header fields, then the plain text, or the HTML if it is much longer."""
    from knowledge_mcp.readers.html.walk import html_pieces

    subject = " ".join(subject.split())
    fields["attachments"] = ", ".join(attachments)
    metadata = {key: " ".join(value.split())[:_HEADER_LINE] for key, value in fields.items() if value.strip()}
    warnings = [f"Attachments are not read: {metadata['attachments'][:500]}."] if attachments else []
    if subject:
        yield heading(subject, 1, plain=True)
    for key, value in metadata.items():
        yield piece(BlockKind.PARAGRAPH, f"{key.capitalize()}: {value}")
    page = list(html_pieces(html)) if html.strip() and len(body.split()) < _SHORT else []
    if page and _FAR_MORE * len(body.split()) < sum(len(each.get("text", "").split()) for each in page):
        yield from page
    elif body.strip():
        for part in re.split(r"\n\s*\n", body.replace("\r\n", "\n")):
            yield piece(BlockKind.PARAGRAPH, part)
    yield facts(title=subject, metadata=metadata, warnings=warnings)


# ---- mails as they are sent (RFC 5322) ------------------------------------------------------------------------------


_PART_HEADER, _HEADER_LINE = 1_000, 4_000
"""Maximum characters of a header of a part ("Content-…") and of others: the library takes the square of their length.

A file's name has 255 characters, and no more than 4,000 characters of a field are kept.
"""
_registry = HeaderRegistry()


@functools.lru_cache(maxsize=64)  # a part is asked for its type several times
def _header(name: str, value: str) -> Any:
    most = _PART_HEADER if name.lower().startswith("content-") else _HEADER_LINE
    return _registry(name, value[:most])


_POLICY = email.policy.default.clone(header_factory=_header)


def eml(path: str, *, check: bool) -> Iterator[dict[str, Any]]:
    """Yield the messages of a mail (RFC 5322).

    Raises:
        Refusal: it is not a mail, or is damaged, empty or too large.
    """
    data = bytes_of(path, _MAIL, markup=True)
    try:
        mail = BytesParser(policy=_POLICY).parsebytes(data)
        if not any(mail.get(name) for name in ("from", "to", "date", "subject", "message-id", "received")):
            raise corrupted(_MAIL, "it has no header")
        if not check:
            yield from messages(_mail_pieces(mail))
    except RecursionError as error:
        raise Refusal("unsupported", "Its parts are nested too deeply to be read.") from error
    except (ValueError, IndexError, KeyError, TypeError, AttributeError, LookupError) as error:
        raise corrupted(_MAIL, error) from error


def _mail_pieces(mail: EmailMessage) -> Iterator[Piece]:
    parts = list(mail.iter_attachments())
    shown = [part for part in parts if _is_shown(part)]
    names = [" ".join(_name(part).split()) for part in parts if part not in shown]
    plain, html = (
        "\n\n".join(_content(part) for part in (mail.get_body((kind,)), *shown) if _is_text(part, kind))
        for kind in ("plain", "html")
    )
    fields = {name: str(mail.get(name, "")) for name in ("from", "to", "cc", "date")}
    yield from _written(str(mail.get("subject", "")), fields, names, plain, html)


def _is_shown(part: Any) -> bool:
    """Return whether an attachment is text that continues after a picture, as some programs write it."""
    is_file = part.get_filename() or part.get_content_disposition() == "attachment"
    return not is_file and (_is_text(part, "plain") or _is_text(part, "html"))


def _is_text(part: Any, kind: str) -> bool:
    return part is not None and part.get_content_type() == f"text/{kind}"


def _name(part: Any) -> str:
    """Return the name of an attachment; for a mail without a name, its subject."""
    name: str = part.get_filename() or ""
    if not name and part.get_content_type() == "message/rfc822":
        name = str(part.get_content().get("subject", ""))
    return name or part.get_content_type()


def _content(part: Any) -> str:
    """Decode a part's text by the encoding that it names, else by detection."""
    data: bytes = part.get_payload(decode=True) or b""
    found = decoded(data, part.get_content_charset("utf-8"))
    text = found[0] if found is not None else _likely(data)
    if part.get_param("format", "") != "flowed":
        return text
    text = text.replace("\r\n", "\n")
    return _STUFFED.sub("", _SOFT.sub("" if part.get_param("delsp", "") == "yes" else " ", text))


def _likely(data: bytes) -> str:
    try:
        return decode_text(data).text
    except NotTextError:
        return data.decode("latin-1")
