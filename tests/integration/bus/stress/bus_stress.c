/* Threads that drive the bus's own functions as processes would, for ThreadSanitizer.
 *
 *   bus_stress SECONDS SEED
 *
 * Producers send numbered messages to random subsets, consumers check the order, and a reaper gives up a producer from time
 * to time, which then attaches anew. Every consumer checks that seqs grow, that a sender's numbers grow, and that a payload
 * is the one that its header promises. Ends with a line of figures; exit code 1 if anything was wrong.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>

#include "bus_peer.h"

enum { PRODUCERS = 3, CONSUMERS = 2, SLOTS = 8, RING_BYTES = 4096, FRAMES = 16, WORDS = 128 };

static bus_view view;
static _Atomic bool stop;
static _Atomic bool held[SLOTS]; /* stands for the locks that a kernel would keep */
static _Atomic unsigned long delivered, farewells, wrong, lost;
static pthread_mutex_t attaching = PTHREAD_MUTEX_INITIALIZER;

typedef struct {
    uint64_t sender, number, mask;
    unsigned char filling[64];
} payload;

static bool is_held(int lock_fd, uint32_t slot) {
    (void)lock_fd;
    return atomic_load(&held[slot]);
}

static void complain(const char *what, uint64_t a, uint64_t b) {
    fprintf(stderr, "wrong: %s (%llu, %llu)\n", what, (unsigned long long)a, (unsigned long long)b);
    atomic_fetch_add(&wrong, 1);
}

static void make_view(void) {
    uint64_t total = bus_shell_start(SLOTS, RING_BYTES, WORDS, SLOTS);
    unsigned char *base = mmap(NULL, total, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    view = (bus_view){.base = base, .length = total, .header = (bus_header *)base, .peers_max = SLOTS, .words = WORDS,
                      .frames = FRAMES, .ring_bytes = RING_BYTES, .stall_ns = 1000000000, .evict_ns = 0};
    atomic_store(&view.header->shells, SLOTS);
}

static bool attach(bus_peer *peer, bus_ringers *ringers) {
    char name[BUS_NAME_BYTES] = "stress";
    pthread_mutex_lock(&attaching);
    bus_reap(&view, ringers, is_held, -1, BUS_PEERS_MAX);
    uint32_t slot = 0;
    while (slot < SLOTS && !bus_is_reusable(&view, is_held, -1, slot)) slot++;
    bool found = slot < SLOTS;
    if (found) {
        atomic_store(&held[slot], true);
        *peer = (bus_peer){.view = &view, .ringers = ringers, .me = slot, .is_held = is_held, .lock_fd = -1};
        found = bus_attach(peer, name, slot);
    }
    pthread_mutex_unlock(&attaching);
    return found;
}

static void detach(bus_peer *peer, bus_ringers *ringers, enum bus_cause cause) {
    bus_begin_leaving(&view, ringers, peer->me, peer->incarnation, cause);
    bus_sender_close(&peer->sender);
    atomic_store(&held[peer->me], false);
}

static void wait_for_room(bus_peer *peer) {
    bus_watchlist list;
    bus_watch_room(peer, &list);
    bus_bell_wait(&bus_slot_at(&view, peer->me)->room, &list, 50, BUS_WATCH_NS);
}

static void send_some(bus_peer *peer, unsigned *seed, uint64_t *number) {
    payload sent[3];
    bus_piece pieces[3];
    uint64_t seq, mask = (uint64_t)rand_r(seed) & ((1u << SLOTS) - 1);
    uint32_t count = 1 + (uint32_t)rand_r(seed) % 3;
    for (uint32_t i = 0; i < count; i++) {
        sent[i] = (payload){.sender = peer->incarnation, .number = *number + i, .mask = mask};
        memset(sent[i].filling, (int)(sent[i].number & 0xff), sizeof sent[i].filling);
        pieces[i] = (bus_piece){&sent[i], sizeof sent[i]};
    }
    bus_sender_refresh(&peer->sender);
    switch (bus_send(&peer->sender, mask, BUS_DATA, pieces, count, &seq)) {
    case BUS_SENT: *number += count; break;
    case BUS_FULL: wait_for_room(peer); break;
    case BUS_LOST: atomic_fetch_add(&lost, 1); *number = 0; break;
    }
}

static void drain(bus_peer *peer);

static void *produce(void *argument) {
    unsigned seed = (unsigned)(uintptr_t)argument;
    bus_ringers ringers;
    bus_ringers_open(&ringers, "/nonexistent-");
    while (!atomic_load(&stop)) {
        bus_peer peer;
        uint64_t number = 1;
        if (!attach(&peer, &ringers)) {
            sched_yield();
            continue;
        }
        for (int i = 0; i < 2000 && number && !atomic_load(&stop); i++) {
            send_some(&peer, &seed, &number);
            drain(&peer);
        }
        detach(&peer, &ringers, BUS_DETACHED);
    }
    return NULL;
}


static void check_message(bus_peer *peer, const bus_inlet *inlet, const payload *got) {
    if (got->sender != inlet->incarnation) complain("sender", got->sender, inlet->incarnation);
    if (!(got->mask >> peer->me & 1)) complain("not for us", got->mask, peer->me);
    for (size_t i = 0; i < sizeof got->filling; i++)
        if (got->filling[i] != (got->number & 0xff)) complain("filling", got->filling[i], got->number);
}

static void take_frame(bus_peer *peer, uint32_t slot, uint64_t *last_seq) {
    bus_receiver *receiver = &peer->receiver;
    bus_inlet *inlet = &receiver->inlets[slot];
    if (inlet->key / 2 <= *last_seq) complain("seq", inlet->key / 2, *last_seq);
    *last_seq = inlet->key / 2;
    if (inlet->head == BUS_FAREWELL) {
        atomic_fetch_add(&farewells, 1);
        bus_farewell_pass(receiver, slot);
        return;
    }
    uint64_t before = 0;
    bus_frame_open(receiver, slot);
    while (receiver->open_left) {
        payload got;
        uint32_t length = bus_message_length(receiver);
        if (length != sizeof got) complain("length", length, sizeof got);
        bus_message_read(receiver, &got, sizeof got);
        check_message(peer, inlet, &got);
        if (before && got.number != before + 1) complain("number", got.number, before);
        before = got.number;
        atomic_fetch_add(&delivered, 1);
    }
    bus_frame_close(receiver);
}

static _Thread_local uint64_t last_seq_here;
static _Thread_local uint32_t last_seq_of;

static void drain(bus_peer *peer) {
    if (last_seq_of != peer->incarnation) last_seq_of = peer->incarnation, last_seq_here = 0;
    for (;;) {
        uint32_t slot = bus_front(&peer->receiver);
        if (slot >= BUS_PEERS_MAX) break;
        take_frame(peer, slot, &last_seq_here);
    }
    bus_ring_producers(&peer->receiver);
}

static void *consume(void *argument) {
    bus_ringers ringers;
    bus_peer peer;
    (void)argument;
    bus_ringers_open(&ringers, "/nonexistent-");
    if (!attach(&peer, &ringers)) return complain("no slot", 0, 0), NULL;
    while (!atomic_load(&stop)) {
        bus_watchlist list;
        drain(&peer);
        bus_watch_mail(&peer, &list);
        bus_bell_wait(&bus_slot_at(&view, peer.me)->mail, &list, 50, BUS_WATCH_NS);
        if (bus_clock_ns() - peer.watched_ns > BUS_WATCH_NS) bus_watch(&peer, false);
    }
    detach(&peer, &ringers, BUS_DETACHED);
    return NULL;
}

/* Gives up a random producer now and then, while it lives: it must find itself fenced. */
static void *evict(void *argument) {
    unsigned seed = (unsigned)(uintptr_t)argument;
    bus_ringers ringers;
    bus_ringers_open(&ringers, "/nonexistent-");
    while (!atomic_load(&stop)) {
        struct timespec nap = {.tv_nsec = 3000000};
        nanosleep(&nap, NULL);
        uint32_t slot = CONSUMERS + (uint32_t)rand_r(&seed) % (SLOTS - CONSUMERS);
        uint64_t state = bus_slot_state(&view, slot);
        if (bus_state_phase(state) == BUS_ACTIVE)
            bus_begin_leaving(&view, &ringers, slot, bus_state_incarnation(state), BUS_EVICTED);
    }
    return NULL;
}

int main(int count, char **arguments) {
    unsigned seconds = count > 1 ? (unsigned)atoi(arguments[1]) : 5, seed = count > 2 ? (unsigned)atoi(arguments[2]) : 1;
    pthread_t threads[PRODUCERS + CONSUMERS + 1];
    int started = 0;
    make_view();
    for (int i = 0; i < CONSUMERS; i++) pthread_create(&threads[started++], NULL, consume, NULL);
    struct timespec moment = {.tv_nsec = 100000000};
    nanosleep(&moment, NULL); /* the consumers have the first slots */
    for (int i = 0; i < PRODUCERS; i++)
        pthread_create(&threads[started++], NULL, produce, (void *)(uintptr_t)(seed * 100 + (unsigned)i));
    pthread_create(&threads[started++], NULL, evict, (void *)(uintptr_t)seed);
    sleep(seconds);
    atomic_store(&stop, true);
    for (int i = 0; i < started; i++) pthread_join(threads[i], NULL);
    printf("delivered %lu farewells %lu fenced %lu wrong %lu\n", delivered, farewells, lost, wrong);
    return wrong ? 1 : 0;
}
