"""Which padding a layer requires, and what to write in each framework for the same windows."""
