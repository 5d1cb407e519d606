"""The chain of components that a request passes down and its answer passes up."""
