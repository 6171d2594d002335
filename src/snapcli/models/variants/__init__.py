"""Networks of the methods that train one of their own: each is one of our backbones, changed."""
