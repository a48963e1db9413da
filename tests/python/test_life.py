# SPDX-License-Identifier: Apache-2.0
"""A loader's life in its process: signals, threads, forks, and what an end leaves."""
import fcntl
import gc
import os
import pty
import signal
import subprocess
import sys
import termios
import threading
import time

import pytest
import torch

import helpers
from forebay import ClosedError, Loader, transforms as T

OPEN = """
import os, signal, sys, time
from forebay import Loader, transforms as T
loader = Loader(sys.argv[1], 8, [T.Resize((32, 32))], workers=2)
batch = next(iter(loader))
while not all(loader.worker_pids()):
    time.sleep(0.001)
print(*loader.worker_pids(), flush=True)
"""
STOP_WORKERS = """
for pid in loader.worker_pids():
    os.kill(pid, signal.SIGSTOP)
"""


def stop_workers(loader):
    """Then the pool runs dry after the batches that are made."""
    for pid in helpers.workers(loader):
        os.kill(pid, signal.SIGSTOP)


def take_until_dry(loader):
    """Takes batches until next() waits: it waits in another thread, which is returned."""
    errors = []

    def take():
        try:
            while True:
                for batch in loader:
                    del batch
        except Exception as e:  # pylint: disable=broad-except
            errors.append(e)

    thread = threading.Thread(target=take)
    thread.start()
    return thread, errors


def no_progress(loader):
    """Whether next() handed out nothing for a while."""
    before = loader.stats()["batches"]
    time.sleep(0.2)
    return loader.stats()["batches"] == before


WAIT = OPEN + STOP_WORKERS + """
try:
    while True:
        print("next", time.monotonic(), flush=True)
        for batch in loader:
            pass
except KeyboardInterrupt:
    print("interrupted", time.monotonic(), flush=True)
loader.close()
print("closed", flush=True)
"""


def interrupt_on_terminal(folder):
    """Presses Ctrl-C in a terminal where next() waits: seconds until the exception."""
    ours, theirs = pty.openpty()

    def own_terminal():
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # ignored where a script runs us with &
        os.setsid()
        fcntl.ioctl(theirs, termios.TIOCSCTTY, 0)

    process = subprocess.Popen(  # pylint: disable=subprocess-popen-preexec-fn
        [sys.executable, "-c", WAIT, folder], stdin=theirs, stdout=subprocess.PIPE,
        preexec_fn=own_terminal, text=True)
    os.close(theirs)
    workers = [int(pid) for pid in process.stdout.readline().split()]
    process.stdout.readline()
    time.sleep(0.5)  # let it run dry; too short a time only makes the case easier
    pressed = time.monotonic()
    os.write(ours, b"\x03")
    line = process.stdout.readline()
    while line.startswith("next"):
        line = process.stdout.readline()
    assert line.startswith("interrupted"), line
    assert process.stdout.readline() == "closed\n"
    assert process.wait(helpers.DEADLINE) == 0
    process.stdout.close()
    os.close(ours)
    assert not any(helpers.alive(pid) for pid in workers)
    return float(line.split()[1]) - pressed


def test_ctrl_c_interrupts_within_a_fifth_of_a_second(folder):
    assert min(interrupt_on_terminal(folder) for _ in range(3)) < 0.2


ENDS = {
    "runs to its end": ("", 0),
    "sys.exit": ("sys.exit(3)", 3),
    "exception": ("view = batch[0][1]; raise KeyError(1)", 1),
    "os._exit": ("os._exit(4)", 4),
    "SIGTERM": ("os.kill(os.getpid(), signal.SIGTERM)", -15),
    "SIGKILL": ("os.kill(os.getpid(), signal.SIGKILL)", -9),
    "SIGKILL with stopped workers": (STOP_WORKERS + "os.kill(os.getpid(), signal.SIGKILL)", -9),
    "mid-epoch in a thread": ("""
import threading
threading.Thread(target=lambda: [time.sleep(0.01) for _ in loader], daemon=True).start()
time.sleep(0.02)""", 0),
}


@pytest.mark.parametrize("end", ENDS)
def test_an_end_without_close_leaves_nothing(folder, end):
    code, status = ENDS[end]
    process = helpers.start(OPEN + code, folder)
    out, err = process.communicate(timeout=helpers.DEADLINE)
    workers = [int(pid) for pid in out.split()]
    assert len(workers) == 2
    assert process.returncode == status, err
    assert "Exception ignored" not in err and "Fatal" not in err, err
    helpers.wait_until(lambda: not any(map(helpers.alive, workers)), "workers outlive it")
    assert not helpers.leftovers(process.pid)


def test_a_forked_child_reads_and_does_no_harm(folder):
    out = helpers.run(OPEN + """
expected = batch[0].sum().item()
if os.fork() == 0:
    ok = batch[0].sum().item() == expected
    for use in (lambda: next(iter(loader)), loader.stats, lambda: loader.sample_path(0)):
        try:
            use()
            ok = False
        except RuntimeError as e:
            ok = ok and len(str(e)) > 15
    del batch
    loader.close()
    sys.exit(0 if ok else 7)
pid, status = os.wait()
assert os.waitstatus_to_exitcode(status) == 0, status
assert loader.stats()["slots_leased"] == 1
assert sum(len(b[1]) for b in loader) == 50
assert batch is not None
print("fine")
""", folder)
    assert out.endswith("fine\n")


def test_multiprocessing_by_fork_does_no_harm(folder):
    out = helpers.run(OPEN + """
import multiprocessing
with multiprocessing.get_context("fork").Pool(2) as pool:
    sums = pool.map(abs, [-1, -2])
assert sums == [1, 2]
assert sum(len(b[1]) for b in loader) == 50
print("fine")
""", folder)
    assert out.endswith("fine\n")


def test_two_loaders_at_once(folder):
    def loader(seed):
        return Loader(folder, 8, [T.RandomResizedCrop(32)], shuffle=True, seed=seed, workers=2)

    with loader(1) as a, loader(2) as b:
        alone = helpers.digest(a), helpers.digest(b)
    with loader(1) as a, loader(2) as b:
        batches = [[], []]
        for _ in range(2):
            for x, y in zip(a, b):
                batches[0].append(x[0].clone())
                batches[1].append(y[0].clone())
    with loader(1) as a, loader(2) as b:
        assert (helpers.digest(a), helpers.digest(b)) == alone
    assert not torch.equal(torch.cat(batches[0]), torch.cat(batches[1]))


def test_closing_from_another_thread_ends_a_waiting_next(make_loader):
    loader = make_loader()
    stop_workers(loader)
    thread, errors = take_until_dry(loader)
    helpers.wait_until(lambda: loader.stats()["slots_leased"] == 0 and no_progress(loader),
                       "it never waits")
    loader.close()
    thread.join(helpers.DEADLINE)
    assert not thread.is_alive() and isinstance(errors[0], ClosedError)


def test_threads_take_turns(make_loader):
    loader = make_loader()
    iterator, ids, lock = iter(loader), [], threading.Lock()

    def take():
        for batch in iterator:
            with lock:
                ids.extend(batch.ids.tolist())

    threads = [threading.Thread(target=take) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(helpers.DEADLINE)
    assert sorted(ids) == list(range(50))


@pytest.fixture
def timer():
    """Calls a function in the main thread, again and again, at no good moment."""
    old = signal.getsignal(signal.SIGALRM)

    def start(function, seconds):
        signal.signal(signal.SIGALRM, lambda *_: function())
        signal.setitimer(signal.ITIMER_REAL, seconds, seconds)

    yield start
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, old)


def test_signals_change_nothing(make_loader, timer):
    expected = helpers.digest(make_loader(shuffle=True), 10)
    count = []
    timer(lambda: count.append(1), 0.0007)
    assert helpers.digest(make_loader(shuffle=True), 10) == expected
    assert count


def test_exceptions_at_any_moment_lose_no_slot(make_loader, timer):
    loader = make_loader(slots=3)
    armed = []

    class Now(Exception):
        pass

    def interrupt():
        if armed:
            armed.clear()
            raise Now

    hits = 0
    end = time.monotonic() + (10 if helpers.LONG else 2)
    timer(interrupt, 0.0011)
    while time.monotonic() < end:
        try:
            armed.append(1)
            for batch in loader:
                batch.ids  # pylint: disable=pointless-statement
        except Now:
            hits += 1
        armed.clear()
    batch = None
    gc.collect()
    assert hits > 20 and loader.stats()["slots_leased"] == 0
    assert sum(len(labels) for _, labels in loader) == 50


def resources():
    """Resident KiB, descriptors, threads, mappings of the pool, children."""
    gc.collect()
    with open("/proc/self/status", encoding="ascii") as file:
        status = dict(line.split(":", 1) for line in file)
    return (int(status["VmRSS"].split()[0]), len(os.listdir("/proc/self/fd")),
            int(status["Threads"]), helpers.pool_mappings(), len(helpers.children(os.getpid())))


def assert_flat(before, after):
    assert after[1:] == before[1:]
    assert after[0] - before[0] < 2048, "resident KiB grew"


def test_epochs_cost_nothing_that_stays(make_loader):
    loader = make_loader(batch_size=25)

    def epochs(n):
        for _ in range(n):
            for _batch in loader:
                pass

    epochs(20)
    before = resources()
    epochs(1000 if helpers.LONG else 200)
    assert_flat(before, resources())


def test_open_and_close_cost_nothing_that_stays(folder):
    def cycles(n):
        for i in range(n):
            loader = Loader(folder, 8, [T.Resize((32, 32))], workers=1, slots=3)
            batch = next(iter(loader))
            if i % 3 == 0:
                del batch
            loader.close()

    cycles(5)
    before = resources()
    cycles(200 if helpers.LONG else 50)
    assert_flat(before, resources())


def test_importing_needs_neither_numpy_nor_torch():
    out = helpers.run("import sys, forebay; print('torch' in sys.modules, 'numpy' in sys.modules)")
    assert out == "False False\n"


def test_interrupted_tests_leave_no_process():
    tests = os.path.dirname(__file__)
    out = helpers.run(f"import sys; sys.path.append({tests!r}); import helpers\n"
                      "print(helpers.start('import time; time.sleep(60)').pid)")
    helpers.wait_until(lambda: not os.path.exists(f"/proc/{int(out)}"), "the end of the process")


def test_no_worker_left_is_no_broken_pipe_which_programs_ignore(folder, monkeypatch):
    monkeypatch.setenv("FOREBAY_WORKER", "/bin/false")
    with Loader(folder, 8, [T.Resize((8, 8))]) as loader:
        with pytest.raises(ChildProcessError, match="no worker is left: .* status 1"):
            next(iter(loader))


@pytest.mark.parametrize("content, text", [(None, "cannot be loaded"), ("", "cannot be loaded")])
def test_a_library_that_is_none_says_so(tmp_path, monkeypatch, content, text):
    path = tmp_path / "libforebay.so.0"
    if content is not None:
        path.write_text(content)
    monkeypatch.setenv("FOREBAY_LIBRARY", str(path))
    process = helpers.start("import forebay")
    _, err = process.communicate(timeout=helpers.DEADLINE)
    assert process.returncode == 1 and "ImportError" in err and text in err


def test_another_library_is_refused(monkeypatch):
    monkeypatch.setenv("FOREBAY_LIBRARY", "libc.so.6")
    process = helpers.start("import forebay")
    _, err = process.communicate(timeout=helpers.DEADLINE)
    assert "ImportError: libc.so.6 is not this version's library" in err
