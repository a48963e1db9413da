# SPDX-License-Identifier: Apache-2.0
"""A plain loader in Python: the same order, boxes and pixels by numpy and Pillow.

Written from the rules in lib/order.h, lib/rng.h and workers/view.h, not from the code.
"""
import math

import numpy as np
from PIL import Image

MASK = 2**64 - 1
ORDER = 2**32


def draw(seed, epoch, position, op, number):
    """Four numbers; numpy steps its counter before it draws."""
    counter = (number | op << 64 | position << 128 | epoch << 192) - 1
    generator = np.random.Philox(counter=counter % 2**256, key=seed)
    return [int(x) for x in generator.random_raw(4)]


def unit(number):
    return (number >> 11) * 2.0**-53


def scramble(x):
    x = (x ^ x >> 33) * 0xff51afd7ed558ccd & MASK
    x = (x ^ x >> 33) * 0xc4ceb9fe1a85ec53 & MASK
    return x ^ x >> 33


def order(n, seed, epoch):
    """The shuffled samples of an epoch."""
    key = draw(seed, epoch, 0, ORDER, 0) + draw(seed, epoch, 0, ORDER, 1)
    bits = max(8, (n - 1).bit_length())
    right_bits = bits - bits // 2
    left_mask, right_mask = 2**(bits // 2) - 1, 2**right_bits - 1

    def permute(x):
        left, right = x >> right_bits, x & right_mask
        for i in range(0, 8, 2):
            left ^= scramble(right ^ key[i]) & left_mask
            right ^= scramble(left ^ key[i + 1]) & right_mask
        return left << right_bits | right

    result = []
    for x in range(n):
        x = permute(x)
        while x >= n:
            x = permute(x)
        result.append(x)
    return result


def random_box(size, scale, ratio, numbers):
    """left, top, right, bottom of a RandomResizedCrop; numbers(t) gives the t-th draw."""
    width, height = size
    low, high = math.log(ratio[0]), math.log(ratio[1])
    for t in range(10):
        n = numbers(t)
        area = height * width * (scale[0] + (scale[1] - scale[0]) * unit(n[0]))
        aspect = math.exp(low + (high - low) * unit(n[1]))
        w, h = round(math.sqrt(area * aspect)), round(math.sqrt(area / aspect))
        if 0 < w <= width and 0 < h <= height:
            top, left = n[2] * (height - h + 1) >> 64, n[3] * (width - w + 1) >> 64
            return left, top, left + w, top + h
    w, h = width, height
    if width / height < ratio[0]:
        h = min(height, max(1, round(width / ratio[0])))
    elif width / height > ratio[1]:
        w = min(width, max(1, round(height * ratio[1])))
    left, top = (width - w) // 2, (height - h) // 2
    return left, top, left + w, top + h


def make(path, pipeline, seed, epoch, position):
    """One image by Pillow, RGB, of the operations that change its geometry."""
    image = Image.open(path).convert("RGB")
    for op, t in enumerate(pipeline):
        name = type(t).__name__
        if name == "RandomResizedCrop":
            box = random_box(image.size, t.scale, t.ratio,
                             lambda number, op=op: draw(seed, epoch, position, op, number))
            image = image.crop(box).resize(t.size[::-1], Image.BILINEAR)
        elif name == "Resize" and not isinstance(t.size, int):
            image = image.resize(t.size[::-1], Image.BILINEAR)
        elif name == "RandomHorizontalFlip":
            if unit(draw(seed, epoch, position, op, 0)[0]) < t.p:
                image = image.transpose(Image.FLIP_LEFT_RIGHT)
        else:
            raise NotImplementedError(name)
    return np.array(image).transpose(2, 0, 1)


def batches(files, batch_size, pipeline, seed, epoch):
    """(images, ids) of each batch of a shuffled epoch; files[id] is (path, label)."""
    ids = order(len(files), seed, epoch)
    for first in range(0, len(ids), batch_size):
        part = ids[first:first + batch_size]
        yield np.stack([make(files[i][0], pipeline, seed, epoch, first + row)
                        for row, i in enumerate(part)]), part
