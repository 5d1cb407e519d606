"""Raw pages in WARC files: written record by record, cut back to the last whole one after a crash, indexed as CDXJ"""
