"""What a network that a method trains is made of."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from snapcli.methods.trained.lesson import Lesson
from snapcli.methods.trained.observe import Observe, members
from snapcli.models.backbone import Backbone

Build = Callable[[Backbone, tuple[int, int, int], int], Any]


@dataclass(frozen=True)
class Design:
    """build: what is deployed; learner: what is trained, where that has more to it."""

    build: Build
    lesson: type[Lesson] = Lesson
    observe: Callable[[Any], Observe] = members
    learner: Build | None = None
