"""The frames of one wake, decoded, with runs that continue each other made one; as runtime/coalescing.py, but in C."""

from collections.abc import Callable, Iterable

from ringcast.core import Ack, Channel, Drop, Highest, Packet, Piece, Run
from ringcast.model import Address
from ringcast.transport import Frame

class Coalescer:
    def __init__(
        self,
        decode: Callable[[Frame], tuple[Address, Packet] | Drop],
        join: Callable[[Run, Run], bool],
        run_type: type[Run],
        piece_type: type[Piece],
        group: Channel,
        ack_type: type[Ack],
        highest_type: type[Highest],
        /,
    ) -> None: ...
    def __call__(self, frames: Iterable[Frame], /) -> list[tuple[Address, Packet] | Drop]: ...
