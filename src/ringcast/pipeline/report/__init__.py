"""The report: one self-contained page about a run. No network, no scripts; looks the same on screen and on paper."""

from ringcast.pipeline.report.page import render
from ringcast.pipeline.report.subject import Subject, gather

__all__ = ["Subject", "gather", "render"]
