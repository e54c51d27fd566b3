"""The wheel alone, in clean environments made by pip, uv and pipx, on every Python of this machine that we support."""

from __future__ import annotations

import faulthandler
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from collections.abc import Generator, Sequence
from functools import partial
from pathlib import Path

import pytest

from benchmarks.startup import HELLO, ask
from knowledge_mcp import __version__
from tests.deploy.manifests import ROOT
from tests.deploy.replay import make_newer, run_inside
from tests.deploy.sandbox import possible
from tests.machine import needs

pytestmark = [pytest.mark.slow, pytest.mark.timeout(0)]  # each step has a limit of its own

PYTHONS = ("3.11", "3.12", "3.13", "3.14")
TEXT = "# Pump\n\n## 4.2 Valves\n\nThe valve shall close within 2 seconds.\n"


def found(version: str) -> str | None:
    """Find a Python of a version: this one, one of the path, one of pyenv."""
    homes = sorted((Path.home() / ".pyenv" / "versions").glob(f"{version}.*/bin/python"))
    for each in (sys.executable, shutil.which(f"python{version}"), *map(str, homes)):
        result = "import sys, ensurepip; print('%d.%d' % sys.version_info[:2])"
        done = subprocess.run([each, "-c", result], capture_output=True, text=True, check=False) if each else None
        if each and done and done.stdout.strip() == version:
            return each
    return None


def run(*command: str | Path, home: Path, inside: Sequence[str] = (), **variables: str) -> str:
    """Run a command in an environment of its own that shares this machine's caches of packages."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV", "COV"))}
    kept |= {"HOME": str(home), "DATA_PATH": str(home / "data"), "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    kept |= {"PIP_CACHE_DIR": str(Path.home() / ".cache" / "pip"), "UV_CACHE_DIR": str(Path.home() / ".cache" / "uv")}
    done = subprocess.run(
        [*inside, *map(str, command)],
        cwd=home,
        env=kept | variables,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, f"{command}: {done.stdout[-2000:]}{done.stderr[-2000:]}"
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the sdist, and the wheel from it."""
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT, home=folder)
    return folder


@pytest.fixture(scope="module")
def wheel(built: Path) -> Path:
    (one,) = built.glob("*.whl")
    return one


@pytest.fixture(scope="module")
def pinned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the versions of the lock without their hashes, which none of these takes for a wheel of this machine."""
    lines = (ROOT / "requirements.lock").read_text(encoding="utf-8").splitlines()
    versions = [line.rstrip(" \\") for line in lines if re.match(r"[A-Za-z0-9]", line)]
    file = tmp_path_factory.mktemp("pinned") / "versions.txt"
    file.write_text("\n".join(versions), encoding="utf-8")
    return file


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install uv and pipx beside each other, as a person may have them."""
    folder = tmp_path_factory.mktemp("tools")
    venv.create(folder / "venv", with_pip=False)
    pip = (sys.executable, "-m", "pip", "--python", folder / "venv" / "bin" / "python")
    run(*pip, "install", "--quiet", "--no-compile", "uv", "pipx", home=folder)
    return folder / "venv" / "bin"


@pytest.fixture(scope="module")
def newer(tmp_path_factory: pytest.TempPathFactory) -> Generator[list[str]]:
    """Make a Debian that has Python 3.14; gives what a command begins with that runs in it on the tests' files."""
    possible()
    needs("mmdebstrap")
    root = tmp_path_factory.mktemp("newer") / "root"
    faulthandler.cancel_dump_traceback_later()
    try:
        make_newer(root)
    except RuntimeError as error:  # a mirror may not have that Debian, which is no fault of the wheel
        pytest.skip(f"no Debian with Python 3.14 can be had here: the wheel is NOT tried on it ({error})")
    yield run_inside(root, tmp_path_factory.getbasetemp(), Path.home() / ".cache")
    shutil.rmtree(root, ignore_errors=True)


def check_install(folder: Path, home: Path, extra: str, inside: Sequence[str] = ()) -> None:
    """Try what depends on the installer: the commands, and where they and a missing extra are said to be had."""
    do = partial(run, home=home, inside=inside)
    for name in ("knowledge", "knowledge-mcp", "clausewise", "pk-mcp"):
        assert __version__ in do(folder / name, "--version"), name
    printed = do(folder / "knowledge", "config", "client", "--client", "generic")
    assert str(folder / "knowledge-mcp") in printed
    interpreter = next(folder.resolve().glob("python3")) if (folder / "python3").exists() else folder / "python"
    said = "from knowledge_mcp.support.distribution import install_command as it; print(it('office'))"
    assert do(interpreter, "-c", said).strip().startswith(extra)


def try_out(folder: Path, home: Path, extra: str, inside: Sequence[str] = ()) -> None:
    """Try what depends on the Python and the packages too: reading a file in a child, and the tool list."""
    check_install(folder, home, extra, inside)
    (home / "pump.md").write_text(TEXT, encoding="utf-8")
    read = json.loads(run(folder / "knowledge", "inspect", home / "pump.md", "--json", home=home, inside=inside))
    assert "4.2" in json.dumps(read)
    with subprocess.Popen(
        [*inside, folder / "knowledge-mcp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        text=True, env={"HOME": str(home), "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"},
    ) as server:  # fmt: skip
        assert server.stdin is not None
        assert server.stdout is not None
        ask(server.stdin, server.stdout, 1, "initialize", HELLO)
        ask(server.stdin, server.stdout, 2, "tools/list", {})
        server.stdin.close()
        assert server.wait(60) == 0


def test_the_wheel_holds_the_package_alone_and_the_sdist_what_builds_it(built: Path, wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        tops = {name.partition("/")[0] for name in archive.namelist()}
    assert tops == {"knowledge_mcp", f"clausewise-{__version__}.dist-info"}
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = set(archive.getnames())
    base = f"clausewise-{__version__}"
    assert {f"{base}/{each}" for each in ("pyproject.toml", "LICENSE", "README.md", "requirements.lock")} <= names


def test_pip_installs_the_wheel_beside_what_it_needs(wheel: Path, pinned: Path, tmp_path: Path) -> None:
    venv.create(tmp_path / "env", with_pip=True)
    (site,) = (tmp_path / "env" / "lib").glob("python3.*/site-packages")
    (site / "needed.pth").write_text(sysconfig.get_path("purelib"), encoding="utf-8")  # uv brings them in others
    run(tmp_path / "env/bin/pip", "install", "--no-index", "--quiet", "-c", pinned, wheel, home=tmp_path)
    check_install(tmp_path / "env/bin", tmp_path, f"{tmp_path}/env/bin/python")


@pytest.mark.parametrize("version", PYTHONS)
def test_uv_installs_the_wheel_on_every_python_there_is(
    version: str, wheel: Path, pinned: Path, tools: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    python, inside = found(version), list[str]()
    if python is None and version == PYTHONS[-1]:
        python, inside = f"python{version}", request.getfixturevalue("newer")
    if python is None:
        pytest.skip(f"no Python {version} on this machine: the wheel is NOT tried on it")
    env, uv = tmp_path / "env", partial(run, tools / "uv", home=tmp_path, inside=inside)
    uv("venv", "--quiet", "--python", python, env)
    uv("pip", "install", "--quiet", "--python", env / "bin/python", "-c", pinned, wheel)
    try_out(env / "bin", tmp_path, f"uv pip install --python {env}", inside)


def _install(command: Sequence[str | Path], wheel: Path, pinned: Path, home: Path, **places: str) -> None:
    run(*command, wheel, home=home, UV_CONSTRAINT=str(pinned), PIP_CONSTRAINT=str(pinned), **places)


def test_uv_tool_installs_the_commands(wheel: Path, pinned: Path, tools: Path, tmp_path: Path) -> None:
    places = {"UV_TOOL_DIR": str(tmp_path / "tools"), "UV_TOOL_BIN_DIR": str(tmp_path / "bin")}
    _install([tools / "uv", "tool", "install", "--python", sys.executable], wheel, pinned, tmp_path, **places)
    assert __version__ in run(tmp_path / "bin/knowledge-mcp", "--version", home=tmp_path)
    check_install(tmp_path / "tools/clausewise/bin", tmp_path, 'uv tool install "clausewise[office]"')


def test_pipx_installs_the_commands(wheel: Path, pinned: Path, tools: Path, tmp_path: Path) -> None:
    places = {"PIPX_HOME": str(tmp_path / "pipx"), "PIPX_BIN_DIR": str(tmp_path / "bin")}
    _install([tools / "pipx", "install", "--python", sys.executable], wheel, pinned, tmp_path, **places)
    assert __version__ in run(tmp_path / "bin/knowledge", "--version", home=tmp_path)
    check_install(tmp_path / "pipx/venvs/clausewise/bin", tmp_path, 'pipx install --force "clausewise[office]"')
