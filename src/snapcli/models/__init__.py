"""Backbones. Each names its blocks; every block after the first is a tap candidate."""

from snapcli.models.backbone import BACKBONES, Backbone, Tap, default_backbone, load_backbone

__all__ = ["BACKBONES", "Backbone", "Tap", "default_backbone", "load_backbone"]
