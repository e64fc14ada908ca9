/* Where a key of integers and slices lies. */

/* One dimension of an array: how long it is, its chunks and what they hold are; how far apart elements are in what they
 * hold, in bytes; and the share in the number of that within its chunk. */
struct side {
    int64_t length, chunk, inner, stride, share;
};

/* What is taken along a dimension. */
struct extent {
    int64_t start, count;
};

static char *write_number(char *text, int64_t number) {
    char digits[20];
    int count = 0;
    do {
        digits[count++] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    while (count > 0) *text++ = digits[--count];
    return text;
}

static PyObject *name_of(int64_t number) {
    char text[20];
    return PyUnicode_FromStringAndSize(text, write_number(text, number) - text);
}

/* 1 if an item of a key takes something from a dimension, in order; 0 if it is unusual, or takes nothing. */
static int find_extent(PyObject *item, int64_t length, struct extent *extent, int *kept) {
    *kept = 1;
    if (item == NULL) { /* all of it */
        *extent = (struct extent){0, length};
        return length > 0;
    }
    if (PyLong_CheckExact(item)) {
        int overflow;
        long long index = PyLong_AsLongLongAndOverflow(item, &overflow);
        if (index < 0 && !overflow) index += length;
        *extent = (struct extent){index, 1};
        *kept = 0;
        return !overflow && index >= 0 && index < length;
    }
    Py_ssize_t start, stop, step;
    if (Py_TYPE(item) != &PySlice_Type) return 0;
    if (PySlice_Unpack(item, &start, &stop, &step) != 0) {
        if (PyErr_ExceptionMatches(PyExc_TypeError) || PyErr_ExceptionMatches(PyExc_ValueError)) PyErr_Clear();
        return 0;
    }
    extent->count = (int64_t)PySlice_AdjustIndices((Py_ssize_t)length, &start, &stop, step);
    extent->start = (int64_t)start;
    return step == 1 && extent->count > 0;
}

static PyObject *tuple_of(const int64_t *numbers, int count) {
    PyObject *tuple = PyTuple_New(count);
    for (int i = 0; tuple != NULL && i < count; i++) {
        PyObject *number = PyLong_FromLongLong(numbers[i]);
        if (number == NULL || PyTuple_SetItem(tuple, i, number) != 0) Py_CLEAR(tuple);
    }
    return tuple;
}

/* The names of the chunks along a dimension, and the pieces that are taken from them, in the form that `read` takes. */
static int list_pieces(const struct side *side, const struct extent *extent, int64_t far, PyObject **names,
                       PyObject **pieces) {
    int64_t index = extent->start / side->chunk, begin = extent->start % side->chunk, done = 0;
    Py_ssize_t chunks = (Py_ssize_t)((begin + extent->count - 1) / side->chunk + 1), at = 0;
    *names = PyList_New(chunks);
    *pieces = PyList_New(4 * chunks);
    for (; *names != NULL && *pieces != NULL && at < chunks; at++) {
        int64_t most = side->chunk - begin, rest = extent->count - done;
        const int64_t numbers[] = {begin * side->stride, done * far, rest < most ? rest : most, 0};
        PyObject *name = name_of(index++);
        if (name == NULL || PyList_SetItem(*names, at, name) != 0) break;
        for (int i = 0; i < 4; i++) {
            PyObject *number = PyLong_FromLongLong(numbers[i]);
            if (number == NULL || PyList_SetItem(*pieces, 4 * at + i, number) != 0) return 0;
        }
        done += numbers[2];
        begin = 0;
    }
    return *names != NULL && *pieces != NULL && at == chunks;
}

static PyObject *pieces_of(const struct side *sides, const struct extent *extents, const int64_t *strides, int rank,
                           PyObject *counts, PyObject *shape) {
    PyObject *all_names = PyList_New(rank), *all_pieces = PyTuple_New(rank), *result = NULL;
    int d = 0;
    for (; all_names != NULL && all_pieces != NULL && d < rank; d++) {
        PyObject *names, *pieces;
        int fine = list_pieces(sides + d, extents + d, strides[d], &names, &pieces);
        if (names != NULL) PyList_SetItem(all_names, d, names);
        if (pieces != NULL) PyTuple_SetItem(all_pieces, d, pieces);
        if (!fine) break;
    }
    if (all_names != NULL && all_pieces != NULL && d == rank)
        result = PyTuple_Pack(4, counts, shape, all_names, all_pieces);
    Py_XDECREF(all_names);
    Py_XDECREF(all_pieces);
    return result;
}

PyDoc_STRVAR(locate_doc,
             "locate(key, sides, itemsize, separator, most)\n"
             "Where the elements lie that a tuple of integers and slices takes; None if there are none, or if it is not\n"
             "for this. `sides` has five numbers of 64 bits for each dimension: its length, those of a chunk and of what\n"
             "lies in one, how far apart elements are there in bytes, and the share in the number of what lies in one.\n"
             "In one chunk: how many are taken along each dimension, the shape of the result, the name of the chunk, the\n"
             "offset in what lies there, and the number of that. In several, up to `most`, that hold nothing smaller:\n"
             "the same two, the names of the chunks along each dimension, and the pieces as `read` takes them.");

static PyObject *py_locate(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    (void)module;
    struct side sides[MOST_DIMENSIONS];
    struct extent extents[MOST_DIMENSIONS];
    int64_t counts[MOST_DIMENSIONS], shape[MOST_DIMENSIONS], strides[MOST_DIMENSIONS];
    char text[MOST_DIMENSIONS * 24], *end = text, *given;
    Py_ssize_t size, separator_size;
    if (count != 5 || !PyTuple_Check(arguments[0])) {
        PyErr_SetString(PyExc_TypeError, "expected a tuple and four other arguments");
        return NULL;
    }
    if (PyBytes_AsStringAndSize(arguments[1], &given, &size) != 0) return NULL;
    int64_t itemsize = PyLong_AsLongLong(arguments[2]), most = PyLong_AsLongLong(arguments[4]);
    const char *separator = PyUnicode_AsUTF8AndSize(arguments[3], &separator_size);
    if (PyErr_Occurred()) return NULL;
    if (size % (Py_ssize_t)sizeof(struct side) != 0 || size > (Py_ssize_t)sizeof sides || separator_size != 1) {
        PyErr_SetString(PyExc_ValueError, "sizes do not match");
        return NULL;
    }
    memcpy(sides, given, (size_t)size);
    int rank = (int)(size / (Py_ssize_t)sizeof(struct side)), visible = 0, several = 0, nested = 0;
    Py_ssize_t keys = PyTuple_Size(arguments[0]);
    if (keys > rank) Py_RETURN_NONE;
    int64_t offset = 0, number = 0, chunks = 1;
    for (int d = 0; d < rank; d++) {
        const struct side *side = sides + d;
        int kept;
        if (side->length > PY_SSIZE_T_MAX || side->chunk < 1 || side->inner < 1 ||
            !find_extent(d < keys ? PyTuple_GetItem(arguments[0], d) : NULL, side->length, extents + d, &kept)) {
            if (PyErr_Occurred()) return NULL;
            Py_RETURN_NONE;
        }
        counts[d] = extents[d].count;
        if (kept) shape[visible++] = counts[d];
        int64_t chunk = extents[d].start / side->chunk, begin = extents[d].start % side->chunk;
        int64_t along = (extents[d].start + counts[d] - 1) / side->chunk - chunk + 1;
        if (along > most / chunks) Py_RETURN_NONE;
        chunks *= along;
        nested |= side->inner != side->chunk;
        number += begin / side->inner * side->share;
        begin %= side->inner;
        several |= begin > side->inner - counts[d];
        offset += begin * side->stride;
        if (d > 0) *end++ = *separator;
        end = write_number(end, chunk);
    }
    if (several && nested) Py_RETURN_NONE;
    for (int d = rank - 1; d >= 0; d--) {
        strides[d] = itemsize;
        if (itemsize < 1 || counts[d] > INT64_MAX / itemsize) Py_RETURN_NONE;
        itemsize *= counts[d];
    }
    PyObject *taken = tuple_of(counts, rank), *result_shape = tuple_of(shape, visible), *result = NULL;
    if (taken != NULL && result_shape != NULL) {
        if (several)
            result = pieces_of(sides, extents, strides, rank, taken, result_shape);
        else
            result = Py_BuildValue("(OOs#LL)", taken, result_shape, text, (Py_ssize_t)(end - text), (long long)offset,
                                   (long long)number);
    }
    Py_XDECREF(taken);
    Py_XDECREF(result_shape);
    return result;
}
