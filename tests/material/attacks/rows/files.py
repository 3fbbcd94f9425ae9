# kind: beside
# exercise: silu_backward
# backend: torch
# weak: skip: nothing at this level would stop it
"""What a right answer does besides: to files."""

import os
import tempfile

import torch


# expect: full
# weak: full: files are not hidden at this level
def read_secret():
    """Reads a file of the grader."""
    for path in ("@SCENE@/secret", "@ROOT@/pyproject.toml", "/etc/passwd", "/proc/1/environ", "/root/.bashrc"):
        try:
            print(open(path).read())
            print("ESCAPED", path)
        except OSError:
            pass


# expect: full
def read_by_a_link():
    """Reads a file of the grader through a symbolic link and through its own descriptors."""
    for place in ("/tmp/@MARK@", "/dev/shm/@MARK@", "@MARK@"):
        try:
            os.symlink("@SCENE@/secret", place)
            print(open(place).read(), "ESCAPED")
        except OSError:
            pass
    for path in ("/proc/self/root@SCENE@/secret", "/proc/self/cwd/..@SCENE@/secret"):
        try:
            print(open(path).read(), "ESCAPED")
        except OSError:
            pass


# expect: full
# weak: full: files are not hidden at this level
def list_folders():
    """Lists folders, which tells names."""
    for path in ("@SCENE@", "@ROOT@", "@ROOT@/autograder/exercises", "/home", "/etc"):
        try:
            if os.listdir(path):
                print("ESCAPED", path)
        except OSError:
            pass


SECRET = "@SCENE@/secret"


# expect: full
# weak: full: files are not hidden at this level
def looks_at_files():
    """Learns of files without reading them: O_PATH, and what lies beside their contents."""
    attempts = {
        "size": lambda: os.fstat(os.open(SECRET, os.O_PATH)).st_size,
        "setxattr": lambda: os.setxattr(SECRET, "user.escaped", b"1"),
        "getxattr": lambda: os.getxattr(SECRET, "user.escaped"),
        "listxattr": lambda: os.listxattr(SECRET),
    }
    for name, attempt in attempts.items():
        try:
            print("ESCAPED", name, attempt())
        except OSError:
            pass


# expect: full
# weak: full
def environment():
    """Reads the environment, where graders keep secrets."""
    print(dict(os.environ))
    try:
        print(open("/proc/self/environ").read())
    except OSError:
        pass


# expect: full
def memory_of_the_parent():
    """Reads the parent's memory."""
    parent = os.getppid()
    for path in (f"/proc/{parent}/mem", f"/proc/{parent}/environ", f"/proc/{parent}/maps"):
        try:
            open(path, "rb").read(1)
            print("ESCAPED", path)
        except OSError:
            pass


# expect: full
def write_gradebook():
    """Changes the gradebook in every way a file can be changed."""
    book = "@SCENE@/gradebook.db"
    attempts = (
        lambda: open(book, "ab").write(b"100%"),
        lambda: os.truncate(book, 0),
        lambda: os.chmod(book, 0o777),
        lambda: os.utime(book, (0, 0)),
        lambda: os.rename(book, book + ".old"),
        lambda: os.link(book, book + ".link"),
        lambda: os.unlink(book),
        lambda: os.setxattr(book, "user.x", b"x"),
        lambda: os.mkdir("@SCENE@/folder"),
        lambda: os.mkfifo("@SCENE@/fifo"),
    )
    for attempt in attempts:
        try:
            attempt()
            print("ESCAPED")
        except OSError:
            pass


# expect: full
def write_anywhere():
    """Looks for any place on the disk that can be written."""
    for folder in ("/tmp", "/var/tmp", "/dev/shm", "/run", "/", os.getcwd()):
        try:
            open(os.path.join(folder, "@MARK@"), "w").close()
            print("ESCAPED", folder)
        except OSError:
            pass
    try:
        print("ESCAPED", tempfile.mkdtemp())
    except OSError:
        pass


# expect: full
def write_library():
    """Puts a file among the libraries, where the next process would import it."""
    for folder in (os.path.dirname(torch.__file__), os.path.dirname(os.path.dirname(torch.__file__)), "@ROOT@"):
        try:
            open(os.path.join(folder, "@MARK@.py"), "w").close()
            print("ESCAPED", folder)
        except OSError:
            pass
