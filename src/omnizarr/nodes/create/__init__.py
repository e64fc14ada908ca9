"""Creating arrays and groups: from the options a user gives to stored documents."""
