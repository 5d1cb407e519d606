"""The terminal: words, figures, progress, logs, and the options that verbs share."""
