"""`knowledge models fetch|verify|list`: the files of the local embedding model and of the local reranker."""

from __future__ import annotations

import sys
from dataclasses import asdict
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from knowledge_mcp.cli.shared.failures import ExitCode
from knowledge_mcp.cli.shared.options import with_groups
from knowledge_mcp.cli.shared.output import print_table, say, write_json
from knowledge_mcp.cli.shared.progress import WorkBar
from knowledge_mcp.cli.shared.session import StoreOptions, command_group

if TYPE_CHECKING:
    from knowledge_mcp.settings import Settings

app = command_group("Download, verify and list models.")

ModelName = Annotated[str | None, typer.Argument(metavar="[MODEL]", help="Model name. Default: the configured model.")]
Variant = Literal["int8", "fp32"]


class Variants(StrEnum):
    """Which weights to make ready."""

    INT8 = "int8"
    FP32 = "fp32"
    BOTH = "both"


def model_name(settings: Settings) -> str:
    """Return the local model: the configured one, if the provider is local."""
    from knowledge_mcp.settings import LOCAL_MODEL, choose_embedding

    choice = choose_embedding(settings)
    return choice.model if choice.provider == "local" else LOCAL_MODEL


@app.command(short_help="Download a model and check its hashes.")
@with_groups
def fetch(
    options: StoreOptions,
    model: ModelName = None,
    variant: Annotated[Variants | None, typer.Option(help="Weights. Default: EMBEDDING_VARIANT.")] = None,
    offline: Annotated[bool, typer.Option("--offline", help="Use only files on this machine.")] = False,
) -> None:
    """Download a model, check its hashes and build what is needed to run it.

    `multilingual-e5-small` is the embedding model for about a hundred languages (set EMBEDDING_MODEL to its name);
    `ms-marco-MiniLM-L12-v2` is the reranker that RERANKER=local uses.

    Example: knowledge models fetch multilingual-e5-small
    """
    with options.open_settings() as settings:
        from knowledge_mcp.embedders.local import model_files

        chosen = variant.value if variant is not None else settings.embedding_variant
        variants: tuple[Variant, ...] = ("int8", "fp32") if chosen == "both" else (chosen,)
        with WorkBar("bytes") as bar:
            report = model_files.fetch(
                model or model_name(settings),
                path=settings.embedding_model_path if model is None else None,
                cache=settings.models_folder,
                variants=variants,
                offline=offline,
                progress=bar.step,
            )
        built = {name: str(path) for name, path in report.onnx.items()}
        if options.as_json:
            write_json(
                {
                    "model": report.files.name,
                    "weights_sha256": report.files.weights_sha256,
                    "files": built,
                    "source": report.source,
                    "seconds": round(report.seconds, 3),
                }
            )
            return
        origin = f"from {report.source}" if report.source else "was already on this machine"
        say(f"{report.files.name} {origin}; ready after {report.seconds:.1f} s:")
        for name, path in built.items():
            say(f"  {name}: {path}")


@app.command(short_help="Check a model's files against their known hashes.")
@with_groups
def verify(options: StoreOptions, model: ModelName = None) -> None:
    """Check a model's files against their known hashes. The exit code is 1 if a file differs.

    Example: knowledge models verify
    """
    with options.open_settings() as settings:
        from knowledge_mcp.embedders.local import model_files

        checks = model_files.verify(
            model or model_name(settings),
            path=settings.embedding_model_path if model is None else None,
            cache=settings.models_folder,
        )
        if options.as_json:
            files = [{**asdict(each), "path": str(each.path), "ok": each.ok} for each in checks]
            write_json({"ok": all(each.ok for each in checks), "files": files})
        else:
            for each in checks:
                state = "ok     " if each.ok else "missing" if not each.actual else "WRONG  "
                say(f"{state} {each.path}")
        if not all(each.ok for each in checks):
            sys.stderr.write("Next: `knowledge models fetch` downloads the correct files.\n")
            raise typer.Exit(ExitCode.FAILURE)


@app.command("list")
@with_groups
def list_models(options: StoreOptions) -> None:
    """List the models that are on this machine.

    Example: knowledge models list
    """
    with options.open_settings() as settings:
        from knowledge_mcp.embedders.local import model_files

        found = model_files.list_models(settings.models_folder)
        if options.as_json:
            models = [{**asdict(each), "directory": str(each.directory)} for each in found]
            write_json({"folder": str(settings.models_folder), "models": models})
            return
        if not found:
            say(f"No models in {settings.models_folder}; `knowledge models fetch` downloads one.")
            return
        rows = [
            (
                each.name,
                str(each.dimensions) if each.dimensions > 1 else "a score",
                ", ".join(each.variants),
                f"{each.size / 1e6:.1f} MB",
                str(each.directory),
            )
            for each in found
        ]
        print_table(("Model", "Dimensions", "Variants", "Size", "Folder"), rows)
