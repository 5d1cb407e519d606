"""Messages between peers: bytes in, typed values out. What does not fit is refused here."""
