"""Files that items name."""

from p2pcrawl.slave.media.files_pipeline import FilesPipeline
from p2pcrawl.spiders.loading.parked import FileException

__all__ = ["FileException", "FilesPipeline"]
