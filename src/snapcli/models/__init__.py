"""Backbones. Each names its blocks; every block after the first is a tap candidate."""

from snapcli.models.backbone import Backbone, Tap, load_backbone

__all__ = ["Backbone", "Tap", "load_backbone"]
