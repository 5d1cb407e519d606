"""Figures of what goes on, counted cheaply and in bounded memory."""
