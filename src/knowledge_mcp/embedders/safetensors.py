"""Reader of the safetensors format: an 8-byte length, a JSON header, then the tensors' bytes.

Source: https://github.com/huggingface/safetensors, section "Format". Nothing in such a file is code.
"""

from __future__ import annotations

import json
import math
import struct
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from knowledge_mcp.model.errors import ConfigError

__all__ = ["read_safetensors"]

MAX_HEADER_BYTES = 100_000_000
FLOATS = {"F64": "<f8", "F32": "<f4", "F16": "<f2"}


def read_safetensors(path: Path) -> dict[str, NDArray[np.float32]]:
    """Read every floating-point tensor as float32; integer tensors (position ids) are left out.

    Returns:
        Arrays by name; float32 ones are views of the mapped file.

    Raises:
        ConfigError: the file is missing, cut off or not of this format.
    """
    try:
        data = np.memmap(path, dtype=np.uint8, mode="r")
        (length,) = struct.unpack("<Q", data[:8].tobytes())
        if length > min(MAX_HEADER_BYTES, len(data) - 8):
            raise ValueError(f"a header of {length} bytes does not fit into {len(data)}")
        header = cast(dict[str, dict[str, Any]], json.loads(data[8 : 8 + length].tobytes()))
        body = data[8 + length :]
        tensors = {name: _tensor(body, entry) for name, entry in header.items() if name != "__metadata__"}
    except (OSError, ValueError, KeyError, TypeError, struct.error) as exc:
        raise ConfigError(
            f"{path} is not a whole safetensors file.",
            details=str(exc),
            suggestion="Run `knowledge models fetch` to get the model anew.",
        ) from exc
    return {name: tensor for name, tensor in tensors.items() if tensor is not None}


def _tensor(body: NDArray[np.uint8], entry: dict[str, Any]) -> NDArray[np.float32] | None:
    kind = str(entry["dtype"])
    start, end = (int(offset) for offset in entry["data_offsets"])
    shape = tuple(int(size) for size in entry["shape"])
    if not 0 <= start <= end <= len(body):
        raise ValueError(f"a tensor at {start}..{end} lies outside {len(body)} bytes")
    raw = body[start:end]
    if kind == "BF16":
        return (raw.view("<u2").astype(np.uint32) << 16).view(np.float32).reshape(shape)
    if kind not in FLOATS:
        return None
    values = raw.view(FLOATS[kind]) if start % 4 == 0 else np.frombuffer(raw.tobytes(), FLOATS[kind])
    if values.size != math.prod(shape):
        raise ValueError(f"a tensor of shape {shape} has {values.size} values")
    return values.astype(np.float32, copy=False).reshape(shape)
