"""The parts that `duerow.where` is made of."""
