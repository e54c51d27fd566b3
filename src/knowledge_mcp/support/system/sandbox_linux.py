"""Restrict a process on Linux: files by Landlock, system calls by seccomp, capabilities, and a new program.

Restrictions apply only to the calling thread and threads that it starts later, and are permanent. Each is applied if
the kernel supports it, and reported if it does not. The numbers are those of the kernel's ABI, which does not change.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import json
import os
import stat
import struct
import sys

READ, WRITE, EXECUTE = 0b1100, 0b10, 0b1
"""Permissions of a rule: read files and list folders, write files, execute."""

INSTALLED = (
    *("/usr/lib", "/usr/lib64", "/lib", "/lib64", "/usr/local/lib", "/etc/ld.so.cache"),
    *("/usr/share/fonts", "/usr/local/share/fonts", "/etc/fonts", "/usr/share/locale", "/usr/share/zoneinfo"),
    *("/nix/store", "/home/linuxbrew/.linuxbrew", "/etc/localtime", "/etc/mime.types", "/usr/share/mime"),
    *(
        "/etc/ssl/openssl.cnf",
        "/etc/ssl/certs",
        "/etc/pki/tls/openssl.cnf",
        "/etc/pki/ca-trust",
        "/etc/crypto-policies",
    ),
    *("/dev/urandom", "/dev/zero", "/proc/cpuinfo", "/proc/meminfo", "/sys/devices/system/cpu"),
)
"""What libraries read in addition: each other, fonts, time zones, MIME types, the CPU type."""

NOT_STARTED = 125
"""Exit code of `become` if the program could not be started."""

_FILE_RIGHTS = READ & ~0b1000 | WRITE | EXECUTE
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_FS_BITS = {1: 13, 2: 14, 3: 15, 4: 15}
_NET_ABI, _SCOPE_ABI = 4, 6
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_NO_NEW_PRIVS = 1, 4, 38
_CAP_DAC_READ_SEARCH = 2
_CAPABILITY_VERSION = 0x20080522
_LACKING = frozenset({errno.ENOSYS, errno.EOPNOTSUPP, errno.EPERM, errno.EINVAL})
_SIGKILL = 9
_CLONE_THREAD = 0x10000
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC

Denied = dict[str, tuple[int, int]]

MACHINES = {"x86_64": (0, 0xC000003E, 317), "aarch64": (1, 0xC00000B7, 277)}
"""For each machine: its column in the tables below, its audit number, and the number of `seccomp`."""

_NEW = {
    name: (number, number)
    for name, number in {
        "pidfd_send_signal": 424, "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427,
        "open_tree": 428, "move_mount": 429, "fsopen": 430, "fsconfig": 431, "fsmount": 432, "fspick": 433,
        "pidfd_open": 434, "pidfd_getfd": 438, "process_madvise": 440, "mount_setattr": 442, "quotactl_fd": 443,
        "memfd_secret": 447, "process_mrelease": 448, "fchmodat2": 452,
    }.items()
}  # fmt: skip
"""Calls with the same number on every machine."""

FORBIDDEN: Denied = {
    # connections
    "socket": (41, 198), "connect": (42, 203), "bind": (49, 200), "listen": (50, 201),
    "accept": (43, 202), "accept4": (288, 242), "sendto": (44, 206), "sendmsg": (46, 211), "sendmmsg": (307, 269),
    "recvmsg": (47, 212), "recvmmsg": (299, 243),
    # other processes
    "fork": (57, -1), "vfork": (58, -1), "ptrace": (101, 117), "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271), "kcmp": (312, 272), "kill": (62, 129), "tkill": (200, 130),
    "rt_sigqueueinfo": (129, 138), "rt_tgsigqueueinfo": (297, 240), "setpriority": (141, 140),
    "sched_setaffinity": (203, 122), "setpgid": (109, 154),
    # powerful kernel interfaces
    "bpf": (321, 280), "userfaultfd": (323, 282), "perf_event_open": (298, 241), "add_key": (248, 217),
    "request_key": (249, 218), "keyctl": (250, 219), "kexec_load": (246, 104), "kexec_file_load": (320, 294),
    "init_module": (175, 105), "finit_module": (313, 273), "delete_module": (176, 106), "syslog": (103, 116),
    "fanotify_init": (300, 262), "name_to_handle_at": (303, 264), "open_by_handle_at": (304, 265),
    "personality": (135, 92), "modify_ldt": (154, -1), "iopl": (172, -1), "ioperm": (173, -1), "uselib": (134, -1),
    "lookup_dcookie": (212, 18), "vhangup": (153, 58), "acct": (163, 89), "quotactl": (179, 60),
    # the machine
    "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41), "chroot": (161, 51), "unshare": (272, 97),
    "setns": (308, 268), "reboot": (169, 142), "swapon": (167, 224), "swapoff": (168, 225),
    "sethostname": (170, 161), "setdomainname": (171, 162), "settimeofday": (164, 170), "clock_settime": (227, 112),
    "clock_adjtime": (305, 266), "adjtimex": (159, 171),
    # another user
    "setuid": (105, 146), "setgid": (106, 144), "setreuid": (113, 145), "setregid": (114, 143),
    "setresuid": (117, 147), "setresgid": (119, 149), "setgroups": (116, 159), "setfsuid": (122, 151),
    "setfsgid": (123, 152), "capset": (126, 91),
    # folder contents
    "chmod": (90, -1), "fchmod": (91, 52), "fchmodat": (268, 53), "chown": (92, -1), "fchown": (93, 55),
    "lchown": (94, -1), "fchownat": (260, 54), "setxattr": (188, 5), "lsetxattr": (189, 6), "fsetxattr": (190, 7),
    "removexattr": (197, 14), "lremovexattr": (198, 15), "fremovexattr": (199, 16), "rename": (82, -1),
    "renameat": (264, 38), "renameat2": (316, 276), "mkdir": (83, -1), "mkdirat": (258, 34), "rmdir": (84, -1),
    "unlink": (87, -1), "unlinkat": (263, 35), "link": (86, -1), "linkat": (265, 37), "symlink": (88, -1),
    "symlinkat": (266, 36), "mknod": (133, -1), "mknodat": (259, 33), "truncate": (76, 45), "creat": (85, -1),
    "utimensat": (280, 88), "utime": (132, -1), "utimes": (235, -1), "futimesat": (261, -1),
    # memory that no limit counts
    "shmget": (29, 194), "shmat": (30, 196), "msgget": (68, 186), "semget": (64, 190), "mq_open": (240, 180),
    **_NEW,
}  # fmt: skip
"""Calls denied to every process that reads untrusted bytes, by machine; -1 if a machine does not have the call."""

PROGRAMS: Denied = {"execve": (59, 221), "execveat": (322, 281)}
_ABSENT: Denied = {"clone3": (435, 435), "openat2": (437, 437)}
"""Calls whose arguments no filter can see: they are reported as missing, and callers use the older ones."""
_LAST_SYSCALL = 463

_CLONE, _TGKILL, _PRCTL, _PRLIMIT = (56, 220), (234, 131), (157, 167), (302, 261)
_OPEN, _OPENAT, _SOCKETPAIR = (2, -1), (257, 56), (53, 199)
_AF_UNIX = 1

_ALLOW, _DENY, _MISSING, _KILL = 0x7FFF0000, 0x00050000 | errno.EPERM, 0x00050000 | errno.ENOSYS, 0x80000000
_LOAD, _EQUAL, _ABOVE, _ANY_BIT, _RETURN = 0x20, 0x15, 0x25, 0x45, 0x06
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16


def system_calls(machine: str, *, process: int, programs: bool = False, writing: bool = False) -> list[tuple[int, ...]]:
    """Build the filter program of a machine: instructions of code, jump if true, jump if false, and operand.

    Args:
        machine: `x86_64` or `aarch64`.
        process: the only process to which signals may be sent, by `tgkill`: a failed assertion aborts that way.
        programs: whether `execve` is allowed: Landlock then decides what may be executed.
        writing: whether files may be opened for writing: Landlock then decides which.
    """
    column, architecture, _ = MACHINES[machine]
    made: list[tuple[int, ...]] = [
        (_LOAD, 0, 0, _ARCHITECTURE), (_EQUAL, 1, 0, architecture), (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER), (_ABOVE, 0, 1, _LAST_SYSCALL), (_RETURN, 0, 0, _MISSING),
    ]  # fmt: skip

    def judge(call: tuple[int, int], argument: int, test: int, operand: int, then: int, otherwise: int) -> None:
        """Check a call by the lower half of one of its arguments; none of these is a pointer."""
        if call[column] >= 0:
            place = _FIRST_ARGUMENT + 8 * argument
            made.extend([(_EQUAL, 0, 4, call[column]), (_LOAD, 0, 0, place), (test, 0, 1, operand)])
            made.extend([(_RETURN, 0, 0, then), (_RETURN, 0, 0, otherwise)])

    judge(_CLONE, 0, _ANY_BIT, _CLONE_THREAD, _ALLOW, _DENY)
    judge(_TGKILL, 0, _EQUAL, process, _ALLOW, _DENY)
    judge(_PRLIMIT, 0, _EQUAL, 0, _ALLOW, _DENY)
    # pairs within one process, as event loops create them; they cannot be connected or send to a name
    judge(_SOCKETPAIR, 0, _EQUAL, _AF_UNIX, _ALLOW, _DENY)
    judge(_PRCTL, 0, _EQUAL, _PR_SET_PDEATHSIG, _DENY, _ALLOW)
    if not writing:
        judge(_OPEN, 1, _ANY_BIT, _WRITING, _DENY, _ALLOW)
        judge(_OPENAT, 2, _ANY_BIT, _WRITING, _DENY, _ALLOW)
    for calls, verdict in (({**FORBIDDEN, **({} if programs else PROGRAMS)}, _DENY), (_ABSENT, _MISSING)):
        for numbers in calls.values():
            if numbers[column] >= 0:
                made.extend([(_EQUAL, 0, 1, numbers[column]), (_RETURN, 0, 0, verdict)])
    return [*made, (_RETURN, 0, 0, _ALLOW)]


def restrict(rules: dict[str, int], *, programs: bool = False) -> dict[str, str]:
    """Give up permanently everything that is not listed.

    Args:
        rules: permissions by path, of a folder with its contents or of a file; missing paths are ignored.
        programs: whether a program may be executed once more; `rules` then say which.

    Returns:
        For `privileges`, `files` and `system calls`: empty if active, otherwise why not.
    """
    system = _System()
    protections = {"privileges": system.no_new_privileges()}
    protections["files"] = system.landlock(rules)
    protections["system calls"] = system.seccomp(
        programs=programs and not protections["files"], writing=not protections["files"]
    )
    return protections


def hide_memory() -> None:
    """Hide this process's memory and environment from other processes of this user, permanently."""
    if sys.platform == "linux":
        _System().control(_PR_SET_DUMPABLE, 0)


def die_with_parent(parent: int) -> None:
    """Make the kernel kill this process when the thread that started it ends; exit now if it has already ended."""
    if sys.platform == "win32":
        return  # the parent's job object ends it
    if sys.platform == "linux":
        _System().control(_PR_SET_PDEATHSIG, _SIGKILL)
    if os.getppid() != parent:
        os._exit(0)


def become(request: str) -> None:
    """Restrict this process and replace it by a program.

    Args:
        request: JSON: `parent`, the process that started this one; `command`, the program's path and its arguments;
            `readable`, files and folders that it may read in addition to what is installed.
    """
    fields = json.loads(request)
    die_with_parent(fields["parent"])
    command: list[str] = fields["command"]
    home = os.path.realpath(command[0]).rsplit("/", 2)[0]
    folders = (f"{home}/lib", f"{home}/lib64", f"{home}/share")
    try:
        programs = (os.path.realpath(command[0]), *_loader_of(command[0]))
        rules = dict.fromkeys((*INSTALLED, *folders, *fields["readable"]), READ) | {"/dev/null": READ | WRITE}
        restrict(rules | dict.fromkeys(programs, READ | EXECUTE), programs=True)
        os.execv(command[0], command)
    except OSError as error:
        os.write(2, f"{command[0]}: {error.strerror or error}".encode())
        os._exit(NOT_STARTED)


def _loader_of(program: str) -> list[str]:
    """Find the path of a program's dynamic loader; it is named near the file's beginning."""
    with open(program, "rb") as stream:  # noqa: PTH123 - pathlib alone would double the time this takes
        head = stream.read(8192)
    found = head.find(b"/ld-")
    return [os.fsdecode(head[head.rfind(b"\0", 0, found) + 1 : head.find(b"\0", found)])] if found >= 0 else []


class _System:
    """Make system calls for which Python has no function."""

    def __init__(self) -> None:
        library = ctypes.CDLL(None, use_errno=True)
        self._call = library.syscall
        self._call.restype = ctypes.c_long
        self._control = library.prctl

    def control(self, option: int, value: int) -> int:
        """Call `prctl` with one argument."""
        rest = [ctypes.c_ulong(each) for each in (value, 0, 0, 0)]
        return int(self._control(ctypes.c_int(option), *rest))

    def no_new_privileges(self) -> str:
        """Give up the privileges of set-user-id programs, and every capability except that of reading."""
        if self.control(_PR_SET_NO_NEW_PRIVS, 1) != 0:
            return _reason()
        # the interpreter may be in a folder that only root may enter; Landlock decides what may be read
        capabilities = ctypes.create_string_buffer(24)
        header = struct.pack("Ii", _CAPABILITY_VERSION, 0)
        if self._call(_long(125 if _machine() == "x86_64" else 90), header, capabilities) != 0:
            return _reason()
        low = struct.unpack("6I", capabilities.raw)[1] & 1 << _CAP_DAC_READ_SEARCH
        reduced = struct.pack("6I", low, low, 0, 0, 0, 0)
        return "" if self._call(_long(126 if _machine() == "x86_64" else 91), header, reduced) == 0 else _reason()

    def landlock(self, rules: dict[str, int]) -> str:
        """Allow only these files, no connection, and only signals to itself, as far as the kernel can."""
        version = int(self._call(_long(_CREATE_RULESET), None, _long(0), _long(1)))
        if version < 1:
            return _lacking("Landlock")
        handled = (1 << _FS_BITS.get(version, 16)) - 1
        attributes = struct.pack("QQQ", handled, 3 if version >= _NET_ABI else 0, 3 if version >= _SCOPE_ABI else 0)
        size = 24 if version >= _SCOPE_ABI else 16 if version >= _NET_ABI else 8
        ruleset = int(self._call(_long(_CREATE_RULESET), attributes, _long(size), _long(0)))
        if ruleset < 0:
            return _lacking("Landlock")
        try:
            for path, rights in rules.items():
                self._allow(ruleset, path, rights)
            if self._call(_long(_RESTRICT_SELF), _long(ruleset), _long(0)) != 0:
                return _lacking("Landlock")
        finally:
            os.close(ruleset)
        return ""

    def _allow(self, ruleset: int, path: str, rights: int) -> None:
        assert sys.platform == "linux"
        with contextlib.suppress(FileNotFoundError, NotADirectoryError, PermissionError):
            place = os.open(path, os.O_PATH | os.O_CLOEXEC)
            try:
                if not stat.S_ISDIR(os.fstat(place).st_mode):
                    rights &= _FILE_RIGHTS
                rule = struct.pack("=Qi", rights, place)
                if self._call(_long(_ADD_RULE), _long(ruleset), _long(1), rule, _long(0)) != 0:
                    raise OSError(ctypes.get_errno(), f"Landlock took no rule for {path}")
            finally:
                os.close(place)

    def seccomp(self, *, programs: bool, writing: bool) -> str:
        """Set the filter of `system_calls`."""
        machine = _machine()
        if machine not in MACHINES or sys.maxsize < 1 << 32:
            return f"no filter is written for {machine}"
        made = system_calls(machine, process=os.getpid(), programs=programs, writing=writing)
        code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *each) for each in made))
        program = struct.pack("HxxxxxxP", len(made), ctypes.addressof(code))
        # 1: set a filter; 1: for all threads of this process
        if self._call(_long(MACHINES[machine][2]), _long(1), _long(1), program) != 0:
            return _lacking("seccomp")
        return ""


def _machine() -> str:
    return "" if sys.platform == "win32" else os.uname().machine


def _long(value: int) -> ctypes.c_long:
    return ctypes.c_long(value)


def _reason() -> str:
    return os.strerror(ctypes.get_errno()).lower()


def _lacking(what: str) -> str:
    """Report that the kernel does not support something.

    Raises:
        OSError: it supports it, but refused the call; nothing untrusted may be read then.
    """
    code = ctypes.get_errno()
    if code in _LACKING:
        return f"this kernel has no {what}, or does not let this process use it"
    raise OSError(code, f"{what}: {os.strerror(code)}")
