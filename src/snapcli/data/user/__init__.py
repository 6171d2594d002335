"""A user's own data: a folder, an .npz or a function, for a training or for a finished model.

layout, kinds and npz read what was given; training* make a labelled data set of it, finished* one
whose inputs a finished model takes, with labels or without.
"""
