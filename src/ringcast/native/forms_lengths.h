/* The types and lengths of a list of payloads, in one pass over it. */
#ifndef RINGCAST_FORMS_LENGTHS_H
#define RINGCAST_FORMS_LENGTHS_H

#include <Python.h>

static PyObject *table_of(PyObject *payloads) {
    Py_ssize_t count = PyList_GET_SIZE(payloads);
    PyObject *table = PyList_New(count);
    for (Py_ssize_t i = 0; table != NULL && i < count; i++) {
        PyObject *length = PyLong_FromSsize_t(PyBytes_GET_SIZE(PyList_GET_ITEM(payloads, i)));
        if (length == NULL) {
            Py_CLEAR(table);
        } else {
            PyList_SET_ITEM(table, i, length);
        }
    }
    return table;
}

/* The one length of all, or a table of them; None if the list is empty or something in it is no plain bytes. */
static PyObject *lengths(PyObject *Py_UNUSED(module), PyObject *payloads) {
    if (!PyList_CheckExact(payloads) || PyList_GET_SIZE(payloads) == 0) Py_RETURN_NONE;
    Py_ssize_t count = PyList_GET_SIZE(payloads), each = Py_SIZE(PyList_GET_ITEM(payloads, 0));
    int are_alike = 1;
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *payload = PyList_GET_ITEM(payloads, i);
        if (!PyBytes_CheckExact(payload)) Py_RETURN_NONE;
        are_alike &= PyBytes_GET_SIZE(payload) == each;
    }
    return are_alike ? PyLong_FromSsize_t(each) : table_of(payloads);
}

#endif
