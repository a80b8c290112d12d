/* ringcast.native._datagrams: the datagrams of one wake, read one by one as they are asked for, and many sent at once.
 *
 * `Reader` does what `_read` and `_read_guarded` in src/ringcast/transport/datagram_reader.py do; `send_all` what a loop
 * over `sendto` does. Between two frames of 60 kB everything has left the first cache, so that each line of Python costs
 * several times what it costs alone (decision 0211). See _datagrams.pyi. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "datagrams_reader.h"
#include "datagrams_sender.h"

static PyMethodDef functions[] = {
    {"address", (PyCFunction)(void (*)(void))packed_address, METH_FASTCALL, "A destination for send_all."},
    {"send_all", (PyCFunction)(void (*)(void))send_all, METH_FASTCALL, "Sends frames until the socket refuses one."},
    {NULL, NULL, 0, NULL},
};

static int module_exec(PyObject *module) {
    PyObject *type = PyType_FromSpec(&reader_spec);
    int failed = type == NULL || PyModule_AddObjectRef(module, "Reader", type);
    Py_XDECREF(type);
    return failed ? -1 : 0;
}

static PyModuleDef_Slot module_slots[] = {{Py_mod_exec, module_exec}, {0, NULL}};

static struct PyModuleDef module_definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "ringcast.native._datagrams",
    .m_methods = functions,
    .m_slots = module_slots,
};

PyMODINIT_FUNC PyInit__datagrams(void) { return PyModuleDef_Init(&module_definition); }
