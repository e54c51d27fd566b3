"""The container without a container engine: its files, its user and its read-only root, by mount namespace and chroot.

What a container of the image sees is put together from what the tests have: the Python, the virtual environment, the
package, the model and the files of `/etc` that it needs, each where the image has it and each mounted read-only. The
process runs as an arbitrary user of the group root with no capability and no way to get one, with the variables of the
Containerfile and nothing of this machine's. Only `/tmp` and the data folder are written. Not replayed: the image's own
Debian and its versions, the seccomp profile, SELinux, limits of memory and of processes.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

import knowledge_mcp
from tests.deploy.containerfile import environment as image_environment
from tests.deploy.containerfile import parse
from tests.deploy.manifests import DEPLOY
from tests.machine import in_ci, needs

UID, GID = 1000660000, 0
"""As OpenShift gives them: a number of the namespace's own range that no /etc/passwd knows, and the group root."""

_SCRIPT = r"""
folder=$1; chdir=$2; shift 2
root=$folder/root
mount -t tmpfs -o mode=0755 tmpfs "$root"
mkdir -p "$root/tmp" "$root/proc" "$root/dev/shm" "$root/etc" "$root/var/lib/knowledge-mcp"
for device in null zero random urandom; do
    : > "$root/dev/$device"
    mount --bind "/dev/$device" "$root/dev/$device"
done
mount -t tmpfs -o mode=1777,size=64m tmpfs "$root/dev/shm"
mount --bind /proc "$root/proc"
mount --bind "$folder/tmp" "$root/tmp"  # before the files of the tests, which may lie below /tmp themselves
while read -r source target; do
    if [ -d "$source" ]; then mkdir -p "$root$target"; else mkdir -p "$root${target%/*}"; : > "$root$target"; fi
    mount --bind "$source" "$root$target"
    mount -o remount,bind,ro "$root$target"
done < "$folder/mounts"
for link in bin sbin lib lib32 lib64; do [ -L "/$link" ] && cp -P "/$link" "$root/$link"; done
ln -s "$(cat "$folder/venv")" "$root/opt/knowledge-mcp/venv"
mount --bind "$folder/data" "$root/var/lib/knowledge-mcp"
mount -o remount,bind,ro "$root"
exec chroot "$root" /usr/bin/setpriv --reuid=$UID_ --regid=$GID_ --clear-groups --no-new-privs --inh-caps=-all \
    --bounding-set=-all -- /usr/bin/env --ignore-environment --chdir="$chdir" "$@"
"""


def possible() -> None:
    """Leave the test where mounts cannot be made: skipped on a developer's machine, failed in CI."""
    for program in ("unshare", "setpriv", "chroot", "mount"):
        needs(program)
    tried = subprocess.run(
        ["unshare", "--mount", "--propagation", "private", "mount", "-t", "tmpfs", "tmpfs", "/mnt"],
        capture_output=True, text=True, check=False, timeout=20,
    )  # fmt: skip
    if os.geteuid() != 0 or tried.returncode != 0:
        reason = f"a mount namespace of one's own needs root and CAP_SYS_ADMIN: {tried.stderr.strip()}"
        raise pytest.fail.Exception(reason, pytrace=False) if in_ci() else pytest.skip.Exception(reason)


@dataclass(frozen=True, slots=True)
class Sandbox:
    """One container: what it is made of, and the two folders that it may write, which outlive each run."""

    folder: Path

    @classmethod
    def make(cls, folder: Path, models: Path, secrets: Mapping[str, str]) -> Sandbox:
        """Lay out a container.

        Args:
            folder: an empty one of its own.
            models: the cache that holds the model.
            secrets: files by their absolute path, mounted as a Secret's are: 0440, root and the group root.
        """
        for name in ("root", "tmp", "data", "etc"):
            (folder / name).mkdir()
        (folder / "tmp").chmod(0o1777)
        (folder / "data").chmod(0o775)
        etc = folder / "etc"
        (etc / "passwd").write_text("root:x:0:0:root:/root:/usr/sbin/nologin\n")
        (etc / "group").write_text("root:x:0:\n")
        (etc / "nsswitch.conf").write_text("passwd: files\ngroup: files\nhosts: files dns\n")
        (etc / "hosts").write_text("127.0.0.1 localhost\n::1 localhost\n")
        for path, text in secrets.items():
            file = etc / Path(path).relative_to("/etc")
            file.parent.mkdir(parents=True)
            file.write_text(text)
            file.chmod(0o440)
        for name in ("ld.so.cache", "mime.types"):
            if Path("/etc", name).exists():
                shutil.copy(Path("/etc", name), etc / name)
        mounts = [
            (Path("/usr"), "/usr"),
            (etc, "/etc"),
            (models, _environment()["MODELS_PATH"]),
            (DEPLOY / "healthcheck.py", "/opt/knowledge-mcp/healthcheck.py"),
        ]
        tops = [Path("/", name) for name in ("bin", "sbin", "lib", "lib64")]
        mounts += [(top, str(top)) for top in tops if top.is_dir() and not top.is_symlink()]
        package = Path(knowledge_mcp.__file__).parent.parent
        for path in dict.fromkeys((Path(sys.base_prefix), Path(sys.prefix), package)):
            if not any(path.is_relative_to(source) for source, _ in mounts):
                mounts.append((path, str(path)))
        (folder / "mounts").write_text("".join(f"{source} {target}\n" for source, target in mounts))
        (folder / "venv").write_text(sys.prefix)
        return cls(folder)

    def command(self, line: Sequence[str], variables: Mapping[str, str]) -> list[str]:
        """Give the command that runs a line in the container; its process becomes that line's, so signals reach it."""
        final = parse((DEPLOY / "Containerfile").read_text(encoding="utf-8"))[-1]
        result = [f"{name}={value}" for name, value in {**_environment(), **variables}.items()]
        script = _SCRIPT.replace("$UID_", str(UID)).replace("$GID_", str(GID))
        inside = ["sh", "-eu", "-c", script, "sh", str(self.folder), final.last("WORKDIR"), *result, *line]
        return ["unshare", "--mount", "--propagation", "private", *inside]

    def run(self, line: Sequence[str], variables: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
        """Run a line in the container to its end."""
        return subprocess.run(
            self.command(line, variables),
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
            stdin=subprocess.DEVNULL,
        )


def _environment() -> dict[str, str]:
    return image_environment(parse((DEPLOY / "Containerfile").read_text(encoding="utf-8"))[-1])
