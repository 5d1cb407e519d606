"""Peak memory and time of a million items on their way into a file or into parts, each kind in a process of its own.

python -m benchmarks.sink_memory                # all kinds, into a temporary folder
python -m benchmarks.sink_memory items.parquet --items 100000
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.kit.measure import Claims
from benchmarks.kit.parent import ends_with_us
from p2pcrawl.stores.kinds import SinkPlace, address_of, make_sink, read_sink
from p2pcrawl.stores.sink import BatchLimits, SinkPage

KINDS = (
    *("items.jsonl", "items.jsonl.zst", "items.parquet"),
    *("file://{}/lines/items.jsonl.zst", "file://{}/table/items.csv.gz", "file://{}/rows/items.parquet"),
)
ITEMS = 1_000_000
ON_A_PAGE = 20
PEAK_MAX_MB = 300
TEXT = "The quick brown fox jumps over the lazy dog, and what it says is of no interest to anybody at all. "


def pages(items: int) -> Iterator[SinkPage]:
    """Yields pages with 20 items of some 330 bytes each."""
    for number in range(0, items, ON_A_PAGE):
        url = f"https://shop.example/books/{number}"
        told = [
            {
                "url": url,
                "title": f"Book number {each} of a long series",
                "price": each % 5000 / 100,
                "stock": each % 17,
                "available": each % 3 > 0,
                "tags": ["book", f"shelf {each % 100}"],
                "description": f"{each} {TEXT}"[: 80 + each % 60],
            }
            for each in range(number, min(number + ON_A_PAGE, items))
        ]
        yield SinkPage("ab" * 16, f"{number:032x}", url, 0, 1_700_000_000, [json.dumps(each).encode() for each in told])


def batches(items: int, limits: BatchLimits) -> Iterator[list[SinkPage]]:
    """Yields pages in batches as a sink wants them."""
    batch: list[SinkPage] = []
    count = size = 0
    for page in pages(items):
        batch.append(page)
        count, size = count + len(page.items), size + sum(map(len, page.items))
        if count >= limits.items or size >= limits.bytes:
            yield batch
            batch, count, size = [], 0, 0
    yield batch


async def bring(address: str, items: int) -> None:
    """Brings so many items to a sink, as a master does, and tells what it took."""
    sink = make_sink(address_of(read_sink(address)), SinkPlace("books", writer="a1"))
    await sink.open(None)
    before_mb = peak_mb()
    begun, cpu = time.perf_counter(), time.process_time()
    for batch in batches(items, sink.limits):
        await sink.write(batch)
    await sink.finish()
    took_s, cpu_s = time.perf_counter() - begun, time.process_time() - cpu
    await sink.close()
    print(json.dumps({"before_mb": before_mb, "peak_mb": peak_mb(), "s": took_s, "cpu_s": cpu_s}))


def peak_mb() -> float:
    """Returns the most memory that this process has had, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> int:
    """Measures the kinds that were asked for, one after another; 1 if one of them took too much."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("kinds", nargs="*", default=KINDS)
    parser.add_argument("--items", type=int, default=ITEMS)
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.here:
        asyncio.run(bring(asked.kinds[0], asked.items))
        return 0
    claims = Claims(f"{asked.items:,} items into files and parts")
    print(f"{asked.items:,} items: the process before, at its peak, and what they took")
    for kind in asked.kinds:
        with tempfile.TemporaryDirectory() as folder:
            address = kind.format(folder) if "://" in kind else f"{folder}/{kind}"
            command = [sys.executable, "-m", "benchmarks.sink_memory", "--here", "--items", str(asked.items), address]
            done = subprocess.run(command, stdout=subprocess.PIPE, preexec_fn=ends_with_us(), check=True)
            told = json.loads(done.stdout)
            size = sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file())
        print(
            f"{kind:36} {told['before_mb']:5.0f} MB {told['peak_mb']:5.0f} MB {told['s']:6.1f} s "
            f"{told['cpu_s'] / asked.items * 1e6:5.1f} us CPU an item, {size / 1e6:6.1f} MB on disk",
            flush=True,
        )
        claims.claim(f"peak, {kind}", f"{told['peak_mb']:.0f} MB", told["peak_mb"] < PEAK_MAX_MB, f"< {PEAK_MAX_MB}")
    return claims.print()


if __name__ == "__main__":
    raise SystemExit(main())
