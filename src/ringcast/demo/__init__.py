"""The tour: a real group on this machine, told in words, recorded and judged."""

from ringcast.demo.tour import Options, Outcome, take_tour

__all__ = ["Options", "Outcome", "take_tour"]
