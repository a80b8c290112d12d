/* One attached peer: its two halves, how it comes, and how it watches the others.
 *
 * Attaching happens under a lock of the file system that the caller holds, and that the kernel releases if it dies; the
 * slot becomes ACTIVE with the last store, so a crash on the way leaves it as free as it was. Nothing else takes a lock.
 */
#ifndef RINGCAST_BUS_PEER_H
#define RINGCAST_BUS_PEER_H

#include "bus_receive.h"
#include "bus_send.h"

#define BUS_WATCH_NS 50000000ull /* how often a waiter looks whether the others are alive */

/* Says whether some process still holds the lock of a slot. */
typedef bool (*bus_is_held)(int lock_fd, uint32_t slot);

typedef struct {
    bus_view *view;
    bus_ringers *ringers;
    bus_is_held is_held;
    int lock_fd;
    uint32_t me, incarnation;
    bus_sender sender;
    bus_receiver receiver;
    uint64_t watched_ns;            /* when we last looked after the others */
    uint64_t full_head, full_ns;    /* the head of the ring that refused us, and how long it has stood still */
    uint32_t full_slot;
} bus_peer;

static inline void bus_reap(const bus_view *view, bus_ringers *ringers, bus_is_held is_held, int lock_fd, uint32_t me) {
    for (uint32_t slot = 0; slot < view->peers_max; slot++) {
        uint64_t state = bus_slot_state(view, slot);
        if (slot == me || bus_state_phase(state) == BUS_FREE || bus_state_phase(state) == BUS_GONE) continue;
        if (bus_state_phase(state) == BUS_LEAVING) bus_finish_leaving(view, ringers, slot);
        /* Taken before ACTIVE and released after GONE: a free lock under ACTIVE means that the holder died. */
        else if (!is_held(lock_fd, slot)) bus_begin_leaving(view, ringers, slot, bus_state_incarnation(state), BUS_DIED);
    }
}

/* Whether nobody will touch the slot again: its process is gone, and everybody attached has dequeued its farewell. */
static inline bool bus_is_reusable(const bus_view *view, bus_is_held is_held, int lock_fd, uint32_t slot) {
    uint64_t state = bus_slot_state(view, slot);
    unsigned phase = bus_state_phase(state);
    if ((phase != BUS_FREE && phase != BUS_GONE) || is_held(lock_fd, slot)) return false;
    for (uint32_t other = 0; phase == BUS_GONE && other < view->peers_max; other++) {
        if (other == slot || bus_state_phase(bus_slot_state(view, other)) != BUS_ACTIVE) continue;
        /* Acquire: the other's last reads of the slot come before what we write into it. */
        uint64_t seen = atomic_load_explicit(&bus_slot_at(view, other)->seen[slot], memory_order_acquire);
        if (seen != bus_state_incarnation(state)) return false;
    }
    return true;
}

/* Fresh words under fresh numbers, so that a late helper of the former owner finds none that it has seen. */
static inline void bus_words_renew(const bus_view *view, uint32_t slot) {
    bus_atomic *transactions = &bus_slot_at(view, slot)->transactions;
    uint64_t last = atomic_load_explicit(transactions, memory_order_relaxed);
    for (uint32_t index = 0; index < view->words; index++)
        atomic_store_explicit(bus_word_at(view, slot, index), bus_word(last + 1 + index, BUS_ABORTED), memory_order_relaxed);
    atomic_store_explicit(transactions, last + view->words, memory_order_relaxed);
}

/* Start reading every ring where it stands; farewells of those who left before us are not ours to hear. */
static inline void bus_rings_join(const bus_view *view, uint32_t me) {
    uint64_t shells = atomic_load_explicit(&view->header->shells, memory_order_relaxed);
    for (uint32_t slot = 0; slot < view->peers_max; slot++) {
        uint64_t state = bus_slot_state(view, slot), seen = bus_state_incarnation(state);
        if (bus_state_phase(state) == BUS_ACTIVE || bus_state_phase(state) == BUS_LEAVING) seen = 0;
        atomic_store_explicit(&bus_slot_at(view, me)->seen[slot], seen, memory_order_relaxed);
        if (slot >= shells) continue; /* never used: its rings are empty, and may not be backed by memory yet */
        bus_ring *ring = bus_ring_at(view, slot, me);
        atomic_store_explicit(&ring->head, atomic_load_explicit(&ring->tail, memory_order_acquire), memory_order_relaxed);
    }
}

static inline void bus_bell_reset(bus_bell *bell) {
    atomic_store_explicit(&bell->asleep, 0, memory_order_relaxed);
    atomic_store_explicit(&bell->armed, 0, memory_order_relaxed);
}

/* The caller holds the attach lock and the slot's own, and found the slot reusable. Stores are relaxed except the names'
 * (see bus_name_read): the state that comes last is stored with release and read with acquire. */
static inline uint32_t bus_slot_take(const bus_view *view, uint32_t me, const char name[BUS_NAME_BYTES], uint64_t pid) {
    bus_slot *slot = bus_slot_at(view, me);
    uint32_t former = bus_state_incarnation(bus_slot_state(view, me));
    uint32_t incarnation =
        (uint32_t)atomic_fetch_add_explicit(&view->header->last_incarnation, 1, memory_order_relaxed) + 1;
    atomic_store_explicit(&slot->state, bus_state(former, BUS_NO_CAUSE, BUS_FREE), memory_order_relaxed);
    BUS_STEP("attach: freed");
    for (unsigned i = 0; i < BUS_NAME_WORDS; i++) {
        uint64_t part;
        memcpy(&part, name + 8 * i, 8);
        atomic_store_explicit(&slot->name[i], part, memory_order_release);
    }
    atomic_store_explicit(&slot->pid, pid, memory_order_relaxed);
    atomic_store_explicit(&slot->farewell, bus_word(incarnation, BUS_UNSET), memory_order_relaxed);
    bus_bell_reset(&slot->mail);
    bus_bell_reset(&slot->room);
    bus_words_renew(view, me);
    BUS_STEP("attach: words renewed");
    bus_rings_join(view, me);
    BUS_STEP("attach: before active");
    atomic_store_explicit(&slot->state, bus_state(incarnation, BUS_NO_CAUSE, BUS_ACTIVE), memory_order_release);
    BUS_STEP("attach: active");
    return incarnation;
}

static inline bool bus_attach(bus_peer *peer, const char name[BUS_NAME_BYTES], uint64_t pid) {
    peer->incarnation = bus_slot_take(peer->view, peer->me, name, pid);
    bus_receiver_open(&peer->receiver, peer->view, peer->ringers, peer->me, peer->incarnation);
    if (!bus_sender_open(&peer->sender, peer->view, peer->ringers, peer->me, peer->incarnation)) return false;
    bus_epoch_advance(peer->view); /* before our first seq: who acquires a later one must know of us */
    bus_ring_all(peer->view, peer->ringers);
    peer->full_slot = BUS_PEERS_MAX;
    peer->watched_ns = bus_clock_ns();
    return true;
}

/* Time counts only while we watched: a machine that was stopped as a whole accuses nobody when it wakes. */
static inline uint64_t bus_watched_since(bus_peer *peer) {
    uint64_t now = bus_clock_ns(), elapsed = now - peer->watched_ns;
    peer->watched_ns = now;
    return elapsed < 2 * BUS_WATCH_NS ? elapsed : 2 * BUS_WATCH_NS;
}

static inline void bus_fence_stalled(bus_peer *peer, uint64_t elapsed) {
    for (uint32_t i = 0; i < peer->receiver.count; i++) {
        uint32_t slot = peer->receiver.slots[i];
        bus_inlet *inlet = &peer->receiver.inlets[slot];
        if (inlet->head != BUS_STAGED || slot == peer->me) continue;
        bus_atomic *word = bus_word_at(peer->view, slot, inlet->frame.word);
        if (atomic_load_explicit(word, memory_order_relaxed) != inlet->word_seen) continue; /* it moved after our look */
        inlet->stalled_ns += elapsed;
        if (inlet->stalled_ns > peer->view->stall_ns)
            bus_begin_leaving(peer->view, peer->ringers, slot, inlet->incarnation, BUS_STALLED);
    }
}

/* Called while a send waits: a consumer that has read nothing for so long is not waited for any more. */
static inline void bus_evict_idle(bus_peer *peer, uint64_t elapsed) {
    uint32_t slot = peer->sender.full;
    uint64_t head = peer->sender.outbox.outlets[slot].head;
    if (peer->full_slot != slot || peer->full_head != head) {
        peer->full_slot = slot, peer->full_head = head, peer->full_ns = 0;
        return;
    }
    peer->full_ns += elapsed;
    if (peer->view->evict_ns && peer->full_ns > peer->view->evict_ns && slot != peer->me)
        bus_begin_leaving(peer->view, peer->ringers, slot, peer->sender.outbox.outlets[slot].incarnation, BUS_EVICTED);
}

static inline void bus_watch(bus_peer *peer, bool send_waits) {
    uint64_t elapsed = bus_watched_since(peer);
    bus_reap(peer->view, peer->ringers, peer->is_held, peer->lock_fd, peer->me);
    bus_fence_stalled(peer, elapsed);
    if (send_waits) bus_evict_idle(peer, elapsed);
}

/* What must change before dequeueing can have more to say than "empty". */
static inline void bus_watch_mail(const bus_peer *peer, bus_watchlist *list) {
    const bus_receiver *receiver = &peer->receiver;
    list->count = 0;
    bus_watchlist_add(list, &peer->view->header->epoch, receiver->epoch);
    for (uint32_t i = 0; i < receiver->count; i++) {
        uint32_t slot = receiver->slots[i];
        const bus_inlet *inlet = &receiver->inlets[slot];
        if (inlet->head == BUS_NOTHING)
            bus_watchlist_add(list, &bus_ring_at(peer->view, slot, peer->me)->tail, inlet->tail);
        else if (inlet->head == BUS_STAGED)
            bus_watchlist_add(list, bus_word_at(peer->view, slot, inlet->frame.word), inlet->word_seen);
    }
}

/* What must change before a refused send can succeed. */
static inline void bus_watch_room(const bus_peer *peer, bus_watchlist *list) {
    const bus_sender *sender = &peer->sender;
    list->count = 0;
    bus_watchlist_add(list, &peer->view->header->epoch, sender->epoch);
    bus_watchlist_add(list, &bus_ring_at(peer->view, peer->me, sender->full)->head,
                      sender->outbox.outlets[sender->full].head);
}

#endif
