"""The distances to the answered and the next class as C: what they are called."""

NAME, RESULT, SCRATCH = "distance", "distances", "distance_scratch"
TYPE = "struct snapuq_distances"
OWN, NEXT = f"{RESULT}.own_q16", f"{RESULT}.next_q16"
