#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The demo: trains a small network on a folder of photographs, fed by forebay.

Says how fast that went, how long the trainer waited for data, and what the workers
spent their time on.  `make demo` runs it.
"""
import argparse
import hashlib
import os
import signal
import sys
import time

signal.signal(signal.SIGINT, signal.SIG_DFL)  # torch loads long, and knows no interrupt
# pylint: disable=wrong-import-position
import torch
from torch import nn

from forebay import Loader, transforms as T

signal.signal(signal.SIGINT, signal.default_int_handler)

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def make_model(n_classes):
    """Four convolutions: enough to tell shapes and colours apart."""
    layers, channels = [], 3
    for width in (16, 32, 64, 64):
        layers += [nn.Conv2d(channels, width, 3, stride=2, padding=1),
                   nn.BatchNorm2d(width), nn.ReLU(inplace=True)]
        channels = width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                         nn.Linear(channels, n_classes))


class Meter:
    """Times of each iteration, and the digest of all that was delivered."""

    def __init__(self):
        self.wait, self.iteration, self.images = [], [], 0
        self.digest = hashlib.blake2b(digest_size=16)

    def add(self, images, labels, wait, step):
        self.wait.append(wait)
        self.iteration.append(wait + step)
        self.images += len(labels)
        for tensor in (images, labels):
            self.digest.update(tensor.contiguous().numpy())

    def percentile(self, share):
        return sorted(self.iteration)[min(len(self.iteration) - 1,
                                          int(share * len(self.iteration)))]


def train_epoch(model, optimizer, loader, device, meter):
    """One epoch; returns mean loss and share of right answers."""
    loss_sum = right = n = 0
    batches = iter(loader)
    while True:
        start = time.perf_counter()
        batch = next(batches, None)
        taken = time.perf_counter()
        if batch is None:
            return loss_sum / max(n, 1), right / max(n, 1)
        images, labels = batch
        answer = model(images.to(device))
        loss = nn.functional.cross_entropy(answer, labels.to(device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        loss_sum += float(loss) * len(labels)
        right += int((answer.argmax(1).cpu() == labels).sum())
        n += len(labels)
        meter.add(images, labels, taken - start, time.perf_counter() - taken)


def report(meter, stats):
    total = sum(meter.iteration)
    print(f"\nimages/s         {meter.images / total:10.1f}")
    print("iteration ms     " + "   ".join(
        f"{name} {1000 * value:.1f}" for name, value in (
            ("p50", meter.percentile(0.5)), ("p99", meter.percentile(0.99)),
            ("max", max(meter.iteration)))))
    print(f"waited for data  {sum(meter.wait):10.2f} s, {100 * sum(meter.wait) / total:.1f} % "
          f"of the time; the first batch {1000 * meter.wait[0]:.0f} ms")
    stages = stats["stage_ns"]
    busy = sum(stages.values()) or 1
    print("workers' time    " + "   ".join(
        f"{name} {100 * ns / busy:.0f} %" for name, ns in stages.items()))
    print(f"pool             {stats['pool_bytes'] / 2**20:10.1f} MiB of shared memory")
    print(f"deaths           {stats['deaths']:8d}     of workers; time-outs that were needed: "
          f"{stats['slices_needed']}")
    print(f"digest           {meter.digest.hexdigest()}   of all batches: the same for any "
          "number of workers")


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("folder", help="class/photo.jpg below it")
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--size", type=int, default=96, help="of the crop, in pixels")
    parser.add_argument("--workers", type=int, help="processes; default: one a CPU")
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


def main():
    arg = parse()
    torch.manual_seed(arg.seed)
    torch.set_num_threads(max(1, len(os.sched_getaffinity(0)) // 2))  # workers need the rest
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    pipeline = [T.RandomResizedCrop(arg.size), T.RandomHorizontalFlip(), T.Normalize(MEAN, STD)]
    meter = Meter()
    with Loader(arg.folder, batch_size=arg.batch, pipeline=pipeline, shuffle=True,
                seed=arg.seed, workers=arg.workers or "auto") as loader:
        print(f"{len(loader.dataset)} photographs of {len(loader.classes)} classes, "
              f"{loader.workers} workers, torch {torch.__version__} on {device}, "
              f"{torch.get_num_threads()} thread(s)")
        if len(loader.dataset) < 10 * len(loader.classes):
            print("too few photographs a class to learn anything: look at the speed alone")
        model = make_model(len(loader.classes)).to(device)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.003)
        for epoch in range(arg.epochs):
            loss, right = train_epoch(model, optimizer, loader, device, meter)
            print(f"epoch {epoch}  loss {loss:.3f}  right {100 * right:.1f} %", flush=True)
        report(meter, loader.stats())
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
    except (OSError, ValueError, RuntimeError) as error:
        sys.exit(f"demo: {error}")
