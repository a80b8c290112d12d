/* The producer: reserve, stage, take a seq, commit.
 *
 * Invariants: nothing is staged before there is room in every destination's ring, so a wait holds up nobody; every entry
 * is published before the seq is taken; from then on nothing can fail but the commit itself, which fails only if a
 * reaper was faster.
 */
#ifndef RINGCAST_BUS_SEND_H
#define RINGCAST_BUS_SEND_H

#include "bus_outbox.h"

typedef struct {
    const bus_view *view;
    bus_ringers *ringers;
    uint32_t me, incarnation;
    uint64_t transaction; /* the last one taken */
    uint64_t number;      /* the last message number given */
    uint64_t epoch;       /* until when the peers that we know are those attached */
    uint64_t active;      /* bit per slot */
    uint32_t full;        /* the slot that had no room when a send was refused */
    bus_outbox outbox;
} bus_sender;

enum bus_sent { BUS_SENT, BUS_FULL, BUS_LOST /* fenced */ };

static inline void bus_sender_close(bus_sender *sender) { bus_outbox_close(&sender->outbox); }

static inline bool bus_sender_open(bus_sender *sender, const bus_view *view, bus_ringers *ringers, uint32_t me,
                                   uint32_t incarnation) {
    memset(sender, 0, sizeof *sender);
    sender->view = view, sender->ringers = ringers, sender->me = me, sender->incarnation = incarnation;
    sender->transaction = atomic_load_explicit(&bus_slot_at(view, me)->transactions, memory_order_relaxed);
    sender->epoch = UINT64_MAX;
    return bus_outbox_open(&sender->outbox, view->words);
}

/* A slot's first owner, or its next one: go on where the ring stands. */
static inline bool bus_sender_meet(bus_sender *sender, uint32_t slot, uint32_t incarnation) {
    bus_outlet *outlet = &sender->outbox.outlets[slot];
    bus_outlet_drop(sender->view, &sender->outbox, outlet);
    if (!outlet->frames && !(outlet->frames = calloc(sender->view->frames, sizeof *outlet->frames))) return false;
    bus_ring *ring = bus_ring_at(sender->view, sender->me, slot);
    outlet->tail = atomic_load_explicit(&ring->tail, memory_order_relaxed); /* our own store */
    outlet->head = atomic_load_explicit(&ring->head, memory_order_acquire); /* see bus_outlet_reclaim */
    outlet->incarnation = incarnation;
    return true;
}

/* Brings the known peers up to date. Acquire on the epoch: it was advanced after the slot it stands for. */
static inline bool bus_sender_refresh(bus_sender *sender) {
    uint64_t epoch = atomic_load_explicit(&sender->view->header->epoch, memory_order_acquire);
    if (epoch == sender->epoch) return true;
    uint64_t active = 0;
    for (uint32_t slot = 0; slot < sender->view->peers_max; slot++) {
        uint64_t state = bus_slot_state(sender->view, slot);
        bus_outlet *outlet = &sender->outbox.outlets[slot];
        if (bus_state_phase(state) != BUS_ACTIVE) {
            bus_outlet_drop(sender->view, &sender->outbox, outlet);
            continue;
        }
        uint32_t incarnation = bus_state_incarnation(state);
        bool is_met = outlet->incarnation == incarnation && outlet->frames; /* damaged memory may name incarnation 0 */
        if (!is_met && !bus_sender_meet(sender, slot, incarnation)) return false;
        active |= (uint64_t)1 << slot;
    }
    sender->active = active;
    sender->epoch = epoch;
    return true;
}

static inline bool bus_has_room(bus_sender *sender, uint64_t destinations, uint64_t bytes) {
    for (uint64_t left = destinations; left; left &= left - 1) {
        uint32_t slot = (uint32_t)__builtin_ctzll(left);
        bus_ring *ring = bus_ring_at(sender->view, sender->me, slot);
        if (!bus_outlet_has_room(sender->view, &sender->outbox, slot, ring, bytes)) {
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
        bus_outlet *outlet = &sender->outbox.outlets[slot];
        frame->to = outlet->incarnation;
        bus_frame_write(sender->view, ring, outlet->tail, frame, pieces);
        BUS_STEP("queue: written");
        bus_outlet_add(sender->view, &sender->outbox, outlet, frame->word, frame->bytes);
        /* Release: who sees the tail sees the frame, and the armed word. */
        atomic_store_explicit(&ring->tail, outlet->tail, memory_order_release);
        BUS_STEP("queue: published");
    }
}

static inline void bus_ring_destinations(bus_sender *sender, uint64_t destinations) {
    bus_fence_before_bells();
    for (uint64_t left = destinations; left; left &= left - 1) {
        uint32_t slot = (uint32_t)__builtin_ctzll(left);
        bus_bell_ring(&bus_slot_at(sender->view, slot)->mail, sender->ringers, slot,
                      sender->outbox.outlets[slot].incarnation);
    }
}

/* Takes a number and a word for one tick. The word stays with its transaction even if nobody is to receive it. */
static inline bool bus_begin(bus_sender *sender, bus_frame *frame) {
    const bus_view *view = sender->view;
    bus_outbox *outbox = &sender->outbox;
    frame->transaction = sender->transaction + 1;
    frame->word = outbox->free_list[outbox->free_count - 1];
    /* Relaxed: read again only by who owns the slot after us. Before arming, so that no number can be taken twice. */
    atomic_store_explicit(&bus_slot_at(view, sender->me)->transactions, frame->transaction, memory_order_relaxed);
    BUS_STEP("queue: reserved");
    if (!bus_word_arm(bus_word_at(view, sender->me, frame->word), frame->transaction)) return false;
    BUS_STEP("queue: armed");
    sender->transaction = frame->transaction;
    /* Relaxed: any value we ever read is below the seq that we take later, and that is all a lower bound must be. That
     * it is not stale (no starvation) follows from coherence: we read no older value than we have already seen. */
    frame->lower = atomic_load_explicit(&view->header->counter, memory_order_relaxed);
    return true;
}

/* One tick: all `pieces` to all `destinations` that are attached. The caller has called bus_sender_refresh. */
static inline enum bus_sent bus_send(bus_sender *sender, uint64_t destinations, enum bus_kind kind,
                                     const bus_piece *pieces, uint32_t count, uint64_t *seq) {
    const bus_view *view = sender->view;
    bus_frame frame = {.first = sender->number + 1, .bytes = (uint32_t)bus_frame_bytes(pieces, count), .count = count,
                       .from = sender->incarnation, .kind = (uint32_t)kind};
    destinations &= sender->active;
    if (!bus_has_room(sender, destinations, frame.bytes)) return BUS_FULL;
    if (!destinations && !sender->outbox.free_count) {
        /* Nobody is to receive it, and full rings hold all words: it gets a place in the order and no word. */
        *seq = atomic_fetch_add_explicit(&view->header->counter, 1, memory_order_acq_rel) + 1;
        if (kind == BUS_DATA) sender->number += count;
        return BUS_SENT;
    }
    if (!bus_begin(sender, &frame)) return BUS_LOST;
    if (destinations) sender->outbox.free_count--; /* bus_outlet_add counts its uses */
    bus_stage(sender, destinations, &frame, pieces);
    BUS_STEP("queue: staged");
    /* Acq_rel: release, so that whoever takes a greater seq has our entries behind it; acquire, so that whoever acquires
     * our seq from the word has everybody's entries of smaller seqs behind it. */
    *seq = atomic_fetch_add_explicit(&view->header->counter, 1, memory_order_acq_rel) + 1;
    BUS_STEP("queue: seq taken");
    if (!bus_word_commit(bus_word_at(view, sender->me, frame.word), frame.transaction, *seq)) return BUS_LOST;
    BUS_STEP("queue: committed");
    if (kind == BUS_DATA) sender->number += count;
    bus_ring_destinations(sender, destinations);
    return BUS_SENT;
}

#endif
