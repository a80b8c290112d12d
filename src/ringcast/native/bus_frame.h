/* Frames: what stands in a ring. One frame is one transaction's copy for one destination, a batch of messages.
 *
 *   frame | length, bytes | length, bytes | ... padding to 8
 *
 * Positions count bytes since the ring was made; the place is the position modulo the ring's size, so a frame may continue
 * at the start of the ring.
 */
#ifndef RINGCAST_BUS_FRAME_H
#define RINGCAST_BUS_FRAME_H

#include "bus_slots.h"

enum bus_kind { BUS_DATA = 0, BUS_BARRIER = 1 };

typedef struct {
    uint64_t transaction; /* as its word names it */
    uint64_t lower;       /* the seed's seq_lower */
    uint64_t first;       /* the sender's number of the first message */
    uint32_t bytes;       /* of the whole frame, with padding */
    uint32_t count;
    uint32_t from, to;    /* incarnations: a frame of or for a former owner of a slot is nobody's */
    uint32_t kind, word;  /* index of the word that decides about it */
} bus_frame;

/* One message to send: where it is and how long. */
typedef struct {
    const void *at;
    uint32_t length;
} bus_piece;

static inline void bus_copy_in(const bus_view *view, bus_ring *ring, uint64_t position, const void *from, uint64_t count) {
    uint64_t place = position & (view->ring_bytes - 1), room = view->ring_bytes - place;
    if (count <= room) {
        memcpy(ring->bytes + place, from, count);
        return;
    }
    memcpy(ring->bytes + place, from, room);
    memcpy(ring->bytes, (const char *)from + room, count - room);
}

static inline void bus_copy_out(const bus_view *view, bus_ring *ring, uint64_t position, void *to, uint64_t count) {
    uint64_t place = position & (view->ring_bytes - 1), room = view->ring_bytes - place;
    if (count <= room) {
        memcpy(to, ring->bytes + place, count);
        return;
    }
    memcpy(to, ring->bytes + place, room);
    memcpy((char *)to + room, ring->bytes, count - room);
}

static inline uint64_t bus_padded(uint64_t bytes) { return (bytes + 7) & ~(uint64_t)7; }

/* The longest message: alone in a frame that fills a ring. */
static inline uint64_t bus_longest(uint64_t ring_bytes) { return ring_bytes - sizeof(bus_frame) - sizeof(uint32_t); }

/* Several messages share a tick as long as they fit half a ring; more would have to wait for an almost empty one. */
static inline uint64_t bus_batch_limit(uint64_t ring_bytes) { return ring_bytes / 2; }

static inline uint64_t bus_frame_bytes(const bus_piece *pieces, uint32_t count) {
    uint64_t bytes = sizeof(bus_frame);
    for (uint32_t i = 0; i < count; i++) bytes += sizeof(uint32_t) + pieces[i].length;
    return bus_padded(bytes);
}

/* Whether what stands in a ring can be a frame. Peers trust each other, but a damaged file must not take us beyond it,
 * nor round and round in it. */
static inline bool bus_frame_is_sound(const bus_view *view, const bus_frame *frame, uint64_t published) {
    return published <= view->ring_bytes && frame->bytes >= sizeof(bus_frame) && frame->bytes <= view->ring_bytes && frame->bytes <= published &&
           frame->count >= 1 && frame->count <= (frame->bytes - sizeof(bus_frame)) / sizeof(uint32_t) &&
           frame->word < view->words;
}

static inline void bus_frame_write(const bus_view *view, bus_ring *ring, uint64_t position, const bus_frame *frame,
                                   const bus_piece *pieces) {
    bus_copy_in(view, ring, position, frame, sizeof *frame);
    position += sizeof *frame;
    for (uint32_t i = 0; i < frame->count; i++) {
        bus_copy_in(view, ring, position, &pieces[i].length, sizeof(uint32_t));
        bus_copy_in(view, ring, position + sizeof(uint32_t), pieces[i].at, pieces[i].length);
        position += sizeof(uint32_t) + pieces[i].length;
    }
}

#endif
