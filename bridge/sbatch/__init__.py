"""Pure: batch script + arguments + environment -> `JobSpec`, with the grammar and the words of sbatch."""
