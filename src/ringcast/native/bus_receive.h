/* The consumer: look at the head of every ring twice, and take the smallest committed one only if it still is.
 *
 * First look: pop what is aborted, choose the smallest committed head c. Its word was loaded with acquire, so every entry
 * with a smaller seq is visible from now on. Second look: if any head, committed or not, has a smaller key than c, start
 * again; else c is next for ever. Looking only for uncommitted heads in the second look would be wrong: a smaller one may
 * have been published *and* committed in between.
 *
 * A peer that left is followed by its farewell: a head like any other, behind all that the peer committed.
 */
#ifndef RINGCAST_BUS_RECEIVE_H
#define RINGCAST_BUS_RECEIVE_H

#include "bus_frame.h"

enum bus_head { BUS_NOTHING, BUS_STAGED, BUS_READABLE, BUS_FAREWELL };

/* One producer as its consumer sees it. */
typedef struct {
    uint32_t incarnation; /* whom we read; 0: nobody */
    uint32_t done;        /* the incarnation whose farewell we have passed */
    enum bus_head head;
    uint64_t key;
    uint64_t position, tail; /* ours, and the producer's as last seen */
    uint64_t word_seen;      /* of a staged head */
    uint64_t stalled_ns;     /* how long we have watched this staged head */
    uint64_t freed_bytes;    /* passed since the producer's bell was last rung */
    uint32_t freed_frames;
    bus_frame frame;         /* of a staged or readable head */
} bus_inlet;

typedef struct {
    const bus_view *view;
    bus_ringers *ringers;
    uint32_t me, incarnation;
    uint64_t epoch;
    uint32_t count;
    uint32_t slots[BUS_PEERS_MAX]; /* those with an incarnation to read */
    bus_inlet inlets[BUS_PEERS_MAX];
    uint64_t passed;       /* bit per producer that we gave room since the last bell */
    uint32_t open;         /* slot of the frame being read, or BUS_PEERS_MAX */
    uint32_t open_left;    /* its messages not read yet */
    uint64_t open_position;
} bus_receiver;

static inline void bus_receiver_open(bus_receiver *receiver, const bus_view *view, bus_ringers *ringers, uint32_t me,
                                     uint32_t incarnation) {
    memset(receiver, 0, sizeof *receiver);
    receiver->view = view, receiver->ringers = ringers, receiver->me = me, receiver->incarnation = incarnation;
    receiver->epoch = UINT64_MAX;
    receiver->open = BUS_PEERS_MAX;
    for (uint32_t slot = 0; slot < view->peers_max; slot++) {
        bus_slot *own = bus_slot_at(view, me);
        receiver->inlets[slot].done = (uint32_t)atomic_load_explicit(&own->seen[slot], memory_order_relaxed);
    }
}

/* Starts to read an incarnation. Who attached after us is met here too; who left before us is in `done`. */
static inline void bus_inlet_meet(bus_receiver *receiver, uint32_t slot, uint64_t state) {
    bus_inlet *inlet = &receiver->inlets[slot];
    uint32_t incarnation = bus_state_incarnation(state);
    if (bus_state_phase(state) == BUS_FREE || incarnation == inlet->done || inlet->incarnation) return;
    inlet->incarnation = incarnation;
    inlet->head = BUS_NOTHING;
    inlet->position = atomic_load_explicit(&bus_ring_at(receiver->view, slot, receiver->me)->head, memory_order_relaxed);
    inlet->tail = inlet->position;
}

/* Acquire: the epoch was advanced after the arrival or departure it stands for, and before that peer's next seq. */
static inline void bus_receiver_refresh(bus_receiver *receiver) {
    uint64_t epoch = atomic_load_explicit(&receiver->view->header->epoch, memory_order_acquire);
    if (epoch == receiver->epoch) return;
    receiver->count = 0;
    for (uint32_t slot = 0; slot < receiver->view->peers_max; slot++) {
        uint64_t state = bus_slot_state(receiver->view, slot);
        if (bus_state_phase(state) == BUS_LEAVING) {
            bus_finish_leaving(receiver->view, receiver->ringers, slot);
            state = bus_slot_state(receiver->view, slot);
        }
        bus_inlet_meet(receiver, slot, state);
        if (receiver->inlets[slot].incarnation) receiver->slots[receiver->count++] = slot;
    }
    receiver->epoch = epoch;
}

/* Release: our reads of the frame are over before its room and its word can be used again. */
static inline void bus_inlet_advance(bus_receiver *receiver, uint32_t slot, uint64_t position) {
    bus_inlet *inlet = &receiver->inlets[slot];
    inlet->freed_bytes += position - inlet->position;
    inlet->freed_frames++;
    inlet->position = position;
    inlet->head = BUS_NOTHING;
    atomic_store_explicit(&bus_ring_at(receiver->view, slot, receiver->me)->head, position, memory_order_release);
    receiver->passed |= (uint64_t)1 << slot;
}

static inline bool bus_is_ours(const bus_receiver *receiver, const bus_inlet *inlet) {
    return inlet->frame.from == inlet->incarnation && inlet->frame.to == receiver->incarnation;
}

/* True once the producer is gone and its farewell is known. */
static inline bool bus_has_departed(bus_receiver *receiver, uint32_t slot) {
    bus_inlet *inlet = &receiver->inlets[slot];
    uint64_t state = bus_slot_state(receiver->view, slot);
    if (state == bus_state(inlet->incarnation, BUS_NO_CAUSE, BUS_ACTIVE)) return false;
    if (bus_state_phase(state) == BUS_LEAVING) bus_finish_leaving(receiver->view, receiver->ringers, slot);
    /* Acquire: all that the peer committed is visible with its farewell. */
    uint64_t farewell = atomic_load_explicit(&bus_slot_at(receiver->view, slot)->farewell, memory_order_acquire);
    inlet->key = 2 * bus_word_value(farewell);
    return bus_word_state(farewell) == BUS_COMMITTED;
}

/* False: nothing to read in this ring now; the head says whether a farewell comes next. */
static inline bool bus_has_frame(bus_receiver *receiver, uint32_t slot) {
    bus_inlet *inlet = &receiver->inlets[slot];
    bus_ring *ring = bus_ring_at(receiver->view, slot, receiver->me);
    if (inlet->position != inlet->tail) return true;
    /* Acquire: the frames up to the tail are complete and their words are armed. */
    inlet->tail = atomic_load_explicit(&ring->tail, memory_order_acquire);
    if (inlet->position != inlet->tail) return true;
    inlet->head = BUS_NOTHING;
    if (!bus_has_departed(receiver, slot)) return false;
    inlet->tail = atomic_load_explicit(&ring->tail, memory_order_acquire); /* the last that it committed may be new */
    if (inlet->position != inlet->tail) return true;
    inlet->head = BUS_FAREWELL;
    return false;
}

/* What stands there is no frame: its producer is given up, and all that it published is void here. */
static inline void bus_inlet_distrust(bus_receiver *receiver, uint32_t slot) {
    bus_inlet *inlet = &receiver->inlets[slot];
    bus_begin_leaving(receiver->view, receiver->ringers, slot, inlet->incarnation, BUS_EVICTED);
    bus_inlet_advance(receiver, slot, inlet->tail);
}

/* One look at one ring: pops what is nobody's, and settles what its head is. A readable head stays as it is. */
static inline void bus_look(bus_receiver *receiver, uint32_t slot) {
    bus_inlet *inlet = &receiver->inlets[slot];
    if (inlet->head == BUS_READABLE || inlet->head == BUS_FAREWELL) return;
    while (inlet->head == BUS_STAGED || bus_has_frame(receiver, slot)) {
        if (inlet->head != BUS_STAGED) {
            bus_copy_out(receiver->view, bus_ring_at(receiver->view, slot, receiver->me), inlet->position, &inlet->frame,
                         sizeof inlet->frame);
            inlet->stalled_ns = 0;
            if (!bus_frame_is_sound(receiver->view, &inlet->frame, inlet->tail - inlet->position)) {
                bus_inlet_distrust(receiver, slot);
                continue;
            }
        }
        /* Acquire: with the seq come all entries of smaller seqs, which is what the second look relies on. */
        uint64_t word = bus_is_ours(receiver, inlet)
                            ? atomic_load_explicit(bus_word_at(receiver->view, slot, inlet->frame.word),
                                                   memory_order_acquire)
                            : bus_word(0, BUS_ABORTED);
        if (bus_word_state(word) != BUS_ABORTED) {
            bool committed = bus_word_state(word) == BUS_COMMITTED;
            inlet->head = committed ? BUS_READABLE : BUS_STAGED;
            inlet->key = committed ? 2 * bus_word_value(word) : 2 * inlet->frame.lower + 1;
            inlet->word_seen = word;
            return;
        }
        bus_inlet_advance(receiver, slot, inlet->position + inlet->frame.bytes);
    }
}

/* The slot whose head has the least key, or BUS_PEERS_MAX. */
static inline uint32_t bus_look_at_all(bus_receiver *receiver) {
    uint32_t least = BUS_PEERS_MAX;
    bus_receiver_refresh(receiver);
    for (uint32_t i = 0; i < receiver->count; i++) {
        uint32_t slot = receiver->slots[i];
        bus_look(receiver, slot);
        if (receiver->inlets[slot].head == BUS_NOTHING) continue;
        if (least == BUS_PEERS_MAX || receiver->inlets[slot].key < receiver->inlets[least].key) least = slot;
    }
    return least;
}

enum { BUS_EMPTY = BUS_PEERS_MAX, BUS_EVICTED_SELF = BUS_PEERS_MAX + 1 };

/* The slot whose head is next in the order, BUS_EMPTY, or BUS_EVICTED_SELF. */
static inline uint32_t bus_front(bus_receiver *receiver) {
    uint32_t candidate, least = bus_look_at_all(receiver);
    do {
        candidate = least;
        if (candidate == BUS_PEERS_MAX || receiver->inlets[candidate].head == BUS_STAGED) {
            candidate = BUS_EMPTY;
            break;
        }
        least = bus_look_at_all(receiver);
    } while (least != candidate);
    /* After the words: if one was used again because we were evicted, we see that here and trust nothing we read. */
    return bus_is_active(receiver->view, receiver->me, receiver->incarnation) ? candidate : BUS_EVICTED_SELF;
}

static inline void bus_frame_open(bus_receiver *receiver, uint32_t slot) {
    receiver->open = slot;
    receiver->open_left = receiver->inlets[slot].frame.count;
    receiver->open_position = receiver->inlets[slot].position + sizeof(bus_frame);
}

static inline uint32_t bus_message_length(bus_receiver *receiver) {
    const bus_inlet *inlet = &receiver->inlets[receiver->open];
    uint64_t behind_length = receiver->open_position + sizeof(uint32_t), end = inlet->position + inlet->frame.bytes;
    uint32_t length;
    bus_ring *ring = bus_ring_at(receiver->view, receiver->open, receiver->me);
    bus_copy_out(receiver->view, ring, receiver->open_position, &length, sizeof length);
    if (behind_length > end) return 0; /* damaged, see bus_frame_is_sound */
    return length <= end - behind_length ? length : (uint32_t)(end - behind_length);
}

static inline void bus_message_read(bus_receiver *receiver, void *to, uint32_t length) {
    bus_ring *ring = bus_ring_at(receiver->view, receiver->open, receiver->me);
    bus_copy_out(receiver->view, ring, receiver->open_position + sizeof length, to, length);
    receiver->open_position += sizeof length + length;
    receiver->open_left--;
}

static inline void bus_frame_close(bus_receiver *receiver) {
    bus_inlet *inlet = &receiver->inlets[receiver->open];
    BUS_STEP("dequeue: before head");
    bus_inlet_advance(receiver, receiver->open, inlet->position + inlet->frame.bytes);
    BUS_STEP("dequeue: after head");
    receiver->open = BUS_PEERS_MAX;
}

static inline void bus_farewell_pass(bus_receiver *receiver, uint32_t slot) {
    bus_inlet *inlet = &receiver->inlets[slot];
    inlet->done = inlet->incarnation;
    inlet->incarnation = 0;
    inlet->head = BUS_NOTHING;
    /* Release: our reads of the slot's name, words and rings are over before it is given to the next owner. */
    atomic_store_explicit(&bus_slot_at(receiver->view, receiver->me)->seen[slot], inlet->done, memory_order_release);
    receiver->epoch = UINT64_MAX; /* rebuild the list of whom to read */
}

/* Whether the room made is worth waking a producer for. Waking it for each frame would have it wait again after each
 * message; but when we have read all there is, whatever it waits for is there now. (In between, a waiter looks again at
 * the latest after BUS_WATCH_NS.) */
static inline bool bus_is_worth_a_bell(const bus_receiver *receiver, const bus_inlet *inlet) {
    return inlet->position == inlet->tail || inlet->freed_bytes * 4 >= receiver->view->ring_bytes ||
           inlet->freed_frames * 4 >= receiver->view->frames;
}

/* To be called after some dequeueing: producers may wait for the room that it made. */
static inline void bus_ring_producers(bus_receiver *receiver) {
    uint64_t ring = 0;
    for (uint64_t left = receiver->passed; left; left &= left - 1) {
        uint32_t slot = (uint32_t)__builtin_ctzll(left);
        if (bus_is_worth_a_bell(receiver, &receiver->inlets[slot])) ring |= (uint64_t)1 << slot;
    }
    if (!ring) return;
    bus_fence_before_bells();
    receiver->passed &= ~ring;
    for (; ring; ring &= ring - 1) {
        uint32_t slot = (uint32_t)__builtin_ctzll(ring);
        bus_inlet *inlet = &receiver->inlets[slot];
        inlet->freed_bytes = inlet->freed_frames = 0;
        bus_bell_ring(&bus_slot_at(receiver->view, slot)->room, receiver->ringers, slot,
                      inlet->incarnation ? inlet->incarnation : inlet->done);
    }
}

#endif
