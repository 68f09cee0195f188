"""Which padding a layer requires, and what each framework is told to place the same windows."""
