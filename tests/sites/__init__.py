"""Sites on loopback that the tests crawl. Their HTTP is that of p2pcrawl.demo.server."""
