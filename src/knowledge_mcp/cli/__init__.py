"""The commands: thin faces of one engine."""

import sys
from types import TracebackType

_show = sys.excepthook


def _end(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """End without a traceback on Ctrl-C while a command's modules are imported; afterwards the command catches it."""
    if issubclass(kind, KeyboardInterrupt):
        raise SystemExit(130)
    _show(kind, error, trace)


sys.excepthook = _end
