"""`/api`: the questions of the viewer about nodes, and windows of elements."""
