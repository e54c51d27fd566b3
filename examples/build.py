"""Build the example documents: `python -m examples.build [FOLDER]`; the folder is `examples/documents` by default."""

from __future__ import annotations

import sys
from pathlib import Path

from examples.handbook_docx import handbook_docx
from examples.source_text import read_source_text
from examples.standard_pdf import standard_pdf

STANDARD = "unattended-weather-stations.pdf"
HANDBOOK = "siting-and-maintenance-handbook.docx"
_HERE = Path(__file__).resolve().parent


def build(folder: Path) -> list[Path]:
    """Write the PDF and the DOCX into a folder; the guide in Markdown is its own source."""
    folder.mkdir(parents=True, exist_ok=True)
    standard, handbook = folder / STANDARD, folder / HANDBOOK
    standard.write_bytes(standard_pdf(read_source_text(_HERE / "sources" / "standard.txt")))
    handbook.write_bytes(handbook_docx(read_source_text(_HERE / "sources" / "handbook.txt")))
    return [standard, handbook]


def main() -> None:
    """Build into the folder named on the command line."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else _HERE / "documents"
    for path in build(folder):
        print(path)


if __name__ == "__main__":
    main()
