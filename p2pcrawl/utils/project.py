"""The project at hand."""

from p2pcrawl.spiders.loading.projects import inside_project
from p2pcrawl.spiders.loading.projects import project_settings as get_project_settings

__all__ = ["get_project_settings", "inside_project"]
