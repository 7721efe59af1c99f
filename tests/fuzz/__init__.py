"""Damaged files of every kind that is read from elsewhere, and the laws that hold for any bytes."""
