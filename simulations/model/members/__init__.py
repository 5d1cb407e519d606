"""The promises of members to each other: who is there, who has a vote, and who may serve."""
