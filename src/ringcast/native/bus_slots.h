/* Slots: who is attached, and how a peer leaves whether it can still act or not.
 *
 *   FREE -> ACTIVE -> LEAVING -> GONE -> FREE ...       state = incarnation << 16 | cause << 8 | phase
 *
 * Leaving needs no lock and no particular party: begin is one CAS, and whoever sees LEAVING carries out the rest, each
 * step of which may be done twice. So nobody waits for a reaper that is slow or dies.
 *
 * Invariants: every word of a slot that is GONE is fenced, so that the incarnation commits nothing more; its farewell has
 * a seq above all that it committed. The slot is given out again only when its lock is free and everybody has dequeued
 * the farewell; until then its words and rings are left as they are.
 */
#ifndef RINGCAST_BUS_SLOTS_H
#define RINGCAST_BUS_SLOTS_H

#include "bus_bell.h"
#include "bus_word.h"

enum bus_phase { BUS_FREE = 0, BUS_ACTIVE = 1, BUS_LEAVING = 2, BUS_GONE = 3 };
enum bus_cause { BUS_NO_CAUSE = 0, BUS_DETACHED = 1, BUS_DIED = 2, BUS_STALLED = 3, BUS_EVICTED = 4, BUS_CAUSES = 5 };

static inline uint64_t bus_state(uint32_t incarnation, unsigned cause, unsigned phase) {
    return (uint64_t)incarnation << 16 | cause << 8 | phase;
}
static inline unsigned bus_state_phase(uint64_t state) { return state & 0xff; }
static inline unsigned bus_state_cause(uint64_t state) { return state >> 8 & 0xff; }
static inline uint32_t bus_state_incarnation(uint64_t state) { return (uint32_t)(state >> 16); }

/* Acquire: name, words and farewell of a slot are read because of its state. */
static inline uint64_t bus_slot_state(const bus_view *view, uint32_t slot) {
    return atomic_load_explicit(&bus_slot_at(view, slot)->state, memory_order_acquire);
}

static inline bool bus_is_active(const bus_view *view, uint32_t slot, uint32_t incarnation) {
    return bus_slot_state(view, slot) == bus_state(incarnation, BUS_NO_CAUSE, BUS_ACTIVE);
}

static inline void bus_ring_all(const bus_view *view, bus_ringers *ringers) {
    bus_fence_before_bells();
    for (uint32_t slot = 0; slot < view->peers_max; slot++) {
        uint64_t state = bus_slot_state(view, slot);
        if (bus_state_phase(state) == BUS_FREE) continue;
        bus_bell_ring(&bus_slot_at(view, slot)->mail, ringers, slot, bus_state_incarnation(state));
        bus_bell_ring(&bus_slot_at(view, slot)->room, ringers, slot, bus_state_incarnation(state));
    }
}

/* Release: whoever sees the new epoch sees the slot change that it stands for. */
static inline void bus_epoch_advance(const bus_view *view) {
    atomic_fetch_add_explicit(&view->header->epoch, 1, memory_order_acq_rel);
}

/* False: the slot is no longer in `leaving`, so another has finished this. */
static inline bool bus_fence_words(const bus_view *view, uint32_t slot, uint64_t leaving) {
    for (uint32_t index = 0; index < view->words; index++) {
        bus_atomic *word = bus_word_at(view, slot, index);
        /* Acquire: what a committed word publishes must be visible to whoever acquires the farewell that follows. It
         * also keeps the look at the state behind it: a word read while still LEAVING belongs to this incarnation. */
        uint64_t seen = atomic_load_explicit(word, memory_order_acquire);
        while (!(seen & BUS_FENCED_BIT)) {
            if (bus_slot_state(view, slot) != leaving) return false;
            BUS_STEP("fence word");
            /* Acq_rel: release keeps the committed value's own release going, acquire as above. */
            if (atomic_compare_exchange_strong_explicit(word, &seen, bus_word_fenced(seen), memory_order_acq_rel,
                                                        memory_order_acquire))
                break;
        }
    }
    return true;
}

static inline void bus_finish_leaving(const bus_view *view, bus_ringers *ringers, uint32_t slot) {
    bus_slot *left = bus_slot_at(view, slot);
    uint64_t leaving = bus_slot_state(view, slot);
    if (bus_state_phase(leaving) != BUS_LEAVING) return;
    uint32_t incarnation = bus_state_incarnation(leaving);
    /* Before the seq is taken, as with any message: who acquires a greater seq must find this departure staged. */
    bus_epoch_advance(view);
    BUS_STEP("leave: before fencing");
    if (bus_fence_words(view, slot, leaving)) {
        BUS_STEP("leave: fenced");
        uint64_t seq = atomic_fetch_add_explicit(&view->header->counter, 1, memory_order_acq_rel) + 1;
        BUS_STEP("leave: seq taken");
        uint64_t unset = bus_word(incarnation, BUS_UNSET); /* names the incarnation: a late helper changes nothing */
        atomic_compare_exchange_strong_explicit(&left->farewell, &unset, bus_word(seq, BUS_COMMITTED), memory_order_acq_rel,
                                                memory_order_relaxed);
        BUS_STEP("leave: farewell committed");
        /* Release: who sees GONE finds the farewell's seq. */
        uint64_t gone = bus_state(incarnation, bus_state_cause(leaving), BUS_GONE);
        atomic_compare_exchange_strong_explicit(&left->state, &leaving, gone, memory_order_acq_rel, memory_order_relaxed);
    }
    bus_epoch_advance(view);
    BUS_STEP("leave: before bells");
    bus_ring_all(view, ringers);
}

/* True: this call decided it. The incarnation is named, so a judgement about a past owner cannot hurt the present one. */
static inline bool bus_begin_leaving(const bus_view *view, bus_ringers *ringers, uint32_t slot, uint32_t incarnation,
                                     enum bus_cause cause) {
    uint64_t active = bus_state(incarnation, BUS_NO_CAUSE, BUS_ACTIVE);
    bool decided = atomic_compare_exchange_strong_explicit(&bus_slot_at(view, slot)->state, &active,
                                                           bus_state(incarnation, cause, BUS_LEAVING),
                                                           memory_order_acq_rel, memory_order_relaxed);
    BUS_STEP("leave: begun");
    bus_finish_leaving(view, ringers, slot);
    return decided;
}

/* Acquire on each word keeps the caller's second look at the state behind the name, as a seqlock does. */
static inline void bus_name_read(const bus_view *view, uint32_t slot, char name[BUS_NAME_BYTES]) {
    for (unsigned i = 0; i < BUS_NAME_WORDS; i++) {
        uint64_t part = atomic_load_explicit(&bus_slot_at(view, slot)->name[i], memory_order_acquire);
        memcpy(name + 8 * i, &part, 8);
    }
    name[BUS_NAME_BYTES - 1] = 0;
}

#endif
