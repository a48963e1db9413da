# SPDX-License-Identifier: Apache-2.0
"""Pixels: what forebay's maker gives equals torchvision on the Pillow that is here."""
import io
import itertools
import os
import random
import struct
import subprocess
import zlib

import numpy
import pytest
from PIL import Image

import maker as m

torch = pytest.importorskip("torch")
transforms = pytest.importorskip("torchvision.transforms")
functional = transforms.functional

pytestmark = pytest.mark.skipif(not os.path.exists(os.path.join(m.BUILD, "tests", "maker-cli")),
                                reason="tests/maker-cli is not built")
BILINEAR = transforms.InterpolationMode.BILINEAR
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
SAMPLINGS = {"444": (1, 1), "422": (2, 1), "420": (2, 2), "440": (1, 2), "411": (4, 1),
             "410": (4, 2), "441": (1, 4)}
SIZES = [(500, 375), (333, 500), (97, 61), (64, 48), (33, 17), (16, 16), (9, 8), (3, 5), (1, 1),
         (1, 40), (40, 1)]


@pytest.fixture(scope="module")
def maker():
    it = m.Maker()
    yield it
    assert it.close() == 0


def photo(width, height, mode="RGB", seed=0):
    """Waves, an edge and a little noise: something for every frequency."""
    y, x = numpy.mgrid[0:height, 0:width]
    noise = numpy.random.default_rng(seed)
    bands = []
    for k in range(len(Image.new(mode, (1, 1)).getbands())):
        wave = 90 * numpy.sin(x / (3 + 2 * k) + seed) + 70 * numpy.cos(y / (5 - k))
        wave += 60 * ((x + y * (k + 1)) % 37 > 18) + noise.normal(0, 12, (height, width))
        bands.append(numpy.clip(wave + 110, 0, 255).astype(numpy.uint8))
    return Image.fromarray(numpy.squeeze(numpy.dstack(bands)).reshape(
        (height, width) if len(bands) == 1 else (height, width, -1)), mode)


def save_jpeg(path, image, sampling="444", **how):
    image.save(path, "JPEG", quality=88, subsampling={"444": 0, "422": 1, "420": 2}[sampling], **how)


def make_jpeg(path, size, sampling, colours, progressive=0, restart=0, seed=0):
    """A file of a kind that Pillow does not write."""
    words = [*size, *SAMPLINGS[sampling], colours, int(progressive), restart, seed]
    made = subprocess.run([os.path.join(m.BUILD, "tests", "make-jpeg"), *map(str, words)],
                          stdout=subprocess.PIPE, check=True)
    path.write_bytes(made.stdout)


def reference(path, box, size, mirrored):
    """torchvision's image of a box of a file."""
    left, top, width, height = box
    with Image.open(path) as image:
        image = functional.resized_crop(image.convert("RGB"), top, left, height, width,
                                        [size, size], BILINEAR)
    return functional.hflip(image) if mirrored else image


def check_crops(maker, path, size=48, n=6, seed=5):
    with Image.open(path) as image:
        width, height = image.size
    for position in range(n):
        scale = (0.02, 0.3) if position % 2 else (0.08, 1.0)
        ops = [m.random_crop(size, scale), (m.FLIP, 0.5)]
        got = maker.make(path, ops, seed=seed, epoch=2, position=position)
        box = m.crop_box(width, height, scale, (3 / 4, 4 / 3), seed, 2, position, 0)
        want = reference(path, box, size, m.flips(0.5, seed, 2, position, 1))
        want = numpy.asarray(want).transpose(2, 0, 1)
        got = numpy.frombuffer(got, numpy.uint8).reshape(want.shape)
        assert (got == want).all(), (path, box, numpy.argwhere(got != want)[:4])


@pytest.mark.parametrize("progressive", [False, True])
@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_crops_of_every_sampling_equal_torchvision(maker, tmp_path, sampling, progressive):
    for k, size in enumerate(SIZES):
        path = tmp_path / f"{size}.jpg"
        make_jpeg(path, size, sampling, "ycc", progressive, seed=k)
        check_crops(maker, path)


@pytest.mark.parametrize("sampling", ["444", "420"])
@pytest.mark.parametrize("colours", ["rgb", "cmyk", "ycck"])
def test_crops_of_every_colour_space_equal_torchvision(maker, tmp_path, colours, sampling):
    for k, size in enumerate(SIZES[:6]):
        path = tmp_path / f"{size}.jpg"
        make_jpeg(path, size, sampling, colours, seed=k)
        check_crops(maker, path)


def test_restart_markers_change_nothing(maker, tmp_path):
    make_jpeg(tmp_path / "a.jpg", (130, 97), "420", "ycc", restart=3)
    check_crops(maker, tmp_path / "a.jpg")


@pytest.mark.parametrize("mode", ["L", "CMYK"])
@pytest.mark.parametrize("progressive", [False, True])
def test_crops_of_grey_and_cmyk_jpegs_equal_torchvision(maker, tmp_path, mode, progressive):
    for k, (width, height) in enumerate(SIZES):
        path = tmp_path / f"{width}x{height}.jpg"
        photo(width, height, mode, k).save(path, "JPEG", quality=90, progressive=progressive)
        check_crops(maker, path)


def test_crops_of_every_size_equal_torchvision(maker, tmp_path):
    for k, (size, sampling) in enumerate(itertools.product([7, 50, 113, 224, 320], ["444", "420"])):
        path = tmp_path / f"{k}.jpg"
        save_jpeg(path, photo(401, 287, seed=k), sampling)
        check_crops(maker, path, size, n=8, seed=k)


def test_photographs_equal_torchvision(maker):
    folder = os.path.join(m.TOP, "..", "shared", "data", "imagenet")
    if not os.path.isdir(folder):
        pytest.skip("no photographs here")
    paths = sorted(os.path.join(where, name) for where, _, names in os.walk(folder)
                   for name in names)
    for path in random.Random(3).sample(paths, 40):
        check_crops(maker, path, 224, n=2)


@pytest.mark.parametrize("size", [(500, 375), (375, 500), (256, 256), (257, 300), (100, 80), (90, 700),
                                  (223, 900), (224, 224)])
def test_resize_and_centre_crop_equal_torchvision(maker, tmp_path, size):
    path = tmp_path / "a.jpg"
    save_jpeg(path, photo(*size), "420")
    whole = transforms.Compose([transforms.Resize(256), transforms.CenterCrop(224)])
    with Image.open(path) as image:
        want = numpy.asarray(whole(image.convert("RGB"))).transpose(2, 0, 1)
    got = maker.make(path, [(m.RESIZE, 256), (m.CENTER, 224, 224)])
    assert got == want.tobytes()


@pytest.mark.parametrize("ops,there", [
    ([(m.CENTER, 60, 80)], [transforms.CenterCrop((60, 80))]),
    ([(m.CENTER, 61, 301)], [transforms.CenterCrop((61, 301))]),
    ([(m.RESIZE, 40), (m.CENTER, 90, 91)], [transforms.Resize(40), transforms.CenterCrop((90, 91))]),
    ([(m.EXACT, 31, 77)], [transforms.Resize((31, 77))]),
    ([(m.EXACT, 99, 133)], [transforms.Resize((99, 133))]),
    ([(m.EXACT, 300, 40), (m.CENTER, 101, 30)], [transforms.Resize((300, 40)),
                                                 transforms.CenterCrop((101, 30))]),
    ([(m.FLIP, 1), (m.EXACT, 50, 51)], [transforms.RandomHorizontalFlip(1), transforms.Resize((50, 51))]),
    ([(m.FLIP, 1), (m.CENTER, 50, 52)], [transforms.RandomHorizontalFlip(1),
                                         transforms.CenterCrop((50, 52))]),
    ([(m.CENTER, 50, 52), (m.FLIP, 1)], [transforms.CenterCrop((50, 52)),
                                         transforms.RandomHorizontalFlip(1)]),
    ([(m.RESIZE, 60), (m.FLIP, 1), (m.CENTER, 51, 52)],
     [transforms.Resize(60), transforms.RandomHorizontalFlip(1), transforms.CenterCrop((51, 52))]),
    ([(m.RESIZE, 40), (m.CENTER, 91, 92), (m.FLIP, 1)],
     [transforms.Resize(40), transforms.CenterCrop((91, 92)), transforms.RandomHorizontalFlip(1)]),
    ([(m.FLIP, 1), (m.RESIZE, 60), (m.FLIP, 1), (m.CENTER, 51, 51), (m.FLIP, 1)],
     [transforms.RandomHorizontalFlip(1), transforms.Resize(60), transforms.RandomHorizontalFlip(1),
      transforms.CenterCrop((51, 51)), transforms.RandomHorizontalFlip(1)]),
])
def test_every_order_of_operations_equals_torchvision(maker, tmp_path, ops, there):
    path = tmp_path / "a.jpg"
    save_jpeg(path, photo(133, 99), "422")
    with Image.open(path) as image:
        want = numpy.asarray(transforms.Compose(there)(image.convert("RGB"))).transpose(2, 0, 1)
    assert maker.make(path, ops) == want.tobytes()


def test_flip_before_a_random_crop_mirrors_the_photograph(maker, tmp_path):
    path = tmp_path / "a.jpg"
    save_jpeg(path, photo(133, 99), "444")
    got = maker.make(path, [(m.FLIP, 1), m.random_crop(40)], seed=4)
    left, top, width, height = m.crop_box(133, 99, (0.08, 1.0), (3 / 4, 4 / 3), 4, 0, 0, 1)
    with Image.open(path) as image:
        want = functional.resized_crop(functional.hflip(image), top, left, height, width,
                                       [40, 40], BILINEAR)
    assert got == numpy.asarray(want).transpose(2, 0, 1).tobytes()


def png_bytes(width, height, bits, colour, rows, palette=b"", extra=()):
    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
    head = struct.pack(">IIBBBBB", width, height, bits, colour, 0, 0, 0)
    body = b"".join(b"\0" + row for row in rows)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + (chunk(b"PLTE", palette) if palette else b"") +
            b"".join(chunk(*e) for e in extra) + chunk(b"IDAT", zlib.compress(body)) + chunk(b"IEND", b""))


@pytest.mark.parametrize("bits,colour", [(1, 0), (2, 0), (4, 0), (8, 0), (8, 2), (16, 2), (1, 3), (2, 3),
                                         (4, 3), (8, 3), (8, 4), (16, 4), (8, 6), (16, 6)])
def test_crops_of_every_png_kind_equal_torchvision(maker, tmp_path, bits, colour):
    width, height = 77, 53
    channels = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}[colour]
    noise = random.Random(bits * 10 + colour)
    rows = [noise.randbytes((width * channels * bits + 7) // 8) for _ in range(height)]
    palette = noise.randbytes(3 * (1 << bits)) if colour == 3 else b""
    extra = [(b"tRNS", b"\x10\x80")] if colour == 3 else []
    path = tmp_path / "a.png"
    path.write_bytes(png_bytes(width, height, bits, colour, rows, palette, extra))
    check_crops(maker, path)


def test_a_png_under_a_jpegs_name_is_read(maker, tmp_path):
    path = tmp_path / "a.JPEG"
    photo(60, 41).save(path, "PNG")
    check_crops(maker, path)


def to_bytes(tensor):
    if tensor.dtype == torch.bfloat16:
        tensor = tensor.view(torch.int16)
    return tensor.numpy().tobytes()


@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("dtype", [m.F16, m.BF16, m.F32])
@pytest.mark.parametrize("memory_format", [m.CONTIGUOUS, m.CHANNELS_LAST])
def test_numbers_equal_torchvision(maker, tmp_path, dtype, memory_format, normalize):
    path = tmp_path / "a.png"
    ramp = numpy.arange(256 * 256, dtype=numpy.uint32)
    Image.fromarray(numpy.dstack([ramp % 256, ramp // 256, (ramp * 7 + 3) % 256]).astype(
        numpy.uint8).reshape(256, 256, 3)).save(path)
    with Image.open(path) as image:
        want = functional.to_tensor(image)
    if normalize:
        want = functional.normalize(want, MEAN, STD)
    want = want.to({m.F16: torch.float16, m.BF16: torch.bfloat16, m.F32: torch.float32}[dtype])
    if memory_format == m.CHANNELS_LAST:
        want = want.permute(1, 2, 0).contiguous()
    ops = [(m.EXACT, 256, 256)] + ([(m.NORMALIZE, *MEAN, *STD)] if normalize else [])
    assert maker.make(path, ops, dtype=dtype, memory_format=memory_format) == to_bytes(want)


def test_padding_is_normalised_like_black(maker, tmp_path):
    path = tmp_path / "a.png"
    photo(20, 20).save(path)
    with Image.open(path) as image:
        want = functional.normalize(functional.to_tensor(functional.center_crop(image, [31, 30])), MEAN, STD)
    got = maker.make(path, [(m.CENTER, 31, 30), (m.NORMALIZE, *MEAN, *STD)], dtype=m.F32)
    assert got == to_bytes(want)


def test_channels_last_bytes_are_the_same_pixels(maker, tmp_path):
    path = tmp_path / "a.jpg"
    save_jpeg(path, photo(90, 70))
    planes = maker.make(path, [m.random_crop(33)])
    pixels = maker.make(path, [m.random_crop(33)], memory_format=m.CHANNELS_LAST)
    planes = numpy.frombuffer(planes, numpy.uint8).reshape(3, 33, 33)
    assert planes.transpose(1, 2, 0).tobytes() == pixels


def test_both_instruction_sets_give_the_same_bytes(maker, tmp_path):
    plain = m.Maker("x86-64")
    path = tmp_path / "a.jpg"
    save_jpeg(path, photo(301, 200), "420")
    for position in range(20):
        ops = [m.random_crop(10 + 9 * position), (m.FLIP, 0.5)]
        assert plain.make(path, ops, position=position) == maker.make(path, ops, position=position)
    plain.close()


@pytest.mark.parametrize("pillow", [12, 13])
def test_the_order_of_the_passes_is_that_of_the_pillow_asked_for(maker, tmp_path, pillow):
    """Bytes between the passes are Pillow's too, so each order can be made of two resizes."""
    path = tmp_path / "a.png"
    image = photo(61, 400)
    image.save(path)
    step = (50, 400) if pillow == 12 else (61, 90)
    want = image.resize(step, Image.BILINEAR).resize((50, 90), Image.BILINEAR)
    got = maker.make(path, [(m.EXACT, 90, 50)], pillow=pillow)
    assert got == numpy.asarray(want).transpose(2, 0, 1).tobytes()


@pytest.mark.parametrize("name,data,reason", [
    ("empty.jpg", b"", "empty"),
    ("a.jpg", b"GIF89a" + bytes(50), "GIF"),
    ("b.jpg", b"RIFF\0\0\0\0WEBPVP8 ", "WebP"),
    ("c.jpg", b"hello world", "68 65 6c 6c"),
    ("d.jpg", b"\xff\xd8\xff\xe0" + bytes(40), "JPEG"),
    ("e.png", b"\x89PNG\r\n\x1a\n" + bytes(40), "PNG"),
])
def test_what_is_no_photograph_is_named(maker, tmp_path, name, data, reason):
    (tmp_path / name).write_bytes(data)
    with pytest.raises(ValueError, match=reason):
        maker.make(tmp_path / name, [m.random_crop(8)])


def test_a_file_without_its_end_is_bad_but_one_without_its_end_marker_is_not(maker, tmp_path):
    data = io.BytesIO()
    photo(200, 150).save(data, "JPEG")
    data = data.getvalue()
    (tmp_path / "half.jpg").write_bytes(data[:len(data) // 2])
    (tmp_path / "marker.jpg").write_bytes(data[:-2])
    (tmp_path / "whole.jpg").write_bytes(data)
    (tmp_path / "more.jpg").write_bytes(data[:-2] + b"extra" + data[-2:] + b"more")
    ops = [(m.EXACT, 20, 20)]
    with pytest.raises(ValueError, match="bad: JPEG"):
        maker.make(tmp_path / "half.jpg", ops)
    whole = maker.make(tmp_path / "whole.jpg", ops)
    assert maker.make(tmp_path / "marker.jpg", ops) == whole
    assert maker.make(tmp_path / "more.jpg", ops) == whole
