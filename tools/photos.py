#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a folder of synthetic photographs: FOLDER/class/name.JPEG.

For the demo and the tests.  Needs numpy and Pillow.  The same arguments give the
same pictures, and with the same versions of numpy and Pillow the same bytes.

A class is a shape and a colour, drawn at a random place, size and tone on a blurred
background with light, grain and clutter: a small network learns it within a few
epochs, and no picture compresses better than a photograph does.  Sizes, qualities
and chroma samplings vary as they do in real folders; some files are progressive,
some grey, one is CMYK, and one is a PNG under the name of a JPEG.
"""
import argparse
import multiprocessing
import os
import shutil
import sys

import numpy as np
from PIL import Image, ImageDraw, ImageFilter

SHAPES = ["bars", "checks", "cross", "disc", "dots", "ring", "square", "triangle"]


def noise(rng, size, cells):
    """Smooth grey noise of `size` with about `cells` blobs in width."""
    rows = max(2, cells * size[1] // size[0])
    small = rng.integers(0, 256, (rows, cells), dtype=np.uint8)
    return np.asarray(Image.fromarray(small).resize(size, Image.BICUBIC), dtype=np.float32)


def background(rng, size):
    """Out-of-focus scene: blobs at three scales, light from one side, own tint."""
    grey = 0.6 * noise(rng, size, 4) + 0.3 * noise(rng, size, 14) + 0.1 * noise(rng, size, 60)
    light = np.linspace(rng.uniform(0.5, 1.0), rng.uniform(0.5, 1.0), size[0])
    tint = rng.uniform(0.55, 1.0, 3)
    return (grey * light.astype(np.float32))[..., None] * tint.astype(np.float32)


def colour_of(rng, label, n_classes):
    """A tone of the class's hue."""
    hue = (label / n_classes + rng.normal(0, 0.015)) % 1.0
    saturation, value = rng.uniform(0.6, 0.95), rng.uniform(0.65, 1.0)
    hsv = tuple(int(255 * x) for x in (hue, saturation, value))
    return Image.new("HSV", (1, 1), hsv).convert("RGB").getpixel((0, 0))


def draw_bars(draw, x, y, r):
    for i in range(-4, 5, 2):
        draw.rectangle([x - r, y + r * i / 5 - r / 10, x + r, y + r * i / 5 + r / 10], fill=255)


def draw_checks(draw, x, y, r):
    for i in range(16):
        u, v = x - r + (i % 4) * r / 2, y - r + (i // 4) * r / 2
        if (i + i // 4) % 2:
            draw.rectangle([u, v, u + r / 2, v + r / 2], fill=255)


def draw_cross(draw, x, y, r):
    draw.rectangle([x - r, y - r / 4, x + r, y + r / 4], fill=255)
    draw.rectangle([x - r / 4, y - r, x + r / 4, y + r], fill=255)


def draw_disc(draw, x, y, r):
    draw.ellipse([x - r, y - r, x + r, y + r], fill=255)


def draw_dots(draw, x, y, r):
    for i in range(9):
        u, v = x + (i % 3 - 1) * r * 0.7, y + (i // 3 - 1) * r * 0.7
        draw.ellipse([u - r / 4, v - r / 4, u + r / 4, v + r / 4], fill=255)


def draw_ring(draw, x, y, r):
    draw_disc(draw, x, y, r)
    draw.ellipse([x - r / 2, y - r / 2, x + r / 2, y + r / 2], fill=0)


def draw_square(draw, x, y, r):
    draw.rectangle([x - r * 0.9, y - r * 0.9, x + r * 0.9, y + r * 0.9], fill=255)


def draw_triangle(draw, x, y, r):
    draw.polygon([(x, y - r), (x - r, y + r * 0.8), (x + r, y + r * 0.8)], fill=255)


def picture(rng, label, n_classes, size):
    """One photograph of class `label`, RGB."""
    canvas = background(rng, size)
    mask = Image.new("L", size)
    r = min(size) * rng.uniform(0.28, 0.42)
    x = size[0] * rng.uniform(0.35, 0.65)
    y = size[1] * rng.uniform(0.35, 0.65)
    globals()["draw_" + SHAPES[label % len(SHAPES)]](ImageDraw.Draw(mask), x, y, r)
    mask = mask.filter(ImageFilter.BoxBlur(int(rng.integers(0, 3))))
    alpha = np.asarray(mask, dtype=np.float32)[..., None] / 255
    shade = 0.8 + 0.2 * noise(rng, size, 20)[..., None] / 255
    colour = np.array(colour_of(rng, label, n_classes), dtype=np.float32)
    canvas += alpha * (colour * shade - canvas)
    grain = rng.standard_normal(size[::-1], dtype=np.float32)[..., None]
    canvas += grain * np.float32(rng.uniform(2, 8))
    return Image.fromarray(np.clip(canvas, 0, 255, out=canvas).astype(np.uint8))


def save(rng, image, path, kind):
    """Writes the file as cameras, editors and web sites do."""
    if kind == "png":
        image.save(path, "PNG", compress_level=1)
        return
    if kind in ("L", "CMYK"):
        image = image.convert(kind)
    image.save(path, "JPEG", quality=int(rng.integers(70, 96)),
               subsampling=int(rng.choice([0, 1, 2, 2, 2])),
               progressive=bool(rng.random() < 0.05), optimize=bool(rng.random() < 0.2))


def kind_of(i):
    """A few files, by number, are not what most are."""
    return {5: "png", 11: "CMYK"}.get(i, "L" if i % 40 == 17 else "RGB")


def make_photo(job):
    """Photograph `i` below `part`: a pure function of the job."""
    part, i, classes, seed, width, height = job
    label = i % classes
    rng = np.random.Generator(np.random.PCG64([seed, i]))
    size = [max(16, int(n * rng.uniform(0.75, 1.25))) for n in (width, height)]
    if rng.random() < 0.25:
        size.reverse()
    where = os.path.join(part, f"{label:02d}-{SHAPES[label % len(SHAPES)]}")
    os.makedirs(where, exist_ok=True)
    save(rng, picture(rng, label, classes, tuple(size)),
         os.path.join(where, f"photo-{i:06d}.JPEG"), kind_of(i))


def make_photos(folder, count=1000, classes=8, seed=0, width=400, height=300):
    """Fills `folder`, which must not be there yet; it appears when it is complete."""
    part = folder.rstrip("/") + ".part"
    shutil.rmtree(part, ignore_errors=True)
    jobs = [(part, i, classes, seed, width, height) for i in range(count)]
    with multiprocessing.Pool(min(len(os.sched_getaffinity(0)), 1 + count // 50)) as pool:
        for _ in pool.imap_unordered(make_photo, jobs, chunksize=16):
            pass
    os.rename(part, folder)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("folder")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--classes", type=int, default=8)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--width", type=int, default=400, help="mean width")
    parser.add_argument("--height", type=int, default=300, help="mean height")
    arg = parser.parse_args()
    if arg.count < 1 or arg.classes < 1:
        parser.error("count and classes must be positive")
    if os.path.exists(arg.folder):
        print(f"{arg.folder}: there already, left as it is", file=sys.stderr)
        return 0
    make_photos(arg.folder, arg.count, arg.classes, arg.seed, arg.width, arg.height)
    return 0


if __name__ == "__main__":
    sys.exit(main())
