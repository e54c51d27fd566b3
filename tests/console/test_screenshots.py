"""The pictures of the documentation: few, small, shown where they belong, and made again by the script."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from PIL import Image
from playwright.sync_api import Browser

from tests.console.screenshots import IMAGES, ROOT, SHOTS, take

MOST_BYTES = 150_000


def test_every_picture_is_small_and_shown_in_the_documentation() -> None:
    pictures = {path.name: path for path in IMAGES.glob("*.png")}
    assert set(pictures) >= {f"{shot.name}.png" for shot in SHOTS}
    assert {name: path.stat().st_size for name, path in pictures.items() if path.stat().st_size > MOST_BYTES} == {}
    text = (ROOT / "README.md").read_text(encoding="utf-8") + (ROOT / "docs" / "console.md").read_text(encoding="utf-8")
    shown = set(re.findall(r"images/(console-[a-z]+\.png)", text))
    assert shown == {f"{shot.name}.png" for shot in SHOTS}


@pytest.mark.slow
def test_the_script_takes_the_pictures(tmp_path: Path, browser: Browser) -> None:
    shots = [shot for shot in SHOTS if shot.name in {"console-document", "console-telephone"}]
    take(tmp_path, browser, shots)
    for shot in shots:
        picture = tmp_path / f"{shot.name}.png"
        assert picture.stat().st_size <= MOST_BYTES
        with Image.open(picture) as opened, Image.open(IMAGES / picture.name) as kept:
            assert (opened.size, opened.mode) == (shot.size, "P")
            assert kept.size == shot.size
