"""The rules of taking buckets over: who has to let go and to hear first, and what may be said of epochs then."""
