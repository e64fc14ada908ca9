"""What other programs wrote, stored, and how it was made."""
