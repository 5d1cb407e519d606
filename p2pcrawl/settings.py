"""Settings that are still being chosen, as people's code sees them."""

from p2pcrawl.model.choosing.ranked_settings import RANKS as SETTINGS_PRIORITIES
from p2pcrawl.model.choosing.ranked_settings import RankedSettings as BaseSettings
from p2pcrawl.spiders.loading.project_settings import ProjectSettings as Settings

__all__ = ["SETTINGS_PRIORITIES", "BaseSettings", "Settings"]
