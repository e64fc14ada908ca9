"""The drafts of v3 of October 2020 and December 2022."""
