"""The operations of the API, one value each: routes, guards, the document and its tests are made from this table."""
