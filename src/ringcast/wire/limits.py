"""What a frame may hold. Every size, count and range is checked against these before anything is allocated."""

VERSION = 1
MAGIC = b"RC"
MAX_FRAME = 65_535
MAX_ITEMS = 32_768  # a frame of empty messages: two bytes each in the length table
MAX_RANGES = 4_096
MAX_SEQNO = 2**63 - 1
MAX_VIEW_NUMBER = 2**48  # no group gets there: a view every millisecond for nine thousand years
MAX_CACHED = 4_096  # addresses and tags remembered by a decoder
MAX_MEMBERS = 4_096  # entries of any list in a control message
MAX_WORDS = 512  # characters of a reason
