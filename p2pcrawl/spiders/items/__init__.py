"""Items: the class that people declare them with, what fills them, and the form in which they travel."""
