"""The parts that a request is made of, in the forms that people write them: headers, cookies, queries, curl's words."""
