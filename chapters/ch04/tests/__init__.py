"""What chapter 4 promises."""
