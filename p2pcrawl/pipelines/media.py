"""The base of pipelines that have files fetched for items."""

from p2pcrawl.slave.media.media_pipeline import MediaPipeline
from p2pcrawl.spiders.loading.parked import FileException

__all__ = ["FileException", "MediaPipeline"]
