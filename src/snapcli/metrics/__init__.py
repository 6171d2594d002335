"""How well a score finds errors and foreign inputs."""
