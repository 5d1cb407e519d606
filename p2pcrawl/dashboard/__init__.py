"""Dashboard: the page that each peer serves at ``/``: plain HTML, CSS and ES modules, as package data."""
