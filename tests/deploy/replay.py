"""The steps of the Containerfile, replayed in a clean root: no engine is needed, only root, mounts and mmdebstrap.

Each stage is a Debian of its own, in which its steps run by chroot: RUN with the variables of the stage alone, COPY
from the project or from an earlier stage. What comes of it runs as the image would: its user, its variables, its folder
of work, a read-only root, no capability. Not replayed: the base of the image itself, whose Python is another one,
layers, and what an engine adds (seccomp, limits).
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.deploy.containerfile import Instruction, Stage, environment, parse
from tests.deploy.manifests import DEPLOY, ROOT

_PACKAGES = "python3,python3-venv,python-is-python3,ca-certificates,usr-is-merged"
_UNPACKED = "python3.14-venv,base-files,coreutils,dash"
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_HOOKS = "/usr/share/mmdebstrap/hooks"
_NOTED = {"LABEL", "EXPOSE", "VOLUME", "STOPSIGNAL", "HEALTHCHECK", "ENTRYPOINT", "CMD", "USER"}
"""Instructions that change no file."""
_SYSTEM = """
root=$1; shift
mount --bind "$root" "$root"
mount --rbind /dev "$root/dev"
mount --bind /proc "$root/proc"
for file in /etc/resolv.conf /etc/hosts; do : >> "$root$file"; mount --bind "$file" "$root$file"; done
mount --bind /etc/ssl/certs "$root/etc/ssl/certs"
"""
"""What a machine lends: devices, names of hosts, and certificates, as it may reach its packages through a proxy."""
_BUILD = _SYSTEM + 'exec chroot "$root" "$@"\n'
_RUN = (
    _SYSTEM
    + """
mount -o remount,bind,ro "$root"
mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
while [ "$1" != -- ]; do mount --bind "$1" "$root$2"; shift 2; done; shift
user=$1; shift
exec chroot "$root" /usr/bin/setpriv --reuid="${user%:*}" --regid="${user#*:}" --clear-groups --no-new-privs \
    --inh-caps=-all --bounding-set=-all -- /usr/bin/env --ignore-environment "$@"
"""
)


def _in_namespace(script: str, *arguments: str | Path) -> list[str]:
    return ["unshare", "--mount", "--propagation", "private", "sh", "-eu", "-c", script, "sh", *map(str, arguments)]


def _do(*command: str | Path) -> None:
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False, timeout=1500)
    if done.returncode:
        raise RuntimeError(f"{command[-1]}: {done.stdout[-3000:]}{done.stderr[-3000:]}")


def make_base(root: Path) -> None:
    """Make the Debian that stands for the image's base, of the packages that this machine reaches.

    Its folders are merged before, as in the image's own base: else a package merges them, and brings all of Perl.
    """
    options = ["--variant=apt", f"--hook-dir={_HOOKS}/merged-usr", "--dpkgopt=force-unsafe-io"]
    _do("mmdebstrap", "--quiet", *options, f"--include={_PACKAGES}", "bookworm", root)


def make_newer(root: Path) -> None:
    """Unpack the Debian packages of Python 3.14. A mirror's signed list of packages may be older than it should be."""
    options = ["--variant=extract", '--aptopt=Acquire::Check-Valid-Until "false"', f"--include={_UNPACKED}"]
    _do("mmdebstrap", "--quiet", *options, "forky", root, "http://deb.debian.org/debian")


def run_inside(root: Path, *shared: Path) -> list[str]:
    """Return what a command begins with that runs in a root, with folders of this machine at their own places."""
    mounts = "".join(
        f'mkdir -p "$root"{place}; mount --bind {place} "$root"{place}\n'
        for place in map(shlex.quote, map(str, shared))
    )
    return _in_namespace(_SYSTEM + mounts + 'exec chroot "$root" "$@"\n', root)


@dataclass(frozen=True)
class Replayed:
    """The root that came of it, and how the image says that it is run."""

    root: Path
    stage: Stage

    def command(self, *arguments: str, mounts: Mapping[Path, str], variables: Mapping[str, str]) -> list[str]:
        """Return the command that runs another one inside; its process becomes that one's, so signals reach it.

        Args:
            arguments: the command; as in the image, no shell stands between.
            mounts: folders of this machine, each with where it is seen.
            variables: beside those of the image.
        """
        for place in mounts.values():
            (self.root / place.lstrip("/")).mkdir(exist_ok=True)
        result = [f"{name}={value}" for name, value in {**environment(self.stage), **variables}.items()]
        places = [part for source, target in mounts.items() for part in (str(source), target)]
        where = f"--chdir={self.stage.last('WORKDIR')}"
        return _in_namespace(_RUN, self.root, *places, "--", self.stage.last("USER"), where, *result, *arguments)


@dataclass
class _Building:
    """A stage under way: its root, its variables, and the folder that it works in."""

    root: Path
    variables: dict[str, str]
    folder: str = "/"
    exported: dict[str, str] = field(default_factory=lambda: {"PATH": _PATH, "HOME": "/root"})

    def filled(self, text: str) -> str:
        """Put the stage's variables into a text."""
        known = {**self.variables, **self.exported}
        return re.sub(r"\$(?:\{(\w+)\}|(\w+))", lambda found: known.get(found[1] or found[2], ""), text)

    def inside(self, path: str) -> Path:
        """Return where a path of the stage is on this machine."""
        return self.root / os.path.normpath(f"{self.folder}/{path}" if path[0] != "/" else path).lstrip("/")


def replay(text: str, context: Path, folder: Path, base: Path, arguments: Mapping[str, str]) -> Replayed:
    """Do the steps of a Containerfile.

    Args:
        text: of the Containerfile.
        context: the project's folder.
        folder: an empty one, for the roots.
        base: a root that each stage begins with.
        arguments: values of ARG.

    Raises:
        RuntimeError: a step fails; says which, and what it printed.
        ValueError: there is an instruction that this does not know.
    """
    done: dict[str, _Building] = {}
    stages = parse(text)
    for number, stage in enumerate(stages):
        building = _Building(folder / f"stage-{number}", {})
        _do("cp", "--archive", "--reflink=auto", base, building.root)
        for step in stage.steps:
            _step(building, step, context, done, arguments)
        done[stage.name or str(number)] = building
    *earlier, last = done.values()
    for each in earlier:
        shutil.rmtree(each.root)
    return Replayed(last.root, stages[-1])


def replay_below(folder: Path, extras: str = "api") -> Replayed:
    """Replay the project's own Containerfile, on a Debian that is made for it; what was done there before is kept."""
    text, done = (DEPLOY / "Containerfile").read_text(encoding="utf-8"), folder / "done"
    if not done.exists():
        shutil.rmtree(folder / "stages", ignore_errors=True)
        (folder / "stages").mkdir(parents=True)
        if not (folder / "base").exists():
            make_base(folder / "base")
        made = replay(text, ROOT, folder / "stages", folder / "base", {"EXTRAS": extras})
        done.write_text(made.root.name, encoding="utf-8")
    return Replayed(folder / "stages" / done.read_text(encoding="utf-8"), parse(text)[-1])


def _step(
    at: _Building, step: Instruction, context: Path, done: Mapping[str, _Building], arguments: Mapping[str, str]
) -> None:
    match step.name:
        case "ARG":
            name, _, value = step.text.partition("=")
            at.variables[name] = arguments.get(name, at.filled(value))
        case "ENV":
            at.exported |= dict(word.split("=", 1) for word in shlex.split(at.filled(step.text)))
        case "WORKDIR":
            at.inside(step.text).mkdir(parents=True, exist_ok=True)
            at.folder = f"/{at.inside(step.text).relative_to(at.root)}"
        case "RUN":
            result = [f"{name}={value}" for name, value in {**at.variables, **at.exported}.items()]
            shell = [
                "/usr/bin/env",
                "--ignore-environment",
                f"--chdir={at.folder}",
                *result,
                "/bin/sh",
                "-c",
                step.text,
            ]
            _do(*_in_namespace(_BUILD, at.root, *shell))
        case "COPY":
            _copy(at, step, context, done)
        case name if name in _NOTED:
            pass
        case name:
            raise ValueError(f"line {step.line}: {name} is not replayed")


def _copy(at: _Building, step: Instruction, context: Path, done: Mapping[str, _Building]) -> None:
    words = shlex.split(at.filled(step.text))
    options = dict(word[2:].split("=", 1) for word in words if word.startswith("--"))
    *sources, target = [word for word in words if not word.startswith("--")]
    origin = done[options["from"]].root if "from" in options else context
    place = at.inside(target)
    for source in sources:
        found = origin / source.lstrip("/")
        into = place / found.name if found.is_file() and (target.endswith("/") or len(sources) > 1) else place
        into.parent.mkdir(parents=True, exist_ok=True)
        _do("cp", "--archive", "--no-target-directory", found, into)
        if "chown" in options:
            _do("chown", "--recursive", options["chown"], into)
        elif "from" not in options:
            _do("chown", "--recursive", "0:0", into)
        if "chmod" in options:
            into.chmod(int(options["chmod"], 8))
