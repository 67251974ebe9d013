"""What responses say before any model: grouped patterns, connected and weakly linked parts."""
