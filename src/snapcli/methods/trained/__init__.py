"""The methods that train a network of their own: each is one of our backbones, changed."""
