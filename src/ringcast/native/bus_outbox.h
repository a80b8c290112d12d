/* What a sender has put into rings and others have not passed yet: which words are in use, and until when.
 *
 * A word is used again only when every destination has passed its frame or is no longer attached. Private to the sender.
 *
 * Invariant: words >= frames * peers_max, and no destination holds more than `frames`; so whoever has room for a frame
 * finds a word for it, however many others do not read.
 */
#ifndef RINGCAST_BUS_OUTBOX_H
#define RINGCAST_BUS_OUTBOX_H

#include <stdlib.h>

#include "bus_frame.h"

#define BUS_RECLAIM_EVERY 32 /* words come back in small lots: few stay in use, and the others' cache lines rest */

typedef struct {
    uint64_t end; /* of a frame in the ring */
    uint32_t word;
} bus_sent_frame;

/* One destination. */
typedef struct {
    uint32_t incarnation;
    uint64_t tail, head;     /* ours, and the consumer's as last seen */
    uint64_t first, last;    /* frames sent and not known to be passed are first .. last - 1 */
    bus_sent_frame *frames;  /* a ring of view->frames */
} bus_outlet;

typedef struct {
    uint8_t *uses;       /* per word: destinations that have not passed it */
    uint32_t *free_list; /* a stack */
    uint32_t free_count;
    bus_outlet outlets[BUS_PEERS_MAX];
} bus_outbox;

static inline void bus_outbox_close(bus_outbox *outbox) {
    free(outbox->uses);
    free(outbox->free_list);
    for (uint32_t slot = 0; slot < BUS_PEERS_MAX; slot++) free(outbox->outlets[slot].frames);
    memset(outbox, 0, sizeof *outbox);
}

static inline bool bus_outbox_open(bus_outbox *outbox, uint32_t words) {
    memset(outbox, 0, sizeof *outbox);
    outbox->uses = calloc(words, sizeof *outbox->uses);
    outbox->free_list = calloc(words, sizeof *outbox->free_list);
    if (!outbox->uses || !outbox->free_list) return false;
    while (outbox->free_count < words) {
        outbox->free_list[outbox->free_count] = words - 1 - outbox->free_count;
        outbox->free_count++;
    }
    return true;
}

static inline void bus_word_release(bus_outbox *outbox, uint32_t word) {
    if (--outbox->uses[word] == 0) outbox->free_list[outbox->free_count++] = word;
}

/* The destination is gone: it looks at no word again without finding itself fenced. */
static inline void bus_outlet_drop(const bus_view *view, bus_outbox *outbox, bus_outlet *outlet) {
    for (; outlet->first < outlet->last; outlet->first++)
        bus_word_release(outbox, outlet->frames[outlet->first % view->frames].word);
}

/* Acquire: the consumer's reads of what it passed are over before we overwrite it or use its word again. */
static inline void bus_outlet_reclaim(const bus_view *view, bus_outbox *outbox, bus_outlet *outlet, bus_ring *ring) {
    outlet->head = atomic_load_explicit(&ring->head, memory_order_acquire);
    while (outlet->first < outlet->last) {
        const bus_sent_frame *sent = &outlet->frames[outlet->first % view->frames];
        if (sent->end > outlet->head) return;
        bus_word_release(outbox, sent->word);
        outlet->first++;
    }
}

static inline bool bus_outlet_fits(const bus_view *view, const bus_outlet *outlet, uint64_t bytes) {
    return outlet->last - outlet->first < view->frames && outlet->tail + bytes <= outlet->head + view->ring_bytes;
}

static inline bool bus_outlet_has_room(const bus_view *view, bus_outbox *outbox, uint32_t slot, bus_ring *ring,
                                       uint64_t bytes) {
    bus_outlet *outlet = &outbox->outlets[slot];
    bool is_time = outlet->last - outlet->first >= BUS_RECLAIM_EVERY && outlet->last % BUS_RECLAIM_EVERY == 0;
    if (is_time || !bus_outlet_fits(view, outlet, bytes)) bus_outlet_reclaim(view, outbox, outlet, ring);
    return bus_outlet_fits(view, outlet, bytes);
}

static inline void bus_outlet_add(const bus_view *view, bus_outbox *outbox, bus_outlet *outlet, uint32_t word,
                                  uint64_t bytes) {
    outlet->tail += bytes;
    outlet->frames[outlet->last++ % view->frames] = (bus_sent_frame){outlet->tail, word};
    outbox->uses[word]++;
}

#endif
