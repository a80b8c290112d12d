/* The producer: reserve, stage, take a seq, commit.
 *
 * Invariants: nothing is staged before there is room in every destination's ring and a free word, so a wait holds up
 * nobody; every entry is published before the seq is taken; from then on nothing can fail but the commit itself, which
 * fails only if a reaper was faster.
 */
#ifndef RINGCAST_BUS_SEND_H
#define RINGCAST_BUS_SEND_H

#include <stdlib.h>

#include "bus_frame.h"

typedef struct {
    const bus_view *view;
    bus_ringers *ringers;
    uint32_t me, incarnation;
    uint64_t transaction; /* the last one taken */
    uint64_t number;      /* the last message number given */
    uint64_t epoch;       /* up to which the table of peers below is right */
    uint64_t active;      /* bit per slot */
    uint32_t peers[BUS_PEERS_MAX]; /* incarnation in each slot */
    uint64_t tails[BUS_PEERS_MAX], heads[BUS_PEERS_MAX]; /* of our rings; heads as last seen */
    uint64_t *destinations;        /* per word: who was sent its transaction */
    uint64_t *ends[BUS_PEERS_MAX]; /* per destination and word: where its entry ends */
    uint32_t full;                 /* the slot that had no room when a send was refused */
} bus_sender;

enum bus_sent { BUS_SENT, BUS_FULL, BUS_LOST /* fenced */, BUS_NO_MEMORY };

static inline void bus_sender_close(bus_sender *sender) {
    free(sender->destinations);
    for (uint32_t slot = 0; slot < BUS_PEERS_MAX; slot++) free(sender->ends[slot]);
    sender->destinations = NULL;
    memset(sender->ends, 0, sizeof sender->ends);
}

static inline bool bus_sender_open(bus_sender *sender, const bus_view *view, bus_ringers *ringers, uint32_t me,
                                   uint32_t incarnation) {
    memset(sender, 0, sizeof *sender);
    sender->view = view, sender->ringers = ringers, sender->me = me, sender->incarnation = incarnation;
    sender->transaction = atomic_load_explicit(&bus_slot_at(view, me)->transactions, memory_order_relaxed);
    sender->epoch = UINT64_MAX;
    sender->destinations = calloc(view->words, sizeof(uint64_t));
    return sender->destinations != NULL;
}

/* A slot's first use, or its next owner: go on where the ring stands. */
static inline bool bus_sender_meet(bus_sender *sender, uint32_t slot, uint32_t incarnation) {
    bus_ring *ring = bus_ring_at(sender->view, sender->me, slot);
    if (!sender->ends[slot] && !(sender->ends[slot] = calloc(sender->view->words, sizeof(uint64_t)))) return false;
    sender->tails[slot] = atomic_load_explicit(&ring->tail, memory_order_relaxed); /* our own store */
    sender->peers[slot] = incarnation;
    return true;
}

/* Brings the table of peers up to date. Acquire on the epoch: it was advanced after the slot it stands for. */
static inline bool bus_sender_refresh(bus_sender *sender) {
    uint64_t epoch = atomic_load_explicit(&sender->view->header->epoch, memory_order_acquire);
    if (epoch == sender->epoch) return true;
    uint64_t active = 0;
    for (uint32_t slot = 0; slot < sender->view->peers_max; slot++) {
        uint64_t state = bus_slot_state(sender->view, slot);
        if (bus_state_phase(state) != BUS_ACTIVE) continue;
        uint32_t incarnation = bus_state_incarnation(state);
        if (sender->peers[slot] != incarnation && !bus_sender_meet(sender, slot, incarnation)) return false;
        active |= (uint64_t)1 << slot;
    }
    sender->active = active;
    sender->epoch = epoch;
    return true;
}

/* Acquire: the consumer's reads of what it passed are over before we overwrite it or reuse its word. */
static inline bool bus_has_passed(bus_sender *sender, uint32_t slot, uint64_t position) {
    if (sender->heads[slot] >= position) return true;
    sender->heads[slot] =
        atomic_load_explicit(&bus_ring_at(sender->view, sender->me, slot)->head, memory_order_acquire);
    return sender->heads[slot] >= position;
}

static inline bool bus_word_is_free(bus_sender *sender, uint32_t word) {
    for (uint64_t left = sender->destinations[word] & sender->active; left; left &= left - 1) {
        uint32_t slot = (uint32_t)__builtin_ctzll(left);
        if (!bus_has_passed(sender, slot, sender->ends[slot][word])) {
            sender->full = slot;
            return false;
        }
    }
    return true; /* who is no longer active was reaped: it looks at no word again without finding itself fenced */
}

static inline bool bus_has_room(bus_sender *sender, uint64_t destinations, uint64_t bytes) {
    for (uint64_t left = destinations; left; left &= left - 1) {
        uint32_t slot = (uint32_t)__builtin_ctzll(left);
        uint64_t end = sender->tails[slot] + bytes;
        if (end > sender->view->ring_bytes && !bus_has_passed(sender, slot, end - sender->view->ring_bytes)) {
            sender->full = slot;
            return false;
        }
    }
    return true;
}

static inline void bus_stage(bus_sender *sender, uint64_t destinations, bus_frame *frame, const bus_piece *pieces) {
    for (uint64_t left = destinations; left; left &= left - 1) {
        uint32_t slot = (uint32_t)__builtin_ctzll(left);
        bus_ring *ring = bus_ring_at(sender->view, sender->me, slot);
        frame->to = sender->peers[slot];
        bus_frame_write(sender->view, ring, sender->tails[slot], frame, pieces);
        BUS_STEP("queue: written");
        sender->tails[slot] += frame->bytes;
        sender->ends[slot][frame->transaction & (sender->view->words - 1)] = sender->tails[slot];
        /* Release: who sees the tail sees the frame, and the armed word. */
        atomic_store_explicit(&ring->tail, sender->tails[slot], memory_order_release);
        BUS_STEP("queue: published");
    }
}

static inline void bus_ring_destinations(bus_sender *sender, uint64_t destinations) {
    bus_fence_before_bells();
    for (uint64_t left = destinations; left; left &= left - 1) {
        uint32_t slot = (uint32_t)__builtin_ctzll(left);
        bus_bell_ring(&bus_slot_at(sender->view, slot)->mail, sender->ringers, slot, sender->peers[slot]);
    }
}

/* One tick: all `pieces` to all `destinations` that are attached. The caller has called bus_sender_refresh. */
static inline enum bus_sent bus_send(bus_sender *sender, uint64_t destinations, enum bus_kind kind,
                                     const bus_piece *pieces, uint32_t count, uint64_t *seq) {
    const bus_view *view = sender->view;
    uint64_t bytes = bus_frame_bytes(pieces, count), transaction = sender->transaction + 1;
    uint32_t word_index = (uint32_t)transaction & (view->words - 1);
    bus_atomic *word = bus_word_at(view, sender->me, transaction);

    destinations &= sender->active;
    if (!bus_word_is_free(sender, word_index) || !bus_has_room(sender, destinations, bytes)) return BUS_FULL;
    /* Relaxed: read again only by who owns the slot after us. Before arming, so that no number can be taken twice. */
    atomic_store_explicit(&bus_slot_at(view, sender->me)->transactions, transaction, memory_order_relaxed);
    BUS_STEP("queue: reserved");
    if (!bus_word_arm(word, transaction)) return BUS_LOST;
    BUS_STEP("queue: armed");
    sender->transaction = transaction;
    sender->destinations[word_index] = destinations;

    bus_frame frame = {.transaction = transaction, .first = sender->number + 1, .bytes = (uint32_t)bytes, .count = count,
                       .from = sender->incarnation, .kind = (uint32_t)kind};
    /* Relaxed: any value we ever read is below the seq that we take later, and that is all a lower bound must be. That
     * it is not stale (no starvation) follows from coherence: we read no older value than we have already seen. */
    frame.lower = atomic_load_explicit(&view->header->counter, memory_order_relaxed);
    bus_stage(sender, destinations, &frame, pieces);
    BUS_STEP("queue: staged");
    /* Acq_rel: release, so that whoever takes a greater seq has our entries behind it; acquire, so that whoever acquires
     * our seq from the word has everybody's entries of smaller seqs behind it. */
    *seq = atomic_fetch_add_explicit(&view->header->counter, 1, memory_order_acq_rel) + 1;
    BUS_STEP("queue: seq taken");
    if (!bus_word_commit(word, transaction, *seq)) return BUS_LOST;
    BUS_STEP("queue: committed");
    if (kind == BUS_DATA) sender->number += count;
    bus_ring_destinations(sender, destinations);
    return BUS_SENT;
}

#endif
