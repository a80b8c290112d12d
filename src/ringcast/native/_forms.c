/* ringcast.native._forms: the two simple forms, `await group.send(payload)` and `async for event in group`, without a
 * Python frame for each message. They do what src/ringcast/runtime/forms.py does, and leave every question to the
 * general way in Python. See _forms.pyi. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdbool.h>

#include "forms_eager.h"
#include "forms_lengths.h"
#include "forms_reading.h"
#include "forms_sending.h"
#include "forms_waiter.h"

static PyMethodDef module_methods[] = {
    {"know_message", know_message, METH_O, "The type of messages, with slots `sender`, `payload` and `_delivery`."},
    {"lengths", lengths, METH_O, "The one length of a list of bytes, or each of them; None if they are not all bytes."},
    {NULL, NULL, 0, NULL},
};

static bool intern(void) {
    return (NAME_THROW = PyUnicode_InternFromString("throw")) && (NAME_CLOSE = PyUnicode_InternFromString("close")) &&
           (NAME_QUALNAME = PyUnicode_InternFromString("__qualname__")) &&
           (NAME_THREAD_ID = PyUnicode_InternFromString("_thread_id")) &&
           (NAME_IS_RUNNING = PyUnicode_InternFromString("is_running")) &&
           (NAME_TURN = PyUnicode_InternFromString("_turn"));
}

static bool add(PyObject *module, const char *name, PyTypeObject **home, PyType_Spec *spec) {
    PyTypeObject *type = (PyTypeObject *)PyType_FromSpec(spec);
    if (type == NULL) return false;
    *home = type; /* kept for the life of the process */
    return PyModule_AddObjectRef(module, name, (PyObject *)type) == 0;
}

static int module_exec(PyObject *module) {
    static PyTypeObject *messages_type, *accepting_type, *waiter_type;
    bool is_made = intern() && prepare_waiter() == 0 && add(module, "Waiter", &waiter_type, &waiter_spec) && add(module, "Eager", &EAGER_TYPE, &eager_spec) &&
                   add(module, "RunMessages", &RUN_MESSAGES_TYPE, &run_messages_spec) &&
                   add(module, "Hand", &HAND_TYPE, &hand_spec) &&
                   add(module, "Messages", &messages_type, &messages_spec) &&
                   add(module, "Turn", &TURN_TYPE, &turn_spec) &&
                   add(module, "Accepting", &accepting_type, &accepting_spec);
    return is_made ? 0 : -1;
}

static PyModuleDef_Slot module_slots[] = {{Py_mod_exec, module_exec}, {0, NULL}};

static struct PyModuleDef module_definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "ringcast.native._forms",
    .m_methods = module_methods,
    .m_slots = module_slots,
};

PyMODINIT_FUNC PyInit__forms(void) { return PyModuleDef_Init(&module_definition); }
