# SPDX-License-Identifier: Apache-2.0
"""A maker of samples to talk to, and the geometry computed a second time.

The rules are those of workers/view.h; the random numbers are numpy's Philox.
"""
import math
import os
import subprocess

import numpy
import PIL

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("FOREBAY_BUILD", os.path.join(TOP, "build"))
PILLOW = 13 if int(PIL.__version__.split(".")[0]) >= 13 else 12

U8, F16, BF16, F32 = range(4)
CONTIGUOUS, CHANNELS_LAST = range(2)
CROP, RESIZE, EXACT, CENTER, FLIP, NORMALIZE = range(1, 7)


def random_crop(size, scale=(0.08, 1.0), ratio=(3 / 4, 4 / 3)):
    return (CROP, size, size, *scale, *ratio)


class Maker:
    """The program tests/maker-cli of the build folder, as long as it is wanted."""

    def __init__(self, isa=None):
        env = dict(os.environ, **({"FOREBAY_ISA": isa} if isa else {}))
        self.child = subprocess.Popen([os.path.join(BUILD, "tests", "maker-cli")], env=env,
                                      stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def close(self):
        self.child.stdin.close()
        self.child.stdout.close()
        return self.child.wait(timeout=20)

    def say(self, *words):
        text = " ".join(repr(w) if isinstance(w, float) else str(w) for w in words)
        self.child.stdin.write(text.encode() + b"\n")

    def make(self, path, ops, *, dtype=U8, memory_format=CONTIGUOUS, pillow=PILLOW,
             seed=0, epoch=0, position=0):
        """Bytes of the image; ValueError with the reason where there is none."""
        self.say("set dtype", dtype)
        self.say("set memory_format", memory_format)
        self.say("set pillow", pillow)
        self.say("clear")
        for op in ops:
            self.say("op", *op)
        self.say("make", seed, epoch, position, os.path.abspath(path))
        self.child.stdin.flush()
        word, _, rest = self.child.stdout.readline().decode().strip().partition(" ")
        if word != "good":
            raise ValueError(f"{word}: {rest}")
        return self.child.stdout.read(int(rest))


def draw(seed, epoch, position, op, number):
    """Four numbers of 64 bits: numpy steps its counter before it uses it."""
    mask = (1 << 64) - 1
    counter = (number | op << 64 | position << 128 | epoch << 192) - 1
    counter %= 1 << 256
    words = [counter >> (64 * i) & mask for i in range(4)]
    generator = numpy.random.Philox(counter=numpy.array(words, dtype=numpy.uint64),
                                    key=numpy.array([seed, 0], dtype=numpy.uint64))
    return [int(n) for n in generator.random_raw(4)]


def unit(number):
    return (number >> 11) * 2.0 ** -53


def below(number, n):
    return number * n >> 64


def flips(p, seed, epoch, position, op):
    return unit(draw(seed, epoch, position, op, 0)[0]) < p


def crop_box(width, height, scale, ratio, seed, epoch, position, op):
    """left, top, width, height of RandomResizedCrop's box."""
    low, high = math.log(ratio[0]), math.log(ratio[1])
    for number in range(10):
        n = draw(seed, epoch, position, op, number)
        area = height * width * (scale[0] + (scale[1] - scale[0]) * unit(n[0]))
        aspect = math.exp(low + (high - low) * unit(n[1]))
        w, h = round(math.sqrt(area * aspect)), round(math.sqrt(area / aspect))
        if 0 < w <= width and 0 < h <= height:
            return below(n[3], width - w + 1), below(n[2], height - h + 1), w, h
    w, h = width, height
    if width / height < ratio[0]:
        h = min(max(round(w / ratio[0]), 1), height)
    elif width / height > ratio[1]:
        w = min(max(round(h * ratio[1]), 1), width)
    return (width - w) // 2, (height - h) // 2, w, h
