"""Backbones. Each names its blocks; every block after the first is a tap candidate."""

from snapcli.models.backbone import Backbone, Tap, backbone_names, load_backbone

__all__ = ["Backbone", "Tap", "backbone_names", "load_backbone"]
