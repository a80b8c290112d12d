/* Waking those who sleep, and only those.
 *
 * A sleeper says that it sleeps, looks once more, and only then sleeps; a ringer changes the bus, then looks who sleeps.
 * Both put a seq_cst fence between their write and their read. So at least one of the two sees the other: this is the
 * one place where acquire and release are not enough, since each side stores to one word and loads another.
 *
 * Whoever takes the mark of the sleepers wakes them all; others find none and go on. So a wake-up that is under way costs
 * the rest nothing, however long the sleeper takes to run. If the taker dies on the spot, the sleeper's own limit ends
 * the sleep.
 *
 * Threads sleep in futex; event loops wait on a FIFO beside the bus file, because a futex cannot be polled.
 */
#ifndef RINGCAST_BUS_BELL_H
#define RINGCAST_BUS_BELL_H

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "bus_layout.h"

/* The writing ends of other peers' FIFOs, opened when first needed. */
typedef struct {
    char prefix[PATH_MAX - 16]; /* FIFO of slot s: prefix followed by s */
    int fds[BUS_PEERS_MAX];
    uint32_t incarnations[BUS_PEERS_MAX]; /* whose FIFO fds[s] is */
} bus_ringers;

static inline void bus_ringers_open(bus_ringers *ringers, const char *prefix) {
    snprintf(ringers->prefix, sizeof ringers->prefix, "%s", prefix);
    for (uint32_t slot = 0; slot < BUS_PEERS_MAX; slot++) ringers->fds[slot] = -1, ringers->incarnations[slot] = 0;
}

static inline void bus_ringers_close(bus_ringers *ringers) {
    for (uint32_t slot = 0; slot < BUS_PEERS_MAX; slot++) {
        if (ringers->fds[slot] >= 0) close(ringers->fds[slot]);
        ringers->fds[slot] = -1;
    }
}

static inline int bus_fifo_of(bus_ringers *ringers, uint32_t slot, uint32_t incarnation) {
    char path[PATH_MAX];
    if (ringers->fds[slot] >= 0 && ringers->incarnations[slot] == incarnation) return ringers->fds[slot];
    if (ringers->fds[slot] >= 0) close(ringers->fds[slot]);
    snprintf(path, sizeof path, "%s%u", ringers->prefix, slot);
    /* Read and write: with ourselves as a reader, a write to the FIFO of a dead peer cannot raise SIGPIPE. */
    ringers->fds[slot] = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    ringers->incarnations[slot] = incarnation;
    return ringers->fds[slot];
}

/* The caller has put a seq_cst fence behind the change that it announces. */
static inline void bus_bell_ring(bus_bell *bell, bus_ringers *ringers, uint32_t slot, uint32_t incarnation) {
    /* Relaxed: the fences order this load against the sleeper's store, and no data is read through it. */
    if (atomic_load_explicit(&bell->asleep, memory_order_relaxed) != 0 &&
        /* Acquire, of the sleeper's release: its read of the value comes before our change of it. */
        atomic_exchange_explicit(&bell->asleep, 0, memory_order_acquire) != 0) {
        BUS_STEP("bell: taken");
        atomic_fetch_add_explicit(&bell->value, 1, memory_order_relaxed); /* the kernel compares it under its own lock */
        syscall(SYS_futex, &bell->value, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
    }
    uint32_t armed = incarnation; /* named, so that a late bell for a former owner leaves the present one's alone */
    if (atomic_load_explicit(&bell->armed, memory_order_relaxed) != armed) return;
    if (!atomic_compare_exchange_strong_explicit(&bell->armed, &armed, 0, memory_order_relaxed, memory_order_relaxed))
        return; /* another ringer writes */
    int fd = bus_fifo_of(ringers, slot, incarnation);
    if (fd >= 0 && write(fd, "", 1) < 0) return; /* full: the loop has bytes to wake up for already */
}

static inline void bus_fence_before_bells(void) { atomic_thread_fence(memory_order_seq_cst); }

/* For an event loop: from here on a change writes to the FIFO, once. The caller looks at the bus again after this. */
static inline void bus_bell_arm(bus_bell *bell, uint32_t incarnation) {
    atomic_store_explicit(&bell->armed, incarnation, memory_order_relaxed);
    bus_fence_before_bells();
}

/* What a waiter saw. As soon as one of these words differs, it is worth looking at the bus again. */
typedef struct {
    const bus_atomic *at[2 * BUS_PEERS_MAX + 1];
    uint64_t was[2 * BUS_PEERS_MAX + 1];
    unsigned count;
} bus_watchlist;

static inline void bus_watchlist_add(bus_watchlist *list, const bus_atomic *at, uint64_t was) {
    list->at[list->count] = at;
    list->was[list->count++] = was;
}

/* Relaxed: this only says "look again"; the look that follows does its own acquiring. */
static inline bool bus_watchlist_changed(const bus_watchlist *list) {
    for (unsigned i = 0; i < list->count; i++)
        if (atomic_load_explicit(list->at[i], memory_order_relaxed) != list->was[i]) return true;
    return false;
}

static inline uint64_t bus_clock_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static inline void bus_relax(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ __volatile__("yield");
#endif
}

/* Spins briefly (a partner on another core answers within microseconds), then sleeps at most `sleep_ns`. */
static inline void bus_bell_wait(bus_bell *bell, const bus_watchlist *list, unsigned spins, uint64_t sleep_ns) {
    for (unsigned i = 0; i < spins; i++) {
        if (bus_watchlist_changed(list)) return;
        bus_relax();
    }
    uint32_t value = atomic_load_explicit(&bell->value, memory_order_relaxed);
    /* Release: who takes this mark changes the value after our read of it, so we cannot sleep through that change. Not
     * taken back if we need no sleep after all: another thread may have set it too, and one bell in vain is cheap. */
    atomic_store_explicit(&bell->asleep, 1, memory_order_release);
    bus_fence_before_bells();
    if (bus_watchlist_changed(list)) return;
    struct timespec limit = {.tv_sec = (time_t)(sleep_ns / 1000000000u), .tv_nsec = (long)(sleep_ns % 1000000000u)};
    syscall(SYS_futex, &bell->value, FUTEX_WAIT, value, &limit, NULL, 0);
}

#endif
