"""The drafts of v3, of October 2020 and of December 2022."""
