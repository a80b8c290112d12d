/* A run is made by its slots, without its constructor, which costs more than all else that is done for a small one. */
#ifndef RINGCAST_COALESCING_SLOTS_H
#define RINGCAST_COALESCING_SLOTS_H

#include <Python.h>
#include <structmember.h>

enum { RUN_SLOTS = 9 };
static const char *const RUN_FIELDS[RUN_SLOTS] = {"channel", "tag",    "origin", "first",     "low",
                                                  "items",   "nbytes", "each",   "has_pieces"}; /* core/packets.py */

typedef struct {
    Py_ssize_t at[RUN_SLOTS];
} RunSlots;

static inline int find_slots(PyObject *run_type, RunSlots *slots) {
    if (!PyType_Check(run_type)) return PyErr_Format(PyExc_TypeError, "a type of runs is needed"), -1;
    for (int i = 0; i < RUN_SLOTS; i++) {
        PyObject *found = PyObject_GetAttrString(run_type, RUN_FIELDS[i]);
        if (found == NULL) return -1;
        int is_slot = Py_IS_TYPE(found, &PyMemberDescr_Type);
        if (is_slot) slots->at[i] = ((PyMemberDescrObject *)found)->d_member->offset;
        Py_DECREF(found);
        if (!is_slot) return PyErr_Format(PyExc_TypeError, "%s is no slot of a run", RUN_FIELDS[i]), -1;
    }
    return 0;
}

static inline PyObject *fill_run(PyTypeObject *run_type, const RunSlots *slots, PyObject *const *values) {
    PyObject *run = run_type->tp_alloc(run_type, 0);
    if (run == NULL) return NULL;
    for (int i = 0; i < RUN_SLOTS; i++) *(PyObject **)((char *)run + slots->at[i]) = Py_NewRef(values[i]);
    return run;
}

#endif
