"""The boards of jobs, as masters read them"""
