"""Serves moto's S3 on a free port of loopback, with one bucket, until it is killed; prints the port."""

from __future__ import annotations

import logging
import time

import boto3
from moto.server import ThreadedMotoServer

logging.getLogger("werkzeug").setLevel(logging.ERROR)
server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
host, port = server.get_host_and_port()
boto3.client(
    "s3",
    endpoint_url=f"http://{host}:{port}",
    region_name="us-east-1",
    aws_access_key_id="k",
    aws_secret_access_key="s",
).create_bucket(Bucket="crawls")
print(port, flush=True)
while True:
    time.sleep(3600)
