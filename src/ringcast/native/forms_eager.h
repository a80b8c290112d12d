/* A call that is tried when it is awaited: done at once without a Python frame, or handed over to the general way.
 *
 * It is what a coroutine is to those who await it: nothing happens before the first step, so a call that is cancelled
 * before it began has done nothing (G15); `throw` and `close` reach the general way; never awaited, it warns. */
#ifndef RINGCAST_FORMS_EAGER_H
#define RINGCAST_FORMS_EAGER_H

#include <Python.h>

typedef struct Eager Eager;

/* 1: done, `*result` is what it gives; 0: the general way must be asked; -1: an error. */
typedef int (*TryNow)(Eager *self, PyObject **result);

enum { NEW, DELEGATED, OVER };
enum { MOST_SPARE = 16 };

struct Eager {
    PyObject_HEAD
    TryNow try_now;
    PyObject *place;          /* what is tried: a Turn or a Hand */
    PyObject *general;        /* called with `owner` and `payload`, as far as they are there, if that was not enough */
    PyObject *owner, *payload;
    PyObject *delegate;       /* the coroutine of the general way */
    int state;
};

static PyTypeObject *EAGER_TYPE;
static Eager *SPARE[MOST_SPARE];
static int SPARE_COUNT;
static PyObject *NAME_THROW, *NAME_CLOSE, *NAME_QUALNAME;

static PyObject *make_eager(TryNow try_now, PyObject *place, PyObject *general, PyObject *owner, PyObject *payload) {
    Eager *self;
    if (SPARE_COUNT) {
        self = SPARE[--SPARE_COUNT];
        PyObject_Init((PyObject *)self, EAGER_TYPE);
    } else {
        self = PyObject_GC_New(Eager, EAGER_TYPE);
        if (self == NULL) return NULL;
    }
    self->try_now = try_now;
    self->place = Py_NewRef(place);
    self->general = Py_NewRef(general);
    self->owner = Py_XNewRef(owner);
    self->payload = Py_XNewRef(payload);
    self->delegate = NULL;
    self->state = NEW;
    return (PyObject *)self; /* Tracked by the collector from when it has a coroutine: before, it is in no cycle. */
}

static int eager_clear(Eager *self) {
    Py_CLEAR(self->place);
    Py_CLEAR(self->general);
    Py_CLEAR(self->owner);
    Py_CLEAR(self->payload);
    Py_CLEAR(self->delegate);
    return 0;
}

static void end_eager(Eager *self) {
    self->state = OVER;
    eager_clear(self);
}

static int delegate(Eager *self) {
    PyObject *values[3] = {NULL, self->owner, self->payload};
    size_t count = self->payload == NULL ? 0 : 2;
    self->delegate = PyObject_Vectorcall(self->general, values + 1, count | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
    if (self->delegate == NULL) return -1;
    self->state = DELEGATED;
    PyObject_GC_Track((PyObject *)self);
    return 0;
}

static PySendResult eager_step(Eager *self, PyObject *sent, PyObject **result) {
    *result = NULL;
    if (self->state == OVER) {
        PyErr_SetString(PyExc_RuntimeError, "cannot reuse already awaited coroutine");
        return PYGEN_ERROR;
    }
    if (self->state == NEW) {
        if (sent != Py_None) {
            PyErr_SetString(PyExc_TypeError, "can't send non-None value to a just-started coroutine");
            return PYGEN_ERROR;
        }
        int done = self->try_now(self, result);
        if (done || delegate(self)) {
            end_eager(self);
            return done > 0 ? PYGEN_RETURN : PYGEN_ERROR;
        }
    }
    PyObject *coroutine = Py_NewRef(self->delegate);
    PySendResult status = PyIter_Send(coroutine, sent, result);
    Py_DECREF(coroutine);
    if (status != PYGEN_NEXT) end_eager(self);
    return status;
}

static PyObject *stop_with(PyObject *value) {
    PyObject *stop = value == NULL ? NULL : PyObject_CallOneArg(PyExc_StopIteration, value);
    if (stop != NULL) PyErr_SetObject(PyExc_StopIteration, stop);
    Py_XDECREF(stop);
    Py_XDECREF(value);
    return NULL;
}

static PyObject *eager_send(Eager *self, PyObject *sent) {
    PyObject *result;
    PySendResult status = eager_step(self, sent, &result);
    return status == PYGEN_RETURN ? stop_with(result) : result;
}

static PyObject *eager_next(Eager *self) { return eager_send(self, Py_None); }

static PyObject *raise_given(PyObject *args) {
    PyObject *type, *value = NULL, *traceback = NULL;
    if (!PyArg_UnpackTuple(args, "throw", 1, 3, &type, &value, &traceback)) return NULL;
    if (PyExceptionInstance_Check(type)) {
        PyErr_SetObject((PyObject *)Py_TYPE(type), type);
    } else if (PyExceptionClass_Check(type)) {
        PyErr_SetObject(type, value == NULL || value == Py_None ? NULL : value);
    } else {
        PyErr_SetString(PyExc_TypeError, "exceptions must be classes or instances deriving from BaseException");
    }
    return NULL;
}

static PyObject *eager_throw(Eager *self, PyObject *args) {
    if (self->state == OVER) {
        PyErr_SetString(PyExc_RuntimeError, "cannot reuse already awaited coroutine");
        return NULL;
    }
    if (self->state == NEW) {
        end_eager(self);
        return raise_given(args);
    }
    PyObject *coroutine = Py_NewRef(self->delegate), *result = NULL;
    PyObject *method = PyObject_GetAttr(coroutine, NAME_THROW);
    if (method != NULL) result = PyObject_CallObject(method, args);
    Py_XDECREF(method);
    Py_DECREF(coroutine);
    if (result == NULL) end_eager(self);
    return result;
}

static PyObject *eager_close(Eager *self, PyObject *Py_UNUSED(none)) {
    PyObject *coroutine = Py_XNewRef(self->delegate), *closed = Py_NewRef(Py_None);
    if (coroutine != NULL) Py_SETREF(closed, PyObject_CallMethodNoArgs(coroutine, NAME_CLOSE));
    Py_XDECREF(coroutine);
    if (closed != NULL) end_eager(self);
    return closed;
}

static void warn_of(PyObject *general) {
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyObject *name = PyObject_GetAttr(general, NAME_QUALNAME);
    if (name == NULL || PyErr_WarnFormat(PyExc_RuntimeWarning, 1, "coroutine '%S' was never awaited", name))
        PyErr_WriteUnraisable(general);
    Py_XDECREF(name);
    PyErr_Restore(type, value, traceback);
}

static int eager_traverse(Eager *self, visitproc visit, void *arg) {
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(self->place);
    Py_VISIT(self->general);
    Py_VISIT(self->owner);
    Py_VISIT(self->payload);
    Py_VISIT(self->delegate);
    return 0;
}

static void eager_dealloc(Eager *self) {
    PyTypeObject *type = Py_TYPE(self);
    if (self->state == DELEGATED || PyObject_GC_IsTracked((PyObject *)self)) PyObject_GC_UnTrack(self);
    if (self->state == NEW) warn_of(self->general);
    eager_clear(self);
    if (SPARE_COUNT < MOST_SPARE)
        SPARE[SPARE_COUNT++] = self;
    else
        PyObject_GC_Del(self);
    Py_DECREF(type);
}

static PyObject *eager_await(PyObject *self) { return Py_NewRef(self); }

static PyMethodDef eager_methods[] = {
    {"send", (PyCFunction)eager_send, METH_O, "As of a coroutine."},
    {"throw", (PyCFunction)eager_throw, METH_VARARGS, "As of a coroutine."},
    {"close", (PyCFunction)eager_close, METH_NOARGS, "As of a coroutine."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot eager_slots[] = {
    {Py_tp_dealloc, eager_dealloc}, {Py_tp_traverse, eager_traverse}, {Py_tp_clear, eager_clear},
    {Py_tp_methods, eager_methods}, {Py_tp_iternext, eager_next},     {Py_am_await, eager_await},
    {Py_am_send, eager_step},       {0, NULL},
};

static PyType_Spec eager_spec = {
    .name = "ringcast.native._forms.Eager",
    .basicsize = sizeof(Eager),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = eager_slots,
};

#endif
