"""Numbers of the system calls that a worker's child may not make, and how the two architectures name them.

aarch64 uses the kernel's generic table and lacks the calls that were old when it came: `fork`, `chmod`, `utime` and
the like.
"""

import platform
from typing import overload

AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}

# name: (x86-64, aarch64)
NUMBERS = {
    # network, and anything else that hands out a socket
    "socket": (41, 198),
    "socketpair": (53, 199),
    "connect": (42, 203),
    "bind": (49, 200),
    # processes and threads
    "fork": (57, None),
    "vfork": (58, None),
    "clone": (56, 220),
    "clone3": (435, 435),
    "execve": (59, 221),
    "execveat": (322, 281),
    "setsid": (112, 157),
    "setpgid": (109, 154),
    # other processes: signals, memory, files, scheduling
    "kill": (62, 129),
    "tkill": (200, 130),
    "tgkill": (234, 131),
    "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240),
    "pidfd_open": (434, 434),
    "pidfd_getfd": (438, 438),
    "pidfd_send_signal": (424, 424),
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "process_madvise": (440, 440),
    "process_mrelease": (448, 448),
    "kcmp": (312, 272),
    "setpriority": (141, 140),
    "ioprio_set": (251, 30),
    "sched_setaffinity": (203, 122),
    "sched_setscheduler": (144, 119),
    "sched_setparam": (142, 118),
    "sched_setattr": (314, 274),
    "migrate_pages": (256, 238),
    "move_pages": (279, 239),
    # System V memory, queues and semaphores, POSIX queues: they outlive a process, and others' have small numbers
    "shmget": (29, 194),
    "shmctl": (31, 195),
    "shmat": (30, 196),
    "msgget": (68, 186),
    "msgctl": (71, 187),
    "msgrcv": (70, 188),
    "msgsnd": (69, 189),
    "semget": (64, 190),
    "semctl": (66, 191),
    "semtimedop": (220, 192),
    "semop": (65, 193),
    "mq_open": (240, 180),
    "mq_unlink": (241, 181),
    # memory that need not be mapped, so that no limit on a process counts it
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    # what Landlock does not cover: metadata of files that can be named
    "truncate": (76, 45),
    "chmod": (90, None),
    "fchmod": (91, 52),
    "fchmodat": (268, 53),
    "fchmodat2": (452, 452),
    "chown": (92, None),
    "lchown": (94, None),
    "fchown": (93, 55),
    "fchownat": (260, 54),
    "utime": (132, None),
    "utimes": (235, None),
    "futimesat": (261, None),
    "utimensat": (280, 88),
    "setxattr": (188, 5),
    "lsetxattr": (189, 6),
    "fsetxattr": (190, 7),
    "removexattr": (197, 14),
    "lremovexattr": (198, 15),
    "fremovexattr": (199, 16),
    "setxattrat": (463, 463),
    "removexattrat": (466, 466),
    "file_setattr": (469, 469),
    "open_by_handle_at": (304, 265),
    # nor other files' attributes and handles, and notifications of who opens them
    "getxattr": (191, 8),
    "lgetxattr": (192, 9),
    "getxattrat": (464, 464),
    "listxattr": (194, 11),
    "llistxattr": (195, 12),
    "listxattrat": (465, 465),
    "file_getattr": (468, 468),
    "name_to_handle_at": (303, 264),
    "inotify_init": (253, None),
    "inotify_init1": (294, 26),
    "inotify_add_watch": (254, 27),
    "fanotify_mark": (301, 263),
    "openat2": (437, 437),  # its flags lie in memory, where no filter sees them
    # the kernel itself: namespaces, mounts, programs, keys, asynchronous calls that no filter sees
    "unshare": (272, 97),
    "setns": (308, 268),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "open_tree": (428, 428),
    "open_tree_attr": (467, 467),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "mount_setattr": (442, 442),
    "statmount": (457, 457),
    "listmount": (458, 458),
    "bpf": (321, 280),
    "userfaultfd": (323, 282),
    "perf_event_open": (298, 241),
    "fanotify_init": (300, 262),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "personality": (135, 92),
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "reboot": (169, 142),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "syslog": (103, 116),
    "acct": (163, 89),
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
    "adjtimex": (159, 171),
    "clock_adjtime": (305, 266),
}

# Every call that exists was reviewed up to these numbers; what lies between LAST_OLD and COMMON, or above NEWEST, is
# unknown. A new kernel's calls are looked up in its table, refused above or not, and NEWEST raised. From COMMON on all
# architectures number alike.
LAST_OLD = (334, 294)  # rseq; kexec_file_load
COMMON = 424  # pidfd_send_signal
NEWEST = 469  # file_setattr, Linux 6.17

# Allowed, but not with every argument; see `seccomp`.
PRLIMIT = (302, 261)
FCNTL = (72, 25)
MMAP = (9, 222)
OPEN = (2, None)
OPENAT = (257, 56)


def known() -> bool:
    """Returns whether there is a table for this machine's architecture."""
    return platform.machine() in AUDIT_ARCH


@overload
def of(pair: tuple[int, int]) -> int: ...
@overload
def of(pair: tuple[int | None, int | None]) -> int | None: ...


def of(pair: tuple[int | None, int | None]) -> int | None:
    """Returns the number on this machine; None where the call does not exist here."""
    return pair[list(AUDIT_ARCH).index(platform.machine())]
