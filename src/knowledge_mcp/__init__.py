"""A knowledge server for AI assistants: documents in, evidence that can be checked out."""

import os

__version__ = "0.1.0"

# Nothing leaves the machine unless a setting names where to. onnxruntime reports to its maker as soon as it is
# imported, unless this stands before. It holds in child processes too: each begins by importing this package. The
# other names are for libraries that would ask them. tests/acceptance/test_nothing_leaves.py watches the system calls.
os.environ |= {
    "ORT_DISABLE_TELEMETRY": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "ANONYMIZED_TELEMETRY": "False",  # ChromaDB
    "DO_NOT_TRACK": "1",
}
