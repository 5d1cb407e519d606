"""Links between masters: on their way out, taken in, and kept while too few hold them."""
