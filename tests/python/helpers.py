# SPDX-License-Identifier: Apache-2.0
"""Photographs on the spot, digests, and questions about processes."""
import atexit
import hashlib
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from PIL import Image

LONG = os.environ.get("FOREBAY_LONG") == "1"
DEADLINE = 30


def photograph(i, height, width):
    """A picture with smooth and sharp parts, of its own for each i."""
    rng = np.random.default_rng(i)
    small = rng.integers(0, 256, (5, 6, 3), dtype=np.uint8)
    image = np.asarray(Image.fromarray(small).resize((width, height), Image.BICUBIC), np.int16)
    image = image + rng.integers(-12, 13, image.shape)
    image[height // 3:height // 2, width // 4:width // 2] = rng.integers(0, 256, 3)
    return Image.fromarray(np.clip(image, 0, 255).astype(np.uint8))


def subsampling(kind):
    """Pillow's word for a chroma sampling."""
    return {"4:4:4": 0, "4:2:2": 1, "4:2:0": 2}.get(kind, 2)


def make_folder(path, count, classes, size=(60, 80)):
    """path/classK/NNN.jpg: odd sizes, three samplings, some grey, some progressive."""
    for i in range(count):
        where = Path(path) / f"class{i * classes // count}"
        where.mkdir(parents=True, exist_ok=True)
        image = photograph(i, size[0] + i % 7, size[1] + i % 5)
        if i % 10 == 9:
            image = image.convert("L")
        image.save(where / f"{i:03d}.jpg", quality=90, subsampling=i % 3, progressive=i % 4 == 3)
    return str(path)


def digest(loader, epochs=2):
    """Over ids, labels and pixels of every batch, in order."""
    h = hashlib.sha256()
    for _ in range(epochs):
        for batch in loader:
            for tensor in (batch.ids, batch[1], batch[0]):
                h.update(tensor.numpy().tobytes())
    return h.hexdigest()


def count(batches):
    """How many there are; keeps none."""
    return sum(1 for _ in batches)


def wait_until(condition, what):
    """Waits for an event, with a deadline."""
    end = time.monotonic() + DEADLINE
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0.005)


def workers(loader):
    """pids of all workers, once all have started."""
    wait_until(lambda: all(loader.worker_pids()), "workers do not start")
    return loader.worker_pids()


def children(pid):
    """Processes whose parent is `pid`: {pid: name}."""
    found = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                text = Path("/proc", entry, "stat").read_text(errors="replace")
            except OSError:
                continue
            name, rest = text[text.index("(") + 1:].rsplit(")", 1)
            if int(rest.split()[1]) == pid:
                found[int(entry)] = name
    return found


def leftovers(pid):
    """Workers and names of the process `pid`."""
    names = [n for n in os.listdir("/dev/shm") if n.startswith(f"forebay-{os.getuid()}-{pid}-")]
    return names + [c for c, name in children(pid).items() if name.startswith("forebay")]


def alive(pid):
    """Whether a process is there and no zombie."""
    try:
        return Path("/proc", str(pid), "stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def pool_mappings():
    """How many pieces of forebay's shared memory this process maps."""
    lines = Path("/proc/self/maps").read_text().splitlines()
    return sum("forebay-" in line and "(deleted)" in line for line in lines)


def start(code, *args):
    """Runs Python code in a process of its own, which no Ctrl-C reaches: it ends with us."""
    # pylint: disable-next=consider-using-with
    process = subprocess.Popen([sys.executable, "-c", code, *args], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, start_new_session=True)
    atexit.register(process.kill)
    return process


def run(code, *args):
    """The same to its end: what it wrote; it must succeed."""
    process = start(code, *args)
    out, err = process.communicate(timeout=2 * DEADLINE)
    assert process.returncode == 0, err
    return out
