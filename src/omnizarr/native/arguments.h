/* What Python gives, as C has it. */

static int numbers_of(PyObject *tuple, int64_t *numbers, int *count) {
    if (!PyTuple_Check(tuple) || PyTuple_Size(tuple) > MOST_DIMENSIONS) {
        PyErr_SetString(PyExc_TypeError, "expected a tuple of at most 64 integers");
        return 0;
    }
    *count = (int)PyTuple_Size(tuple);
    for (int i = 0; i < *count; i++) {
        numbers[i] = PyLong_AsLongLong(PyTuple_GetItem(tuple, i));
        if (numbers[i] == -1 && PyErr_Occurred()) return 0;
    }
    return 1;
}

static const char *path_of(PyObject *text) {
    Py_ssize_t length;
    const char *path = PyUnicode_AsUTF8AndSize(text, &length);
    if (path != NULL && strlen(path) != (size_t)length) {
        PyErr_SetString(PyExc_ValueError, "embedded null character");
        return NULL;
    }
    return path;
}
