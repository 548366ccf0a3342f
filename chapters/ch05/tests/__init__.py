"""What chapter 5 promises."""
