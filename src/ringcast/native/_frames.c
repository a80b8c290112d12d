/* ringcast.native._frames: a run of messages as a frame, written in one pass.
 *
 * Does what `pack_run` in src/ringcast/wire/codec.py does for a run of its sender's own whole messages, to the same
 * bytes; everything else is left to that. See _frames.pyi. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdbool.h>
#include <stdint.h>

/* As in coalescing_run.h, which reads what is written here. */
enum { RUN_BYTES = 22, LENGTH_BYTES = 2, LONGEST = 0xFFFF, UNIFORM = 1 };

static uint8_t *put(uint8_t *at, uint64_t value, int bytes) {
    for (int i = 0; i < bytes; i++) *at++ = (uint8_t)(value >> 8 * i);
    return at;
}

static uint8_t *put_bytes(uint8_t *at, PyObject *part) {
    size_t size = (size_t)PyBytes_GET_SIZE(part);
    memcpy(at, PyBytes_AS_STRING(part), size);
    return at + size;
}

/* The bytes of all; -1: something is no plain bytes, or too long for the table. */
static Py_ssize_t measure(PyObject *items, bool *are_alike) {
    Py_ssize_t count = PyList_GET_SIZE(items), each = Py_SIZE(PyList_GET_ITEM(items, 0)), total = 0;
    *are_alike = each > 0;
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *item = PyList_GET_ITEM(items, i);
        if (!PyBytes_CheckExact(item) || PyBytes_GET_SIZE(item) > LONGEST) return -1;
        total += PyBytes_GET_SIZE(item);
        *are_alike = *are_alike && PyBytes_GET_SIZE(item) == each;
    }
    return total;
}

/* (head, tag, channel, first, low, items) -> the frame; None: not one of those that are written here. */
static PyObject *run_frame(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count) {
    if (count != 6 || !PyBytes_CheckExact(args[0]) || !PyBytes_CheckExact(args[1]))
        return PyErr_Format(PyExc_TypeError, "takes a head, a tag, a channel, two numbers and a list");
    PyObject *head = args[0], *tag = args[1], *items = args[5];
    long channel = PyLong_AsLong(args[2]);
    long long first = PyLong_AsLongLong(args[3]), low = PyLong_AsLongLong(args[4]);
    if (PyErr_Occurred()) return NULL;
    if (!PyList_CheckExact(items) || PyList_GET_SIZE(items) == 0) Py_RETURN_NONE;
    bool are_alike;
    Py_ssize_t many = PyList_GET_SIZE(items), nbytes = measure(items, &are_alike);
    if (nbytes < 0 || many > UINT32_MAX) Py_RETURN_NONE;
    Py_ssize_t lengths = LENGTH_BYTES * (are_alike ? 1 : many);
    Py_ssize_t size = PyBytes_GET_SIZE(head) + RUN_BYTES + PyBytes_GET_SIZE(tag) + lengths + nbytes;
    PyObject *frame = PyBytes_FromStringAndSize(NULL, size);
    if (frame == NULL) return NULL;
    uint8_t *at = put_bytes((uint8_t *)PyBytes_AS_STRING(frame), head);
    *at++ = (uint8_t)channel;
    *at++ = are_alike ? UNIFORM : 0;
    at = put(at, (uint64_t)many, 4);
    at = put(at, (uint64_t)first, 8);
    at = put(at, (uint64_t)low, 8);
    at = put_bytes(at, tag);
    for (Py_ssize_t i = 0; i < (are_alike ? 1 : many); i++)
        at = put(at, (uint64_t)PyBytes_GET_SIZE(PyList_GET_ITEM(items, i)), LENGTH_BYTES);
    for (Py_ssize_t i = 0; i < many; i++) at = put_bytes(at, PyList_GET_ITEM(items, i));
    return frame;
}

static PyMethodDef functions[] = {
    {"run_frame", (PyCFunction)(void (*)(void))run_frame, METH_FASTCALL, "The frame of a run; None: left to the codec."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module_definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "ringcast.native._frames",
    .m_methods = functions,
};

PyMODINIT_FUNC PyInit__frames(void) { return PyModuleDef_Init(&module_definition); }
