"""What importers of model files share: the net they build, its stateless blocks, and their functions."""
