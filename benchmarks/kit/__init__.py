"""Sites, peers, spiders and strangers in processes of their own, and how they are watched and weighed."""
