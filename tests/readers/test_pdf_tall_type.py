"""Fonts that say they are several times as tall as type is, as fonts with formulas do, are read at a usual height."""

from __future__ import annotations

from knowledge_mcp.readers.pdf.engine import with_usual_type

_TALL = b"<</Ascent 3116/CapHeight 0/Descent -2463/Flags 4/FontName/A+Cambria/Type/FontDescriptor>>"
_USUAL = b"<</Ascent 905/CapHeight 0/Descent -212/Flags 4/FontName/B+Arial/Type/FontDescriptor>>"


def test_a_font_that_is_too_tall_gets_a_usual_height_in_place() -> None:
    changed = with_usual_type(_TALL)

    assert changed == _TALL.replace(b"3116", b"900 ").replace(b"-2463", b"-250 ")
    assert len(changed) == len(_TALL)


def test_other_fonts_and_other_bytes_stay() -> None:
    assert with_usual_type(_USUAL + b"\n(/Ascent 3116) Tj") == _USUAL + b"\n(/Ascent 3116) Tj"
