/* A packet is made by its slots, without its constructor, which costs more than all else that is done for a small one. */
#ifndef RINGCAST_COALESCING_SLOTS_H
#define RINGCAST_COALESCING_SLOTS_H

#include <Python.h>
#include <structmember.h>

enum { MOST_SLOTS = 9 };

/* The fields of packets, in the order of core/packets.py. */
static const char *const RUN_FIELDS[] = {"channel", "tag",    "origin", "first",      "low",
                                         "items",   "nbytes", "each",   "has_pieces", NULL};
static const char *const ACK_FIELDS[] = {"channel", "tag", "upto", NULL};
static const char *const HIGHEST_FIELDS[] = {"channel", "tag", "high", "low", NULL};

typedef struct {
    int count;
    Py_ssize_t at[MOST_SLOTS];
} Slots;

static inline int find_slots(PyObject *type, const char *const *fields, Slots *slots) {
    if (!PyType_Check(type)) return PyErr_Format(PyExc_TypeError, "a type of packets is needed"), -1;
    for (slots->count = 0; fields[slots->count] != NULL; slots->count++) {
        const char *field = fields[slots->count];
        PyObject *found = PyObject_GetAttrString(type, field);
        if (found == NULL) return -1;
        int is_slot = Py_IS_TYPE(found, &PyMemberDescr_Type);
        if (is_slot) slots->at[slots->count] = ((PyMemberDescrObject *)found)->d_member->offset;
        Py_DECREF(found);
        if (!is_slot) return PyErr_Format(PyExc_TypeError, "%s is no slot of a packet", field), -1;
    }
    return 0;
}

static inline PyObject *fill_slots(PyTypeObject *type, const Slots *slots, PyObject *const *values) {
    PyObject *packet = type->tp_alloc(type, 0);
    if (packet == NULL) return NULL;
    for (int i = 0; i < slots->count; i++) *(PyObject **)((char *)packet + slots->at[i]) = Py_NewRef(values[i]);
    return packet;
}

#endif
