"""Media: the files and images that items name, the pipelines that have them fetched, and the places that keep them."""
