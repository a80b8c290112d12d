"""Every interleaving of a few small programs, and every value that each of their loads may see.

A program is a generator of memory accesses. A thread's state is its arguments and the answers it has got so far, so it
can be compared and gone back to; a program that loops yields Again(arguments) and starts from there, which keeps the
states finite. A step depends on one thread and the memory only, so each such pair is worked out once; worlds are then
tuples of small numbers, and a million of them take seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar

from property.bus_model.memory import Access, Memory

T = TypeVar("T", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Again:
    arguments: tuple[Any, ...]


ENDED = ("ended",)  # in place of the answers, which no longer matter

Program: TypeAlias = Callable[..., Generator[Access | Again, Any, None]]
World: TypeAlias = tuple[int, ...]  # number of the memory, then of each thread's state


@dataclass(frozen=True, slots=True)
class Thread:
    arguments: tuple[Any, ...]
    answers: tuple[Any, ...] = ()


class Numbered(Generic[T]):
    """Values and the numbers given to them."""

    def __init__(self) -> None:
        self.values: list[T] = []
        self._numbers: dict[T, int] = {}

    def number(self, value: T) -> int:
        if value not in self._numbers:
            self._numbers[value] = len(self.values)
            self.values.append(value)
        return self._numbers[value]


def next_access(program: Program, thread: Thread) -> Access | Again | None:
    """Run the program from the start over the answers it got; None: it has ended."""
    if thread.answers == ENDED:
        return None
    running = program(*thread.arguments)
    try:
        access = next(running)
        for answer in thread.answers:
            access = running.send(answer)
    except StopIteration:
        return None
    return access


class Explorer:
    """Depth-first over all reachable worlds."""

    def __init__(self, programs: Sequence[Program], private: str, limit: int = 5_000_000) -> None:
        self._programs = programs
        self._private = private  # how places begin that are written once, before anybody may look at them
        self._limit = limit
        self._successors: dict[tuple[int, int, int], list[tuple[int, int]]] = {}
        self.memories: Numbered[Memory] = Numbered()
        self.threads: list[Numbered[Thread]] = [Numbered() for _ in programs]
        self.worlds: set[World] = set()

    def run(self, memory: Memory, threads: Sequence[Thread]) -> int:
        """Visit every world that can be reached; how many there are."""
        numbers = [self.threads[index].number(thread) for index, thread in enumerate(threads)]
        waiting: list[World] = [(self.memories.number(memory), *numbers)]
        while waiting:
            world = waiting.pop()
            if world in self.worlds:
                continue
            self.worlds.add(world)
            assert len(self.worlds) <= self._limit, f"more than {self._limit} worlds"
            for index in range(1, len(world)):
                for next_memory, next_thread in self._steps(index - 1, world[0], world[index]):
                    waiting.append((next_memory, *world[1:index], next_thread, *world[index + 1 :]))
        return len(self.worlds)

    def steps(self, index: int, memory: Memory, thread: Thread) -> list[tuple[Memory, Thread]]:
        """What one step of one thread can lead to."""
        access = next_access(self._programs[index], thread)
        if access is None or isinstance(access, Again):
            return []
        return [
            self._settled(index, after, Thread(thread.arguments, (*thread.answers, answer)))
            for answer, after in memory.options(index, access)
        ]

    def has_ended(self, index: int, thread: Thread) -> bool:
        return next_access(self._programs[index], thread) is None

    def _steps(self, index: int, memory: int, thread: int) -> list[tuple[int, int]]:
        key = (index, memory, thread)
        if key not in self._successors:
            states = self.steps(index, self.memories.values[memory], self.threads[index].values[thread])
            self._successors[key] = [(self.memories.number(m), self.threads[index].number(t)) for m, t in states]
        return self._successors[key]

    def _settled(self, index: int, memory: Memory, thread: Thread) -> tuple[Memory, Thread]:
        """Starting again is no step of its own, nor is an access that no other thread can tell from no access.

        A program that only ever starts again has nothing more to do.
        """
        passed: set[Thread] = set()
        while thread not in passed and (access := next_access(self._programs[index], thread)) is not None:
            passed.add(thread)
            if isinstance(access, Again):
                thread = Thread(access.arguments)
            elif memory.is_strict and access.at.startswith(self._private):
                ((answer, memory),) = memory.options(index, access)
                thread = Thread(thread.arguments, (*thread.answers, answer))
            else:
                return memory.pruned(), thread
        if thread in passed:
            return memory.pruned(), thread
        return memory.pruned().retired(index), Thread(thread.arguments, ENDED)
