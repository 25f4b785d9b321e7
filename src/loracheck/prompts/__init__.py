"""From cases to the texts a model reads. Nothing is imported here: the child that renders has to start fast."""
