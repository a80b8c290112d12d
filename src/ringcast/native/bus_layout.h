/* Where everything lies in a bus file.
 *
 *   header | slot 0 .. slot n-1 | shell 0 | shell 1 | ...
 *
 * A slot belongs to one peer at a time, an incarnation. Shell s holds the transaction words of slot s and every ring between
 * s and a slot below or equal to it, so that a bus of k peers needs the memory of k shells only, whatever its maximum.
 *
 * Invariants: positions, transactions, seqs and incarnations only grow and are never reset, not even when a slot changes
 * hands; so a late reader or writer can always tell old from new. Everything that two parties touch is _Atomic, except
 * the bytes of a ring between its head and its tail.
 */
#ifndef RINGCAST_BUS_LAYOUT_H
#define RINGCAST_BUS_LAYOUT_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bus_steps.h"

#define BUS_MAGIC 0x5355424743474e52ull /* "RNGCGBUS" */
#define BUS_VERSION 2u
#define BUS_PEERS_MAX 64u
#define BUS_NAME_WORDS 8u
#define BUS_NAME_BYTES (8u * BUS_NAME_WORDS)
#define BUS_LINE 128 /* two cache lines: the neighbour is prefetched */

_Static_assert(ATOMIC_LLONG_LOCK_FREE == 2, "shared memory needs address-free 64-bit atomics");

typedef _Atomic uint64_t bus_atomic;

typedef struct {
    bus_atomic magic; /* stored last: a file without it was never finished */
    uint32_t version, peers_max, words, frames; /* words per sender, frames per ring at most: words >= frames * peers_max */
    uint64_t ring_bytes, stall_ns, evict_ns;
    bus_atomic last_incarnation, shells;  /* given out, and reserved; changed under the attach lock only */
    alignas(BUS_LINE) bus_atomic counter; /* the seed's one counter */
    alignas(BUS_LINE) bus_atomic epoch;   /* grows with every arrival and departure */
} bus_header;

typedef struct {
    _Atomic uint32_t value;    /* futex word; changes with each ring */
    _Atomic uint32_t asleep;   /* not 0: threads wait in futex and nobody has set out to wake them */
    _Atomic uint32_t armed;    /* the incarnation whose event loop waits on the FIFO, or 0 */
} bus_bell;

typedef struct {
    alignas(BUS_LINE) bus_atomic state; /* incarnation, cause, phase: see bus_slots.h */
    bus_atomic farewell;                /* the departure as a message: a word like any other */
    bus_atomic transactions;            /* the last transaction number taken, for the next incarnation to go on from */
    bus_atomic pid;
    bus_atomic name[BUS_NAME_WORDS];
    alignas(BUS_LINE) bus_bell mail;
    alignas(BUS_LINE) bus_bell room;
    alignas(BUS_LINE) bus_atomic seen[BUS_PEERS_MAX]; /* per slot: the incarnation whose farewell this peer has dequeued */
} bus_slot;

typedef struct {
    alignas(BUS_LINE) bus_atomic tail; /* stored by the producer only */
    alignas(BUS_LINE) bus_atomic head; /* stored by the consumer only */
    alignas(BUS_LINE) unsigned char bytes[];
} bus_ring;

/* One process's mapping, with the geometry copied out so that nobody else can change it under us. */
typedef struct {
    unsigned char *base;
    size_t length;
    bus_header *header;
    uint32_t peers_max, words, frames;
    uint64_t ring_bytes, stall_ns, evict_ns;
} bus_view;

static inline uint64_t bus_ring_stride(uint64_t ring_bytes) { return sizeof(bus_ring) + ring_bytes; }

static inline uint64_t bus_control_bytes(uint32_t peers_max) {
    return (sizeof(bus_header) + peers_max * sizeof(bus_slot) + 4095) & ~(uint64_t)4095;
}

/* Shells 0..s-1 hold s*s rings: 1 + 3 + 5 + ... */
static inline uint64_t bus_shell_start(uint32_t peers_max, uint64_t ring_bytes, uint32_t words, uint32_t s) {
    return bus_control_bytes(peers_max) + (uint64_t)s * words * 8 + (uint64_t)s * s * bus_ring_stride(ring_bytes);
}

static inline bus_slot *bus_slot_at(const bus_view *view, uint32_t slot) {
    return (bus_slot *)(view->base + sizeof(bus_header)) + slot;
}

static inline uint64_t bus_shell_at(const bus_view *view, uint32_t slot) {
    return bus_shell_start(view->peers_max, view->ring_bytes, view->words, slot);
}

/* Neighbouring words lie in different cache lines, or a consumer that reads one would slow down the next. */
static inline bus_atomic *bus_word_at(const bus_view *view, uint32_t slot, uint32_t index) {
    uint32_t lines = view->words / 16;
    return (bus_atomic *)(view->base + bus_shell_at(view, slot)) + (index % lines) * 16 + index / lines;
}

static inline bus_ring *bus_ring_at(const bus_view *view, uint32_t producer, uint32_t consumer) {
    uint32_t shell = producer > consumer ? producer : consumer;
    uint32_t index = producer == shell ? consumer : shell + 1 + producer;
    uint64_t rings = bus_shell_at(view, shell) + (uint64_t)view->words * 8;
    return (bus_ring *)(view->base + rings + index * bus_ring_stride(view->ring_bytes));
}

#endif
