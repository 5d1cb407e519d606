"""Items as rows of typed columns, whichever file they go to."""
