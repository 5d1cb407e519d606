"""The types of pages on real pages: how many are told right, and the fit of the weights."""
