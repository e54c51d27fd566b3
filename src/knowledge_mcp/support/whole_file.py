"""Write a file as a whole: whoever reads it sees what was there before or what is there now, never a part."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from knowledge_mcp.support.private import make_private_folder, touch_private

__all__ = ["write_whole"]


def write_whole(path: Path, content: bytes, *, durable: bool = False, private: bool = False) -> None:
    """Put content in a file's place in one step; its folder is made where it is missing.

    Args:
        path: the file.
        content: all that it shall hold.
        private: whether only their owner shall read the file and a folder that is made.
        durable: whether it is on the disk when this returns, so that it outlasts a power failure too.

    Raises:
        OSError: it cannot be written; the file is as it was, and nothing is left beside it.
    """
    if private:
        make_private_folder(path.parent)
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.stem}.{secrets.token_hex(4)}.part")
    try:
        if private:
            touch_private(part)
        with part.open("wb") as stream:
            stream.write(content)
            if durable:
                stream.flush()
                os.fsync(stream.fileno())
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
    if durable:
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
