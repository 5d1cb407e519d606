"""Small functions, in the modules where people look for them."""
