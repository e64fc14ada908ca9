"""Other implementations read what we write, and we read what they write."""
