"""The base of pipelines that have files fetched for items."""

from p2pcrawl.slave.media.media_pipeline import MediaPipeline

__all__ = ["MediaPipeline"]
