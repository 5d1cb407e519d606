"""Images that items name."""

from p2pcrawl.slave.media.images_pipeline import ImageException, ImagesPipeline

__all__ = ["ImageException", "ImagesPipeline"]
