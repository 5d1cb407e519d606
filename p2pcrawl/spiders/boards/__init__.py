"""Boards: crawls that are described in a file of TOML instead of code, and the spider that keeps to one."""
