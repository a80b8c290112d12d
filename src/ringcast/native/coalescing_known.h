/* Heads and tags that the codec has accepted: frames that repeat them need no second look at them. Bounded. */
#ifndef RINGCAST_COALESCING_KNOWN_H
#define RINGCAST_COALESCING_KNOWN_H

#include <Python.h>

#include "coalescing_run.h"

enum { MOST_KNOWN = 64 };

typedef struct {
    PyObject *beginning; /* bytes of the frame that taught us, up to the end of its tag */
    PyObject *sender, *tag;
    run_shape shape;
} Known;

typedef struct {
    Known entry[MOST_KNOWN];
    int last, next; /* the one that was found last; the one to be replaced next */
} KnownTable;

static inline bool is_like(const Known *known, const uint8_t *frame, size_t size) {
    if (known->beginning == NULL || size < known->shape.tag_end) return false;
    const uint8_t *seen = (const uint8_t *)PyBytes_AS_STRING(known->beginning);
    size_t tag_at = known->shape.head_end + RUN_BYTES;
    return memcmp(seen, frame, known->shape.head_end) == 0 &&
           memcmp(seen + tag_at, frame + tag_at, known->shape.tag_end - tag_at) == 0;
}

static inline Known *find_known(KnownTable *table, const uint8_t *frame, size_t size) {
    if (is_like(&table->entry[table->last], frame, size)) return &table->entry[table->last];
    for (int i = 0; i < MOST_KNOWN && table->entry[i].beginning != NULL; i++)
        if (is_like(&table->entry[i], frame, size)) {
            table->last = i;
            return &table->entry[i];
        }
    return NULL;
}

/* The codec has accepted this run of the sender's own: its head and its tag are right whenever they come again. */
static inline int learn(KnownTable *table, const uint8_t *frame, size_t size, PyObject *sender, PyObject *tag) {
    run_shape shape;
    if (!find_shape(frame, size, &shape)) return 0;
    Known *known = &table->entry[table->next];
    PyObject *beginning = PyBytes_FromStringAndSize((const char *)frame, (Py_ssize_t)shape.tag_end);
    if (beginning == NULL) return -1;
    table->last = table->next;
    table->next = (table->next + 1) % MOST_KNOWN;
    Py_XSETREF(known->beginning, beginning);
    Py_XSETREF(known->sender, Py_NewRef(sender));
    Py_XSETREF(known->tag, Py_NewRef(tag));
    known->shape = shape;
    return 0;
}

static inline int visit_known(KnownTable *table, visitproc visit, void *arg) {
    for (int i = 0; i < MOST_KNOWN; i++) {
        Py_VISIT(table->entry[i].sender);
        Py_VISIT(table->entry[i].tag);
    }
    return 0;
}

static inline void clear_known(KnownTable *table) {
    for (int i = 0; i < MOST_KNOWN; i++) {
        Py_CLEAR(table->entry[i].beginning);
        Py_CLEAR(table->entry[i].sender);
        Py_CLEAR(table->entry[i].tag);
    }
}

#endif
