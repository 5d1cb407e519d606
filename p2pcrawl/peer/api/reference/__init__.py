"""The page that shows the document of the API, as a browser gets it: files only, which need nothing from elsewhere."""
