"""The catalogue of mutants, a module for each area of the protocol."""
