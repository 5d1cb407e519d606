"""``python -m p2pcrawl`` is the command ``p2pcrawl``."""

from p2pcrawl.cli import main

if __name__ == "__main__":
    main()
