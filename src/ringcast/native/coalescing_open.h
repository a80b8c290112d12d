/* Runs of one wake that were handed on and may be continued by the next frame of their sender. Bounded.
 * The numbers of a run that is continued are kept here and written into the run when it is settled. */
#ifndef RINGCAST_COALESCING_OPEN_H
#define RINGCAST_COALESCING_OPEN_H

#include <Python.h>
#include <stdbool.h>
#include <stdint.h>

enum { MOST_OPEN = 64 }; /* as in src/ringcast/runtime/coalescing.py */

typedef struct {
    PyObject *sender, *run;
    PyObject *items, *tag; /* NULL: the codec has read it, and only another that the codec reads may continue it */
    int64_t next, low, nbytes;
    uint32_t each;
    bool has_pieces, is_piece, is_changed;
} Open;

typedef struct {
    int count;
    Open entry[MOST_OPEN]; /* what lies behind `count` was never written */
} OpenTable;

/* The attributes of a run, interned once. */
static PyObject *NAME_LOW, *NAME_NBYTES, *NAME_EACH, *NAME_HAS_PIECES, *NAME_CHANNEL, *NAME_ORIGIN, *NAME_TAG;

static inline bool intern_names(void) {
    return (NAME_LOW = PyUnicode_InternFromString("low")) && (NAME_NBYTES = PyUnicode_InternFromString("nbytes")) &&
           (NAME_EACH = PyUnicode_InternFromString("each")) && (NAME_TAG = PyUnicode_InternFromString("tag")) &&
           (NAME_HAS_PIECES = PyUnicode_InternFromString("has_pieces")) &&
           (NAME_CHANNEL = PyUnicode_InternFromString("channel")) &&
           (NAME_ORIGIN = PyUnicode_InternFromString("origin"));
}

static inline int set_number(PyObject *run, PyObject *name, int64_t value) {
    PyObject *number = PyLong_FromLongLong(value);
    int failed = number == NULL || PyObject_SetAttr(run, name, number);
    Py_XDECREF(number);
    return failed ? -1 : 0;
}

/* What was added to the list of an open run becomes visible in its other fields. */
static inline int settle(Open *open) {
    if (!open->is_changed) return 0;
    open->is_changed = false;
    if (set_number(open->run, NAME_LOW, open->low) || set_number(open->run, NAME_NBYTES, open->nbytes) ||
        set_number(open->run, NAME_EACH, open->each))
        return -1;
    return open->has_pieces ? PyObject_SetAttr(open->run, NAME_HAS_PIECES, Py_True) : 0;
}

static inline void forget(Open *open) {
    Py_CLEAR(open->sender);
    Py_CLEAR(open->run);
    Py_CLEAR(open->items);
    Py_CLEAR(open->tag);
}

static inline int close_all(OpenTable *table) {
    int failed = 0;
    for (int i = 0; i < table->count; i++) {
        failed |= settle(&table->entry[i]);
        forget(&table->entry[i]);
    }
    table->count = 0;
    return failed;
}

static inline Open *open_of(OpenTable *table, PyObject *sender) {
    for (int i = 0; i < table->count; i++)
        if (table->entry[i].sender == sender) return &table->entry[i];
    return NULL;
}

/* A place for the sender's next run: where its last one was, or a new one; with too many senders all begin anew. */
static inline Open *place_for(OpenTable *table, PyObject *sender) {
    Open *open = open_of(table, sender);
    if (open != NULL) {
        int failed = settle(open);
        forget(open);
        open->sender = Py_NewRef(sender);
        return failed ? NULL : open;
    }
    if (table->count == MOST_OPEN && close_all(table)) return NULL;
    open = &table->entry[table->count++];
    *open = (Open){.sender = Py_NewRef(sender)};
    return open;
}

static inline void forget_all(OpenTable *table) {
    for (int i = 0; i < table->count; i++) forget(&table->entry[i]);
    table->count = 0;
}

#endif
