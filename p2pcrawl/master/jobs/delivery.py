"""Items from the journal to the outputs, exactly once.

Runs in the storage thread. The order is: write, sync the file, and in the next transaction store how far
it came; ``docs/architecture.md`` tells why that is safe.
"""

from __future__ import annotations

import json

from p2pcrawl.frontier.records.item_table import ITEM_BYTES_MAX
from p2pcrawl.frontier.records.store import Store
from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.model.crawl.sink_spec import SinkSpec
from p2pcrawl.stores.files.local_sink import LocalSink
from p2pcrawl.stores.files.opening import open_local_sink

ROWS = 500


class Delivery:
    """One output of one job."""

    def __init__(self, job: int, path: str, sink: LocalSink, last: int) -> None:
        self.job = job
        self.path = path
        self.last = last
        self.behind = False
        """The last step was as much as one may be: there is probably more."""
        self._sink = sink

    @classmethod
    def open(cls, store: Store, job: int, output: SinkSpec, settings: Settings) -> Delivery:
        """Begins, or goes on where the store says. Raises ConfigurationError for an output that cannot work."""
        fields, safe = settings.feed_export_fields, settings.feed_csv_safe
        for path, spec, last, position in store.sinks(job):
            if path == output.url:
                sink = open_local_sink(path, replace=json.loads(spec)["replace"], fields=fields, csv_safe=safe)
                sink.resume(json.loads(position))
                return cls(job, path, sink, last)
        sink = open_local_sink(output.url, replace=output.replace, fields=fields, csv_safe=safe)
        position_now = sink.resume(None)
        store.add_sink(job, output.url, json.dumps({"replace": output.replace}), position_now)
        return cls(job, output.url, sink, 0)

    def step(self, store: Store) -> tuple[int, str, int, str] | None:
        """Delivers some; what to store about it, or None when there was nothing to deliver."""
        rows = store.items_after(self.job, self.last, ROWS)
        self.behind = len(rows) == ROWS or sum(len(data) for _, data in rows) >= ITEM_BYTES_MAX
        if not rows:
            return None
        for _, data in rows:
            self._sink.write(data.split(b"\n"))
        self.last = rows[-1][0]
        return (self.job, self.path, self.last, json.dumps(self._sink.sync()))

    def finish(self) -> None:
        """Makes the file whole (closing brackets and the like)."""
        self._sink.finish()

    def close(self) -> None:
        self._sink.close()
