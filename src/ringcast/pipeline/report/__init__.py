"""The report: one self-contained page about a run. No network, no scripts; looks the same on screen and on paper."""

from ringcast.pipeline.report.page import Subject, render

__all__ = ["Subject", "render"]
