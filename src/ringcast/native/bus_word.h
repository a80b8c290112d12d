/* Transaction words: the one word that makes a message committed everywhere or nowhere.
 *
 *   value << 3 | fenced << 2 | state        UNSET(transaction) -> COMMITTED(seq) | ABORTED(transaction)
 *
 * Invariants: an unset word names its transaction, a committed one its seq; neither number is ever given twice, so a CAS
 * that names what it saw can never hit a later use of the word. Fenced is for ever: a fenced word is never armed again
 * by the incarnation that lost it; only the next owner of the slot replaces it, when the old process is gone.
 */
#ifndef RINGCAST_BUS_WORD_H
#define RINGCAST_BUS_WORD_H

#include "bus_layout.h"

enum { BUS_UNSET = 0, BUS_COMMITTED = 1, BUS_ABORTED = 2, BUS_STATE_MASK = 3, BUS_FENCED_BIT = 4, BUS_VALUE_SHIFT = 3 };

static inline uint64_t bus_word(uint64_t value, unsigned state) { return value << BUS_VALUE_SHIFT | state; }
static inline unsigned bus_word_state(uint64_t word) { return word & BUS_STATE_MASK; }
static inline uint64_t bus_word_value(uint64_t word) { return word >> BUS_VALUE_SHIFT; }

/* False: fenced meanwhile. Relaxed: who finds the frame does so through the tail, which is published after this. A
 * consumer that was evicted may see the new transaction early; it takes it for a staged one, and the commit, which is a
 * release, shows it the eviction together with the seq. */
static inline bool bus_word_arm(bus_atomic *word, uint64_t transaction) {
    uint64_t old = atomic_load_explicit(word, memory_order_relaxed); /* only we and a fencing reaper change it */
    if (old & BUS_FENCED_BIT) return false;
    return atomic_compare_exchange_strong_explicit(word, &old, bus_word(transaction, BUS_UNSET), memory_order_relaxed,
                                                   memory_order_relaxed);
}

/* False: a reaper aborted it first. Release: who acquires the seq sees every entry published before it, ours and, through
 * the counter, those of all smaller seqs. */
static inline bool bus_word_commit(bus_atomic *word, uint64_t transaction, uint64_t seq) {
    uint64_t expected = bus_word(transaction, BUS_UNSET);
    return atomic_compare_exchange_strong_explicit(word, &expected, bus_word(seq, BUS_COMMITTED), memory_order_release,
                                                   memory_order_relaxed);
}

/* What a word becomes when its owner is fenced: what was unset is aborted, what was committed stays so. */
static inline uint64_t bus_word_fenced(uint64_t word) {
    if (bus_word_state(word) == BUS_UNSET) return bus_word(bus_word_value(word), BUS_ABORTED) | BUS_FENCED_BIT;
    return word | BUS_FENCED_BIT;
}

#endif
