"""The reader's desk: chapters to read, exercises to do, questions to answer, progress to keep."""
