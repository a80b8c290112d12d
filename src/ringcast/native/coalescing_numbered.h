/* Acks and announcements that differ from one before in the numbers at their end alone, as most frames without data do.
 *
 *   head | sender's address | channel 1 | tag | upto 8            an ack
 *   head | sender's address | channel 1 | tag | high 8 | low 8    an announcement
 *
 * What stands before the numbers is learned from a frame that the codec has accepted, and is right whenever it comes
 * again. Numbers that are not sound are left to the codec, which says what is wrong. Bounded. */
#ifndef RINGCAST_COALESCING_NUMBERED_H
#define RINGCAST_COALESCING_NUMBERED_H

#include <Python.h>

#include "coalescing_open.h"
#include "coalescing_run.h"
#include "coalescing_slots.h"

enum { MOST_NUMBERED = 64, KIND_ACK = 2, KIND_HIGHEST = 4, MOST_NUMBERS = 2 };

typedef struct {
    PyObject *beginning; /* all that stands before the numbers */
    PyObject *sender, *channel, *tag;
} Numbered;

typedef struct {
    Numbered entry[MOST_NUMBERED];
    int next; /* the one to be replaced next */
} NumberedTable;

/* How many numbers end a frame of this kind; 0: it is not of those that are read here. */
static inline int numbers_in(const uint8_t *frame, size_t size) {
    if (size <= HEAD_BYTES + MOST_NUMBERS * NUMBER_BYTES) return 0;
    return frame[KIND_AT] == KIND_ACK ? 1 : frame[KIND_AT] == KIND_HIGHEST ? 2 : 0;
}

static inline const Numbered *find_numbered(const NumberedTable *table, const uint8_t *frame, size_t length) {
    for (int i = 0; i < MOST_NUMBERED && table->entry[i].beginning != NULL; i++) {
        PyObject *seen = table->entry[i].beginning;
        if ((size_t)PyBytes_GET_SIZE(seen) == length && memcmp(PyBytes_AS_STRING(seen), frame, length) == 0)
            return &table->entry[i];
    }
    return NULL;
}

/* An ack counts up; an announcement's low is not above its high. */
static inline bool has_sound_end(const int64_t *number, int count) {
    return count == 1 ? number[0] >= 0 : number[1] >= 0 && number[1] <= number[0];
}

/* The packet in the frame: (sender, packet); NULL without an error: it is left to the codec. */
static inline PyObject *read_numbered(const NumberedTable *table, PyObject *type, const Slots *slots,
                                      const uint8_t *frame, size_t size, int count) {
    size_t length = size - (size_t)(count * NUMBER_BYTES);
    const Numbered *known = find_numbered(table, frame, length);
    int64_t number[MOST_NUMBERS];
    PyObject *values[2 + MOST_NUMBERS] = {NULL}, *packet = NULL, *read = NULL;
    if (known == NULL) return NULL;
    for (int i = 0; i < count; i++) number[i] = (int64_t)little(frame + length + NUMBER_BYTES * i, NUMBER_BYTES);
    if (!has_sound_end(number, count)) return NULL;
    values[0] = known->channel;
    values[1] = known->tag;
    bool is_made = true;
    for (int i = 0; i < count; i++) is_made = (values[2 + i] = PyLong_FromLongLong(number[i])) != NULL && is_made;
    if (is_made) packet = fill_slots((PyTypeObject *)type, slots, values);
    if (packet != NULL) read = PyTuple_Pack(2, known->sender, packet);
    for (int i = 0; i < count; i++) Py_XDECREF(values[2 + i]);
    Py_XDECREF(packet);
    return read;
}

/* The codec has read this frame, and this packet in it. */
static inline int learn_numbered(NumberedTable *table, const uint8_t *frame, size_t size, int count, PyObject *sender,
                                 PyObject *packet) {
    size_t length = size - (size_t)(count * NUMBER_BYTES);
    if (find_numbered(table, frame, length) != NULL) return 0; /* its numbers were not sound */
    PyObject *beginning = PyBytes_FromStringAndSize((const char *)frame, (Py_ssize_t)length);
    PyObject *channel = PyObject_GetAttr(packet, NAME_CHANNEL), *tag = PyObject_GetAttr(packet, NAME_TAG);
    if (beginning == NULL || channel == NULL || tag == NULL) {
        Py_XDECREF(beginning);
        Py_XDECREF(channel);
        Py_XDECREF(tag);
        return -1;
    }
    Numbered *known = &table->entry[table->next];
    table->next = (table->next + 1) % MOST_NUMBERED;
    Py_XSETREF(known->beginning, beginning);
    Py_XSETREF(known->sender, Py_NewRef(sender));
    Py_XSETREF(known->channel, channel);
    Py_XSETREF(known->tag, tag);
    return 0;
}

static inline int visit_numbered(NumberedTable *table, visitproc visit, void *arg) {
    for (int i = 0; i < MOST_NUMBERED; i++) {
        Py_VISIT(table->entry[i].sender);
        Py_VISIT(table->entry[i].channel);
        Py_VISIT(table->entry[i].tag);
    }
    return 0;
}

static inline void clear_numbered(NumberedTable *table) {
    for (int i = 0; i < MOST_NUMBERED; i++) {
        Py_CLEAR(table->entry[i].beginning);
        Py_CLEAR(table->entry[i].sender);
        Py_CLEAR(table->entry[i].channel);
        Py_CLEAR(table->entry[i].tag);
    }
}

#endif
