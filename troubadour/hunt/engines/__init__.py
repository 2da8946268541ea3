"""The engines that are hunted: started by us, in a process beside this one, or named by a connection string."""
