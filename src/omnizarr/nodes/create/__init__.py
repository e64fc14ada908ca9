"""Creating arrays and groups: from a user's options to stored documents."""
