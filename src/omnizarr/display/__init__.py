"""What people see of nodes: summaries, trees, HTML for notebooks, coloured text for terminals, and previews.

Nothing here imports `Array` or `Group`: they import this package when they are shown.
"""
