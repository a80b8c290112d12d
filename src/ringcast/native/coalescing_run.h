/* How a multicast run looks in a frame, for those that repeat: see src/ringcast/wire/header.py and runs.py.
 *
 *   head 12 | sender's address | channel 1 | flags 1 | count 4 | first 8 | low 8 | tag: number 8, address | lengths | items
 *
 * Only what nearly every frame is at full speed is read here: whole messages or one piece, in the sender's own stream.
 * Whatever differs in any way is left to the codec, which knows all forms and says what is wrong. Knows no Python. */
#ifndef RINGCAST_COALESCING_RUN_H
#define RINGCAST_COALESCING_RUN_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { HEAD_BYTES = 12, ADDRESS_BYTES = 10, RUN_BYTES = 22, NUMBER_BYTES = 8, LENGTH_BYTES = 2 };
enum { KIND_AT = 3, KIND_RUN = 1, CHANNEL_GROUP = 0, UNIFORM = 1, MORE = 2, MAX_ITEMS = 32768 };

/* Where the parts of a frame end that repeat from run to run. */
typedef struct {
    size_t head_end, tag_end;
} run_shape;

typedef struct {
    int64_t first, low;
    uint32_t count;
    uint32_t each; /* the length of every item; 0: look into the table */
    bool is_piece;
    const uint8_t *lengths, *items;
    int64_t nbytes;
} run_view;

static inline uint64_t little(const uint8_t *at, int bytes) {
    uint64_t value = 0;
    for (int i = 0; i < bytes; i++) value |= (uint64_t)at[i] << 8 * i;
    return value;
}

/* Where the address ends that begins at `at`; 0 if the frame is too short for it. */
static inline size_t address_end(const uint8_t *frame, size_t size, size_t at) {
    if (at + ADDRESS_BYTES > size) return 0;
    size_t end = at + ADDRESS_BYTES + frame[at] + frame[at + 1];
    return end > size ? 0 : end;
}

static inline bool find_shape(const uint8_t *frame, size_t size, run_shape *shape) {
    shape->head_end = address_end(frame, size, HEAD_BYTES);
    if (!shape->head_end || frame[KIND_AT] != KIND_RUN) return false;
    shape->tag_end = address_end(frame, size, shape->head_end + RUN_BYTES + NUMBER_BYTES);
    return shape->tag_end != 0;
}

static inline bool has_sound_numbers(const run_view *run) {
    return run->count > 0 && run->count <= MAX_ITEMS && run->low >= 0 && run->low < run->first &&
           run->first <= INT64_MAX - (int64_t)run->count;
}

static inline bool has_sound_lengths(run_view *run, const uint8_t *end) {
    run->each = 0;
    run->nbytes = 0;
    if ((size_t)(end - run->lengths) < (size_t)LENGTH_BYTES * run->count) return false;
    run->items = run->lengths + (size_t)LENGTH_BYTES * run->count;
    for (uint32_t i = 0; i < run->count; i++) run->nbytes += (int64_t)little(run->lengths + LENGTH_BYTES * i, 2);
    return end - run->items == run->nbytes;
}

static inline bool has_sound_length(run_view *run, const uint8_t *end) {
    if (end - run->lengths < LENGTH_BYTES) return false;
    run->each = (uint32_t)little(run->lengths, 2);
    run->nbytes = (int64_t)run->each * run->count;
    run->items = run->lengths + LENGTH_BYTES;
    return run->each > 0 && end - run->items == run->nbytes;
}

/* The run in a frame of this shape; false: not one of those that are read here. */
static inline bool read_run(const uint8_t *frame, size_t size, run_shape shape, run_view *run) {
    if (size < shape.tag_end) return false;
    const uint8_t *at = frame + shape.head_end, *end = frame + size;
    uint8_t flags = at[1];
    if (at[0] != CHANNEL_GROUP || (flags != 0 && flags != UNIFORM && flags != (UNIFORM | MORE))) return false;
    run->count = (uint32_t)little(at + 2, 4);
    run->first = (int64_t)little(at + 6, 8);
    run->low = (int64_t)little(at + 14, 8);
    run->lengths = frame + shape.tag_end;
    run->is_piece = (flags & MORE) != 0;
    if (!has_sound_numbers(run) || (run->is_piece && run->count != 1)) return false;
    return flags & UNIFORM ? has_sound_length(run, end) : has_sound_lengths(run, end);
}

static inline uint32_t length_of(const run_view *run, uint32_t index) {
    return run->each ? run->each : (uint32_t)little(run->lengths + LENGTH_BYTES * index, 2);
}

#endif
