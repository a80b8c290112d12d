/* One wait of one task for something to read: what asyncio asks of a future, and no more. As `PythonWaiter` of
 * src/ringcast/runtime/handing.py. */
#ifndef RINGCAST_FORMS_WAITER_H
#define RINGCAST_FORMS_WAITER_H

#include <Python.h>
#include <structmember.h>

typedef struct {
    PyObject_HEAD
    PyObject *loop, *step_soon; /* where its step is left when it is woken */
    PyObject *callback, *context;
    char blocking, is_over, is_cancelled;
} Waiter;

static PyObject *NAME_CALL_SOON, *NAMES_CONTEXT, *CANCELLED_ERROR;

static PyObject *waiter_new(PyTypeObject *type, PyObject *args, PyObject *Py_UNUSED(names)) {
    PyObject *loop, *step_soon;
    if (!PyArg_ParseTuple(args, "OO", &loop, &step_soon)) return NULL;
    Waiter *self = (Waiter *)type->tp_alloc(type, 0);
    if (self == NULL) return NULL;
    self->loop = Py_NewRef(loop);
    self->step_soon = Py_NewRef(step_soon);
    return (PyObject *)self;
}

static PyObject *waiter_wake(Waiter *self, PyObject *Py_UNUSED(none)) {
    if (self->is_over) Py_RETURN_NONE;
    self->is_over = 1;
    if (self->callback == NULL) Py_RETURN_NONE;
    PyObject *step = PyTuple_Pack(3, self->callback, self->context, (PyObject *)self);
    PyObject *left = step == NULL ? NULL : PyObject_CallOneArg(self->step_soon, step);
    Py_XDECREF(step);
    return left;
}

static PyObject *waiter_next(Waiter *self) {
    if (self->is_over) return NULL; /* StopIteration: the wait is over */
    if (self->blocking) {
        PyErr_SetString(PyExc_RuntimeError, "a waiter was awaited by something that is no task");
        return NULL;
    }
    self->blocking = 1;
    return Py_NewRef((PyObject *)self);
}

static PyObject *waiter_get_loop(Waiter *self, PyObject *Py_UNUSED(none)) { return Py_NewRef(self->loop); }

static PyObject *call_soon(Waiter *self) {
    PyObject *values[] = {self->loop, self->callback, (PyObject *)self, self->context};
    return PyObject_VectorcallMethod(NAME_CALL_SOON, values, 3, NAMES_CONTEXT);
}

static PyObject *waiter_add_done_callback(Waiter *self, PyObject *const *values, Py_ssize_t count, PyObject *names) {
    PyObject *context = Py_None;
    if (count != 1) return PyErr_Format(PyExc_TypeError, "one callback is needed");
    if (names != NULL && PyTuple_GET_SIZE(names)) {
        if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, 0), "context"))
            return PyErr_Format(PyExc_TypeError, "no keyword but context");
        context = values[1];
    }
    Py_XSETREF(self->callback, Py_NewRef(values[0]));
    Py_XSETREF(self->context, Py_NewRef(context));
    if (self->is_over) return call_soon(self);
    Py_RETURN_NONE;
}

static PyObject *waiter_cancel(Waiter *self, PyObject *Py_UNUSED(args), PyObject *Py_UNUSED(names)) {
    if (self->is_over) Py_RETURN_FALSE;
    self->is_over = self->is_cancelled = 1;
    if (self->callback == NULL) Py_RETURN_TRUE;
    PyObject *called = call_soon(self);
    if (called == NULL) return NULL;
    Py_DECREF(called);
    Py_RETURN_TRUE;
}

static PyObject *waiter_result(Waiter *self, PyObject *Py_UNUSED(none)) {
    if (!self->is_cancelled) Py_RETURN_NONE;
    PyErr_SetNone(CANCELLED_ERROR);
    return NULL;
}

static int waiter_traverse(Waiter *self, visitproc visit, void *arg) {
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(self->loop);
    Py_VISIT(self->step_soon);
    Py_VISIT(self->callback);
    Py_VISIT(self->context);
    return 0;
}

static int waiter_clear(Waiter *self) {
    Py_CLEAR(self->loop);
    Py_CLEAR(self->step_soon);
    Py_CLEAR(self->callback);
    Py_CLEAR(self->context);
    return 0;
}

static void waiter_dealloc(Waiter *self) {
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    waiter_clear(self);
    type->tp_free((PyObject *)self);
    Py_DECREF(type);
}

static PyMethodDef waiter_methods[] = {
    {"wake", (PyCFunction)waiter_wake, METH_NOARGS, "It is over: the task goes on."},
    {"get_loop", (PyCFunction)waiter_get_loop, METH_NOARGS, "Asked by a task."},
    {"add_done_callback", (PyCFunction)(void (*)(void))waiter_add_done_callback, METH_FASTCALL | METH_KEYWORDS,
     "A task leaves its step here."},
    {"cancel", (PyCFunction)(void (*)(void))waiter_cancel, METH_VARARGS | METH_KEYWORDS, "False if it is over."},
    {"result", (PyCFunction)waiter_result, METH_NOARGS, "CancelledError if it was cancelled."},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef waiter_members[] = {
    {"_asyncio_future_blocking", T_BOOL, offsetof(Waiter, blocking), 0, "Set while a task takes it over."},
    {"is_over", T_BOOL, offsetof(Waiter, is_over), READONLY, "Woken or cancelled."},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot waiter_slots[] = {
    {Py_tp_new, waiter_new},         {Py_tp_dealloc, waiter_dealloc},   {Py_tp_traverse, waiter_traverse},
    {Py_tp_clear, waiter_clear},     {Py_tp_methods, waiter_methods},   {Py_tp_members, waiter_members},
    {Py_am_await, PyObject_SelfIter}, {Py_tp_iter, PyObject_SelfIter},  {Py_tp_iternext, waiter_next},
    {0, NULL},
};

static PyType_Spec waiter_spec = {
    .name = "ringcast.native._forms.Waiter",
    .basicsize = sizeof(Waiter),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .slots = waiter_slots,
};

static int prepare_waiter(void) {
    PyObject *asyncio = PyImport_ImportModule("asyncio");
    if (asyncio == NULL) return -1;
    CANCELLED_ERROR = PyObject_GetAttrString(asyncio, "CancelledError");
    Py_DECREF(asyncio);
    NAME_CALL_SOON = PyUnicode_InternFromString("call_soon");
    NAMES_CONTEXT = Py_BuildValue("(s)", "context");
    return CANCELLED_ERROR == NULL || NAME_CALL_SOON == NULL || NAMES_CONTEXT == NULL ? -1 : 0;
}

#endif
