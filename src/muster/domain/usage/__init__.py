"""What jobs used of what they held: series, reports and advice."""
