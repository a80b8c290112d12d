"""What a frame may hold. Every size, count and range is checked against these before anything is allocated."""

VERSION = 1
MAGIC = b"RC"
SEALED_MAGIC = b"RS"  # of a frame that security/ sealed; nobody here can read it
MAX_FRAME = 65_535
LEAST_FRAME = 8  # the one that tells a version
MAX_ITEMS = 32_768  # a frame of empty messages: two bytes each in the length table
MAX_RANGES = 4_096
MAX_SEQNO = 2**63 - 1
MAX_MARK = 2**62  # of a number in a control message: with a window above it a seqno is still in range
MAX_CAPACITY = 2**20  # as in a Config: what is allocated for a view
MAX_WINDOW_BYTES = 2**34
MAX_VIEW_NUMBER = 2**48  # no group gets there: a view every millisecond for nine thousand years
MAX_CACHED = 4_096  # addresses and tags remembered by a decoder
MAX_MEMBERS = 4_096  # entries of any list in a control message
