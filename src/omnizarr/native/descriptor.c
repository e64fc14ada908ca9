/* The owner of an open file: closes it when the owner is deleted. A method `__del__` in Python would do the same, but
 * Python runs signal handlers in it, and drops what they raise: Ctrl-C would be lost. */

struct descriptor {
    PyObject_HEAD
    int file;
};

static PyObject *descriptor_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords) {
    (void)keywords;
    int file;
    if (!PyArg_ParseTuple(arguments, "i", &file)) return NULL;
    struct descriptor *self = (struct descriptor *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
    if (self != NULL) self->file = file;
    return (PyObject *)self;
}

static void descriptor_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    close(((struct descriptor *)self)->file);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF(type);
}

static PyType_Slot descriptor_slots[] = {
    {Py_tp_new, descriptor_new},
    {Py_tp_dealloc, descriptor_dealloc},
    {Py_tp_doc, "Descriptor(file)\nOwns an open file, and closes it when it is deleted."},
    {0, NULL},
};

static PyType_Spec descriptor_spec = {
    .name = "omnizarr.native._kernel.Descriptor",
    .basicsize = sizeof(struct descriptor),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = descriptor_slots,
};
