"""Provisioning: where files come from, that only the right bytes get in, and that nothing half stays behind."""

from __future__ import annotations

import dataclasses
import logging
import shutil
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from knowledge_mcp.embedders.local import model_folders
from knowledge_mcp.embedders.local.embedder import LocalEmbedder
from knowledge_mcp.embedders.local.model_config import MANIFEST, ModelManifest, sha256_of
from knowledge_mcp.embedders.local.model_files import BUILDER_VERSION, fetch, list_models, verify
from knowledge_mcp.embedders.local.model_folders import ALL_MINILM, MS_MARCO, find
from knowledge_mcp.embedders.local.model_sources import HubSource, PinnedFile, Progress
from knowledge_mcp.model.errors import ConfigError, ConnectionFailedError, NotFoundError
from knowledge_mcp.ranking.rerankers import CrossEncoder
from knowledge_mcp.settings import LOCAL_MODEL
from knowledge_mcp.settings.groups import LOCAL_RERANKER
from knowledge_mcp.support.events import EVENT_FIELDS
from knowledge_mcp.support.retry import RetryPolicy
from tests.embedders import tiny
from tests.ranking.cross_encoder import make_cross_encoder

BUILT_IN = ALL_MINILM.name
ONCE = RetryPolicy(pauses=())


@dataclass
class FolderSource:
    """Give the files of a folder after calling `before`; counts how often it was asked."""

    folder: Path
    label: str = "folder"
    before: Callable[[Path], None] | None = None
    asked: list[str] = field(default_factory=list[str])
    insists: bool = False

    def fetch(self, files: Sequence[PinnedFile], into: Path, progress: Progress) -> None:
        self.asked.append(into.name)
        for file in files:
            original = self.folder / file.name
            if file.size > 1_000_000 and original.is_file():
                (into / file.name).symlink_to(original)  # large, and no test writes to it
            elif original.is_file():
                shutil.copyfile(original, into / file.name)
        progress("copy", 1, 1)
        if self.before is not None:
            self.before(into)


@pytest.fixture
def real(minilm_cache: Path) -> Path:
    return minilm_cache / BUILT_IN


def _refuse(_: Path) -> None:
    raise ConnectionFailedError("The index is away.", details="503")


def _forge(into: Path) -> None:
    (into / "tokenizer.json").write_text("{}")


def _left(cache: Path) -> set[str]:
    return {path.name for path in cache.iterdir()}


def test_sources_are_tried_in_order_until_one_gives_the_pinned_bytes(real: Path, tmp_path: Path) -> None:
    away, forger, true = (
        FolderSource(real, name, before) for name, before in (("away", _refuse), ("forger", _forge), ("true", None))
    )
    messages: list[str] = []

    def tell(stage: str, done: int, total: int | None) -> None:
        messages.append(stage)

    report = fetch(cache=tmp_path, variants=(), sources=[away, forger, true], progress=tell)
    assert report.source == "true"
    assert "copy" in messages
    assert _left(tmp_path) == {".lock", BUILT_IN}
    assert _left(tmp_path / BUILT_IN) == {"model.safetensors", "tokenizer.json", MANIFEST}
    assert all(check.ok for check in verify(cache=tmp_path))
    again = fetch(cache=tmp_path, variants=(), sources=[FolderSource(real, before=_refuse)])
    assert again.source == ""


def test_when_no_source_gives_it_each_reason_is_reported_and_nothing_stays(real: Path, tmp_path: Path) -> None:
    sources = [
        FolderSource(real, "away", _refuse),
        FolderSource(tmp_path, "empty"),
        FolderSource(real, "forger", _forge),
    ]
    with pytest.raises(ConnectionFailedError) as failure:
        fetch(cache=tmp_path / "cache", variants=(), sources=sources, retries=ONCE)
    assert "away: The index is away. 503" in failure.value.details
    assert "forger: other bytes than the pinned ones in tokenizer.json" in failure.value.details
    assert "EMBEDDING_MODEL_PATH" in failure.value.suggestion
    assert _left(tmp_path / "cache") == {".lock"}


def test_a_full_disk_ends_a_download_and_is_named(real: Path, tmp_path: Path) -> None:
    def fill(_: Path) -> None:
        raise ConnectionFailedError("pip failed.", details="ERROR: OSError: [Errno 28] No space left on device")

    first, second = FolderSource(real, "first", fill), FolderSource(real, "second")
    with pytest.raises(ConfigError, match="No space left on device") as failure:
        fetch(cache=tmp_path / "cache", variants=(), sources=[first, second])
    assert failure.value.suggestion.startswith("Free space")
    assert (len(first.asked), second.asked) == (1, [])
    assert _left(tmp_path / "cache") == {".lock"}


@pytest.mark.requirement("A-REQ-REL-002")
def test_sources_that_are_away_are_asked_again_and_each_round_is_logged(
    real: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    pauses: list[float] = []
    source = FolderSource(real)

    def away_twice(into: Path) -> None:
        if len(source.asked) < 3:
            _refuse(into)

    source.before = away_twice
    report = fetch(cache=tmp_path, variants=(), sources=[source], retries=RetryPolicy(sleep=pauses.append))
    assert (report.source, pauses) == ("folder", [1.0, 2.0])
    logged = [record for record in caplog.records if record.getMessage() == "retry_attempt"]
    assert [record.levelno for record in logged] == [logging.WARNING, logging.WARNING]
    fields = [getattr(record, EVENT_FIELDS) for record in logged]
    assert [(each["service"], each["attempt"]) for each in fields] == [("model download", 1), ("model download", 2)]
    assert "folder: The index is away. 503" in fields[0]["reason"]
    assert all(check.ok for check in verify(cache=tmp_path))


@pytest.mark.requirement("A-REQ-REL-002")
def test_sources_that_give_other_bytes_are_not_asked_again(real: Path, tmp_path: Path) -> None:
    forger = FolderSource(real, "forger", _forge)
    with pytest.raises(ConnectionFailedError, match="could not be downloaded") as failure:
        fetch(cache=tmp_path, variants=(), sources=[forger])
    assert len(forger.asked) == 1
    assert not failure.value.recoverable


@pytest.mark.requirement("A-REQ-REL-002")
def test_each_source_is_asked_again_only_as_far_as_it_helps_and_every_reason_is_kept(
    real: Path, tmp_path: Path
) -> None:
    pauses: list[float] = []
    away, forger = FolderSource(real, "away", _refuse), FolderSource(real, "forger", _forge)
    hub = FolderSource(real, "hub", _refuse, insists=True)
    with pytest.raises(ConnectionFailedError) as failure:
        fetch(cache=tmp_path, variants=(), sources=[away, forger, hub], retries=RetryPolicy(sleep=pauses.append))
    assert (len(away.asked), len(forger.asked), len(hub.asked), pauses) == (4, 1, 1, [1.0, 2.0, 4.0])
    assert [each.partition(":")[0] for each in failure.value.details.split("; ")] == ["away", "forger", "hub"]
    assert failure.value.recoverable


def test_an_interrupted_download_leaves_nothing_and_an_old_one_is_swept(real: Path, tmp_path: Path) -> None:
    def interrupt(_: Path) -> None:
        raise KeyboardInterrupt

    killed = tmp_path / ".incoming-of-a-killed-process"
    killed.mkdir()
    (killed / "model.safetensors").write_bytes(b"half")
    with pytest.raises(KeyboardInterrupt):
        fetch(cache=tmp_path, variants=(), sources=[FolderSource(real, before=interrupt)])
    assert _left(tmp_path) == {".lock"}


def test_of_two_at_once_one_downloads_and_the_other_finds_it_done(real: Path, tmp_path: Path) -> None:
    first_is_in, second_waits = threading.Event(), threading.Event()

    def hold(_: Path) -> None:
        first_is_in.set()
        assert second_waits.wait(30)

    def tell(stage: str, done: int, total: int | None) -> None:
        if stage.startswith("wait"):
            second_waits.set()

    source, reports = FolderSource(real, before=hold), list[str]()
    first = threading.Thread(target=lambda: reports.append(fetch(cache=tmp_path, variants=(), sources=[source]).source))
    first.start()
    assert first_is_in.wait(30)
    late = FolderSource(real, "late")
    assert fetch(cache=tmp_path, variants=(), sources=[late], progress=tell).source == ""
    first.join(30)
    assert (reports, len(source.asked), late.asked) == (["folder"], 1, [])


def test_a_damaged_file_is_reported_and_fetched_again(real: Path, tmp_path: Path) -> None:
    fetch(cache=tmp_path, variants=(), sources=[FolderSource(real)])
    damaged = tmp_path / BUILT_IN / "tokenizer.json"
    damaged.write_bytes(damaged.read_bytes()[:-1] + b" ")
    assert [check.path for check in verify(cache=tmp_path) if not check.ok] == [damaged]
    with pytest.raises(ConfigError, match="downloads are turned off"):
        fetch(cache=tmp_path, variants=(), offline=True)
    assert fetch(cache=tmp_path, variants=(), sources=[FolderSource(real)]).source == "folder"
    assert all(check.ok for check in verify(cache=tmp_path))


def test_a_damaged_manifest_is_mended_by_fetching(real: Path, tmp_path: Path) -> None:
    fetch(cache=tmp_path, variants=(), sources=[FolderSource(real)])
    (tmp_path / BUILT_IN / MANIFEST).write_text("{")
    assert list_models(tmp_path) == []
    assert find(cache=tmp_path) is None
    assert fetch(cache=tmp_path, variants=(), sources=[FolderSource(real)]).source == "folder"


def test_what_is_not_here_is_not_found_and_not_fetched_offline(tmp_path: Path) -> None:
    assert find(cache=tmp_path) is None
    assert list_models(tmp_path / "none") == []
    with pytest.raises(NotFoundError, match=BUILT_IN):
        verify(cache=tmp_path)
    with pytest.raises(ConfigError, match="downloads are turned off"):
        fetch(cache=tmp_path, offline=True)
    for name in ("no-such-model", "../etc", "a/b/c", ""):
        with pytest.raises(ConfigError, match=r"no-such-model|not the name of a model"):
            fetch(name, cache=tmp_path)


def test_a_cache_that_cannot_be_made_is_a_config_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="model cache"):
        fetch(cache=tmp_path / "file" / "cache", sources=[])


def test_a_users_folder_is_only_read_and_built_into_the_cache(tiny_model: Path, tmp_path: Path) -> None:
    before = {path: path.read_bytes() for path in tiny_model.rglob("*") if path.is_file()}
    report = fetch(path=tiny_model, cache=tmp_path / "cache", variants=("int8", "fp32"))
    assert {path: path.read_bytes() for path in tiny_model.rglob("*") if path.is_file()} == before
    assert all((tmp_path / "cache") in path.parents for path in report.onnx.values())
    assert all(check.ok for check in verify(path=tiny_model, cache=tmp_path / "cache"))
    (summary,) = list_models(tmp_path / "cache")
    assert (summary.name, summary.variants, summary.dimensions) == ("tiny-bert", ("fp32", "int8"), tiny.HIDDEN)
    assert summary.size > 0


def test_a_damaged_built_file_is_built_again(tiny_model: Path, tmp_path: Path) -> None:
    onnx = fetch(path=tiny_model, cache=tmp_path / "cache").onnx["int8"]
    good = onnx.read_bytes()
    onnx.write_bytes(good[:-1] + b"\0")
    assert [check.ok for check in verify(path=tiny_model, cache=tmp_path / "cache")] == [False]
    assert fetch(path=tiny_model, cache=tmp_path / "cache").onnx["int8"].read_bytes() == good


@pytest.mark.parametrize(("step", "again"), [(-1, True), (0, False), (1, False)])
def test_what_an_older_builder_made_is_built_again_and_what_a_newer_one_made_is_kept(
    tiny_model: Path, tmp_path: Path, step: int, again: bool
) -> None:
    onnx = fetch(path=tiny_model, cache=tmp_path / "cache").onnx["int8"]
    manifest = ModelManifest.read(onnx.parent)
    assert manifest is not None
    by_another = dataclasses.replace(manifest.built["int8"], builder=BUILDER_VERSION + step)
    dataclasses.replace(manifest, built={"int8": by_another}).write(onnx.parent)
    LocalEmbedder(path=tiny_model, cache=tmp_path / "cache").warm_up()
    now = ModelManifest.read(onnx.parent)
    assert now is not None
    assert now.built["int8"].builder == BUILDER_VERSION + (0 if again else step)


def test_a_folder_of_built_files_alone_is_a_whole_model_of_the_same_space(tiny_model: Path, tmp_path: Path) -> None:
    onnx = fetch(path=tiny_model, cache=tmp_path / "cache").onnx["int8"]
    carried = tmp_path / "carried"
    carried.mkdir()
    for file in (tiny_model / "tokenizer.json", onnx, onnx.with_name(MANIFEST)):
        shutil.copy(file, carried)
    near, far = (
        LocalEmbedder(path=tiny_model, cache=tmp_path / "cache"),
        LocalEmbedder(path=carried, cache=tmp_path / "2"),
    )
    assert near.space == far.space
    assert near.embed_query("the plant") == far.embed_query("the plant")
    with pytest.raises(ConfigError, match="no fp32 variant"):
        LocalEmbedder(path=carried, cache=tmp_path / "2", variant="fp32").warm_up()


def test_a_model_that_came_as_onnx_is_used_as_it_is_and_quantized_on_demand(tiny_model: Path, tmp_path: Path) -> None:
    plain = LocalEmbedder(path=tiny_model, cache=tmp_path / "cache", variant="fp32").embed_query("the plant")
    built = fetch(path=tiny_model, cache=tmp_path / "cache", variants=("fp32",)).onnx["fp32"]
    (tiny_model / "onnx").mkdir()
    shutil.copy(built, tiny_model / "onnx" / "model.onnx")
    (tiny_model / "model.safetensors").unlink()
    report = fetch(path=tiny_model, cache=tmp_path / "other", variants=("fp32", "int8"))
    assert report.onnx["fp32"] == tiny_model / "onnx" / "model.onnx"
    assert report.onnx["int8"] != report.onnx["fp32"]
    assert LocalEmbedder(path=tiny_model, cache=tmp_path / "other", variant="fp32").embed_query("the plant") == plain


def test_a_reranker_is_fetched_by_name_as_it_is_and_only_with_the_known_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = make_cross_encoder(tmp_path / "made")
    weights, tokenizer = (
        PinnedFile(name, sha256_of(made / name), (made / name).stat().st_size)
        for name in ("model.onnx", "tokenizer.json")
    )
    forger = FolderSource(made, "forger", _forge)
    with pytest.raises(ConnectionFailedError) as caught:
        fetch(MS_MARCO.name, cache=tmp_path / "cache", sources=[forger], retries=ONCE)
    assert "other bytes than the pinned ones in model.onnx, tokenizer.json" in caught.value.details
    assert "RERANKER_MODEL_PATH" in caught.value.suggestion
    small = dataclasses.replace(MS_MARCO, weights=weights, tokenizer=tokenizer)
    monkeypatch.setattr(model_folders, "PINNED", (ALL_MINILM, small))
    report = fetch(
        MS_MARCO.repository.upper(), cache=tmp_path / "cache", variants=("fp32",), sources=[FolderSource(made)]
    )
    folder = tmp_path / "cache" / MS_MARCO.name
    assert report.onnx == {"int8": folder / "model.onnx"}
    assert all(each.ok for each in verify(MS_MARCO.name, cache=tmp_path / "cache"))
    CrossEncoder(folder).warm_up()
    (folder / "model.onnx").write_bytes(b"")
    wrong = [each.path.name for each in verify(MS_MARCO.name, cache=tmp_path / "cache") if not each.ok]
    assert wrong == ["model.onnx"]


def test_the_names_that_the_settings_know_are_those_of_the_known_models() -> None:
    assert (ALL_MINILM.name, MS_MARCO.name) == (LOCAL_MODEL, LOCAL_RERANKER)
    assert [type(each).__name__ for each in MS_MARCO.sources()] == ["WheelSource", "WheelSource"]
    assert isinstance(ALL_MINILM.sources()[-1], HubSource)


def test_another_architecture_without_onnx_is_refused(tmp_path: Path) -> None:
    path = tiny.write_model(tmp_path / "m", config={"model_type": "mpnet"})
    with pytest.raises(ConfigError, match="contains no usable weights"):
        find(path=path, cache=tmp_path)


def test_a_folder_without_a_tokenizer_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"tokenizer\.json is missing"):
        find(path=tmp_path, cache=tmp_path)


def test_the_real_files_in_a_folder_of_any_name_are_the_built_in_model(real: Path, tmp_path: Path) -> None:
    for name in ("model.safetensors", "tokenizer.json"):
        (tmp_path / name).symlink_to(real / name)
    files = find(path=tmp_path, cache=tmp_path / "cache")
    assert files is not None
    assert (files.name, files.weights_sha256) == (BUILT_IN, ALL_MINILM.weights.sha256)
    (tmp_path / "tokenizer.json").unlink()
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(ConfigError, match=f"not that of {BUILT_IN}"):
        find(path=tmp_path, cache=tmp_path / "cache")


def test_another_model_that_calls_itself_the_built_in_one_is_refused(tmp_path: Path) -> None:
    path = tiny.write_model(tmp_path / BUILT_IN)
    with pytest.raises(ConfigError, match="not that model's"):
        find(path=path, cache=tmp_path / "cache")


def test_a_manifest_of_another_version_is_refused_in_a_users_folder(tiny_model: Path, tmp_path: Path) -> None:
    (tiny_model / MANIFEST).write_text('{"format": 99}')
    with pytest.raises(ConfigError, match="not a manifest of this version"):
        ModelManifest.read(tiny_model)
    with pytest.raises(ConfigError, match="not a manifest of this version"):
        find(path=tiny_model, cache=tmp_path)
