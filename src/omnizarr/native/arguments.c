/* Conversion of Python arguments. */

/* Reads a tuple of integers into `numbers`; 0 with an exception. */
static int parse_numbers(PyObject *tuple, int64_t *numbers, int *count) {
    if (!PyTuple_Check(tuple) || PyTuple_Size(tuple) > MAX_DIMENSIONS) {
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

/* The UTF-8 of a path, which lives as long as `text`; NULL with an exception. */
static const char *parse_path(PyObject *text) {
    Py_ssize_t length;
    const char *path = PyUnicode_AsUTF8AndSize(text, &length);
    if (path != NULL && strlen(path) != (size_t)length) {
        PyErr_SetString(PyExc_ValueError, "embedded null character");
        return NULL;
    }
    return path;
}
