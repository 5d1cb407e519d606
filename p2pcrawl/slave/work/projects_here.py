"""The projects of jobs, unpacked once in a slave's process, each in a private folder that goes with the process."""

from __future__ import annotations

from p2pcrawl.model.errors import StorageError
from p2pcrawl.private.passing_folder import PassingFolder
from p2pcrawl.spiders.finding.mount import Mount, mounted
from p2pcrawl.spiders.travelling.bundle import digest_of, write_files


class _Place:
    """The folder that holds all projects of this process; made when the first one comes."""

    folder: PassingFolder | None = None


def project_here(packed: bytes) -> Mount:
    """Returns the project that came with a job, ready to be imported from. Raises ConfigurationError for what is none,
    StorageError where it cannot be unpacked.
    """
    digest = digest_of(packed)
    try:
        if _Place.folder is None:
            _Place.folder = PassingFolder("p2pcrawl-projects-")
        folder = _Place.folder.path / digest[:32]
        if not folder.exists():
            write_files(packed, folder)
    except OSError as error:
        raise StorageError(f"the spider's project cannot be unpacked: {error.strerror}") from error
    return mounted(digest, folder)
