"""Exporters: what writes items into an open file from people's own pipelines."""

from p2pcrawl.spiders.items.exporting import (
    BaseItemExporter,
    CsvItemExporter,
    JsonItemExporter,
    JsonLinesItemExporter,
    PprintItemExporter,
    PythonItemExporter,
    XmlItemExporter,
)

__all__ = [
    "BaseItemExporter",
    "CsvItemExporter",
    "JsonItemExporter",
    "JsonLinesItemExporter",
    "PprintItemExporter",
    "PythonItemExporter",
    "XmlItemExporter",
]
