"""The messages themselves, each with its bounds, and the codec that makes bytes of them."""
