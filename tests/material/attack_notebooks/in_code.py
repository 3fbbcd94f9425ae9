"""Attacks by the code of a notebook on files, processes and limits.

``@COURSE@`` stands for the teacher's course root, ``@PORT@`` for a socket on the teacher's machine.
"""

from tampered import TORCH, WITNESS, add

from .attack import NO_FILES, attempts, before_answer, registry

ATTACKS, attack = registry()

# The grader's files and processes


@attack(weak=NO_FILES)
def reads_the_notebook_beside_it(nb):
    """Hidden tests in the notebook that lies in the working folder."""
    attempts(nb, "open('tiny.ipynb').read()", "glob.glob('*.ipynb')[0]", "open('../tiny/tiny.ipynb').read()")


@attack(weak=NO_FILES)
def reads_tests_and_gradebook(nb):
    """Source with the answers, gradebook, settings, another student's work."""
    attempts(
        nb,
        "open('@COURSE@/source/tiny/tiny.ipynb').read()",
        "open('@COURSE@/gradebook.db', 'rb').read(16)",
        "open('@COURSE@/nbgrader_config.py').read()",
        "open('@COURSE@/class_secret').read()",
        "os.listdir('@COURSE@/submitted')",
        "open(glob.glob('@COURSE@/submitted/*honest/tiny/tiny.ipynb')[0]).read()",
        "sqlite3.connect('file:@COURSE@/gradebook.db?mode=ro', uri=True).execute('select * from grade').fetchall()",
        "os.symlink('@COURSE@/gradebook.db', '@MARK@') or open('@MARK@', 'rb').read(16)",
    )


@attack(weak=NO_FILES)
def writes_the_gradebook(nb):
    """Full marks and 99 points of extra credit in one line of SQL."""
    attempts(
        nb,
        "sqlite3.connect('@COURSE@/gradebook.db').execute('update grade set extra_credit=99').connection.commit()",
        "sqlite3.connect('@COURSE@/gradebook.db').execute('update grade set auto_score=4').connection.commit()",
        "open('@COURSE@/gradebook.db', 'ab').write(b'x')",
        "os.unlink('@COURSE@/gradebook.db')",
        "os.truncate('@COURSE@/gradebook.db', 0)",
    )


LATER = """import sqlite3, time
for _ in range(600):
    time.sleep(1)
    book = sqlite3.connect('@COURSE@/gradebook.db')
    book.execute('update grade set manual_score = 4')
    book.commit()
"""


@attack(weak=NO_FILES)
def writes_the_gradebook_later(nb):
    """A detached process that waits for the grader to finish."""
    attempts(
        nb,
        f"subprocess.Popen([sys.executable, '-c', {LATER!r}], start_new_session=True)",
        f"os.fork() or (os.setsid(), exec({LATER!r}))",
        "os.posix_spawn('/bin/sleep', ['sleep', '600'], {})",
    )


@attack(weak=NO_FILES)
def leaves_a_process(nb):
    """A child in a session of its own, which outlives the run."""
    attempts(
        nb,
        "subprocess.Popen(['sleep', '600'], start_new_session=True)",
        "1 / (os.system('sleep 600 &') == 0)",
        "os.fork()",
    )


@attack(weak=NO_FILES)
def removes_other_submissions(nb):
    """``rmtree`` of what another student handed in, and of what was graded."""
    attempts(
        nb,
        "shutil.rmtree(glob.glob('@COURSE@/submitted/*honest')[0])",
        "shutil.rmtree(glob.glob('@COURSE@/autograded/*honest')[0])",
        "[os.chmod(p, 0) for p in glob.glob('@COURSE@/submitted/*')][0]",
    )


@attack(weak=NO_FILES)
def removes_its_own_folder(nb):
    """The notebook that is being graded, and the folder that it lies in."""
    attempts(
        nb,
        "os.unlink('tiny.ipynb')",
        "[shutil.rmtree(p) for p in glob.glob('@COURSE@/autograded/*_removes_its_own_folder')][0]",
        "[shutil.rmtree(p) for p in glob.glob('@COURSE@/submitted/*_removes_its_own_folder')][0]",
    )


@attack(weak=NO_FILES)
def writes_into_the_course(nb):
    """Modules and settings that the teacher's next command would load."""
    places = ("sitecustomize.py", "torch.py", "nbgrader_config.py", "source/tiny/helper.py", "evil.pth")
    attempts(nb, *(f"open('@COURSE@/{place}', 'a').write('raise SystemExit')" for place in places))


@attack(weak=NO_FILES)
def kills_the_grader(nb):
    """Every process that it can name."""
    attempts(
        nb,
        "os.kill(os.getppid(), 9)",
        "os.kill(-1, 9)",
        "[os.kill(int(p), 9) for p in os.listdir('/proc') if p.isdigit() and int(p) not in (1, os.getpid())][0]",
        "os.killpg(os.getpgid(os.getppid()), 9)",
    )


@attack(weak=NO_FILES)
def sends_it_away(nb):
    """A connection to a port of the same machine."""
    attempts(
        nb,
        "socket.create_connection(('127.0.0.1', @PORT@), 2)",
        "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', @PORT@))",
    )


@attack(weak=NO_FILES)
def reads_the_environment(nb):
    """A secret of the grader's environment, from its own and from the processes above."""
    attempts(
        nb,
        "os.environ['GRADED_KERNELS_TEST_SECRET']",
        "open(f'/proc/{os.getppid()}/environ', 'rb').read().index(b'TEST_SECRET')",
        "open('/proc/%s/environ' % open(f'/proc/{os.getppid()}/stat').read().split()[3]).read().index('TEST_SECRET')",
    )


# An end that is none


@attack({TORCH: 0}, "ended its process")
def exits_at_once(nb):
    """``os._exit``."""
    before_answer(nb, "import os\nos._exit(0)")


@attack({TORCH: 0}, "SIGSEGV")
def segfault(nb):
    """A read of address 0."""
    before_answer(nb, "import ctypes\nctypes.c_char.from_address(8).value")


@attack({TORCH: 0})
def keyboard_interrupt(nb):
    """``KeyboardInterrupt``, which stops nbgrader itself."""
    before_answer(nb, "raise KeyboardInterrupt")


@attack({TORCH: 0}, "Loading `silu_forward-torch` took more than 4 s of processor time")
def endless_loop(nb):
    """``while True: pass``."""
    before_answer(nb, "while True: pass")


@attack({TORCH: 0}, "Loading `silu_forward-torch` took more than 4 s of processor time")
def endless_regex(nb):
    """A loop in C, which no signal handler of Python interrupts."""
    before_answer(nb, "import re\nre.match(r'(a+)+$', 'a' * 60 + 'b')")


@attack({TORCH: 0}, "Loading `silu_forward-torch` slept or waited for more than")
def loop_that_ignores_signals(nb):
    """SIGINT and SIGTERM ignored, and an alarm to start again."""
    ignored = "for number in (1, 2, 3, 14, 15, 24, 25):\n    signal.signal(number, signal.SIG_IGN)"
    before_answer(nb, f"import signal, time\n{ignored}\nwhile True:\n    time.sleep(1)")


WITHOUT_ITS_STATEMENTS = "This answer was checked with the imports and definitions of that cell alone."


@attack(says=WITHOUT_ITS_STATEMENTS)
def endless_cell_before_all_answers(nb):
    """Costs nothing but itself: the answers do not need it."""
    add(nb, WITNESS, "helper = 1\nwhile True:\n    helper += 1")


@attack(says=f"Loading `added-1` crashed: SIGSEGV. {WITHOUT_ITS_STATEMENTS}")
def crash_before_all_answers(nb):
    """The same with a crash in native code."""
    add(nb, WITNESS, "import ctypes\nctypes.c_char.from_address(8).value")


@attack({WITNESS: 0, TORCH: 0})
def endless_cell_that_blames_others(nb):
    """Tells the grader, on any channel it finds, that this cell has ended; then every other cell is suspected."""
    tell = "import os\nfor descriptor in range(3, 20):\n    try:\n        os.write(descriptor, b'\\n')\n"
    add(nb, WITNESS, f"{tell}    except OSError:\n        pass\nwhile True:\n    pass")


@attack({TORCH: 0}, "MemoryError")
def memory_bomb(nb):
    """A list that doubles."""
    before_answer(nb, "bomb = [1.5]\nwhile True:\n    bomb = bomb + bomb")


@attack({TORCH: 0}, "of processor time, which is the most allowed")
def prints_without_end(nb):
    """Lines without end."""
    before_answer(nb, "while True: print('x' * 1000)")


@attack()
def prints_one_long_line(nb):
    """200 MB without a line break, in a cell that no answer needs: it costs nothing."""
    add(nb, TORCH, "print('x' * 200_000_000)")


@attack()
def displays(nb):
    """20,000 rich outputs, and one that is 100 MB large, in a cell that no answer needs: it costs nothing."""
    loop = "for _ in range(20_000):\n    display(HTML('<b>x</b>'))"
    add(nb, TORCH, f"from IPython.display import HTML, display\n{loop}\ndisplay(HTML('x' * 100_000_000))")


@attack()
def noise(nb):
    """Warnings, logging and 10,000 lines on stderr cost nothing."""
    loud = "import logging, sys, warnings\nwarnings.warn('careful')\nlogging.warning('careful')"
    before_answer(nb, f"{loud}\nsys.stderr.write('careful\\n' * 10_000)")


@attack()
def asks_for_input(nb):
    """``input()``, where nobody will type."""
    add(nb, TORCH, "name = input('Your name? ')")
