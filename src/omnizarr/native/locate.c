/* Finds the chunks, chunk keys and offsets that a key of integers and slices selects. */

/* One dimension of an array: its length, the length of a chunk and of an inner chunk (without shards, the same), the
 * stride in the decoded inner chunk in bytes, and the stride in the numbers of inner chunks. */
struct axis {
    int64_t length, chunk, inner, stride, number_stride;
};
_Static_assert(sizeof(struct axis) == AXIS_NUMBERS * sizeof(int64_t), "AXIS_NUMBERS");

/* What a key selects along one dimension. */
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

static PyObject *index_text(int64_t number) {
    char text[20];
    return PyUnicode_FromStringAndSize(text, write_number(text, number) - text);
}

/* Parses an integer or slice of a key; NULL stands for a full slice. 0 if it selects nothing or is left to Python, with
 * an exception only for errors that Python must raise. `*kept`: whether the result has this dimension. */
static int parse_item(PyObject *item, int64_t length, struct extent *extent, int *kept) {
    *kept = 1;
    if (item == NULL) { /* a dimension that the key does not mention */
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

static PyObject *make_tuple(const int64_t *numbers, int count) {
    PyObject *tuple = PyTuple_New(count);
    for (int i = 0; tuple != NULL && i < count; i++) {
        PyObject *number = PyLong_FromLongLong(numbers[i]);
        if (number == NULL || PyTuple_SetItem(tuple, i, number) != 0) Py_CLEAR(tuple);
    }
    return tuple;
}

/* The chunk indices along one dimension, as texts, and the pieces of these chunks, as `read` takes them. */
static int axis_pieces(const struct axis *axis, const struct extent *extent, int64_t far, PyObject **names,
                       PyObject **pieces) {
    int64_t index = extent->start / axis->chunk, begin = extent->start % axis->chunk, done = 0;
    Py_ssize_t chunks = (Py_ssize_t)((begin + extent->count - 1) / axis->chunk + 1), at = 0;
    *names = PyList_New(chunks);
    *pieces = PyList_New(PIECE_NUMBERS * chunks);
    for (; *names != NULL && *pieces != NULL && at < chunks; at++) {
        int64_t most = axis->chunk - begin, rest = extent->count - done;
        const int64_t numbers[] = {begin * axis->stride, done * far, rest < most ? rest : most, 0};
        PyObject *name = index_text(index++);
        if (name == NULL || PyList_SetItem(*names, at, name) != 0) break;
        for (int i = 0; i < PIECE_NUMBERS; i++) {
            PyObject *number = PyLong_FromLongLong(numbers[i]);
            if (number == NULL || PyList_SetItem(*pieces, PIECE_NUMBERS * at + i, number) != 0) return 0;
        }
        done += numbers[2];
        begin = 0;
    }
    return *names != NULL && *pieces != NULL && at == chunks;
}

/* The result of `locate` for several chunks. */
static PyObject *pieces_of(const struct axis *axes, const struct extent *extents, const int64_t *strides, int rank,
                           PyObject *counts, PyObject *shape) {
    PyObject *all_names = PyList_New(rank), *all_pieces = PyTuple_New(rank), *result = NULL;
    int d = 0;
    for (; all_names != NULL && all_pieces != NULL && d < rank; d++) {
        PyObject *names, *pieces;
        int fine = axis_pieces(axes + d, extents + d, strides[d], &names, &pieces);
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
             "locate(key, axes, itemsize, separator, most)\n"
             "Finds what a tuple of integers and slices selects; None if it selects nothing or is left to Python.\n"
             "`axes` has AXIS_NUMBERS integers of 64 bits per dimension: its length, the length of a chunk and of an\n"
             "inner chunk, the stride in the inner chunk in bytes, and the stride in the numbers of inner chunks.\n"
             "In one inner chunk: (elements per dimension, shape of the result, key of the chunk, offset in the inner\n"
             "chunk, number of the inner chunk). In several chunks, at most `most`, without shards: (elements per\n"
             "dimension, shape of the result, chunk indices of each dimension as texts, pieces as `read` takes them).");

static PyObject *py_locate(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    (void)module;
    struct axis axes[MAX_DIMENSIONS];
    struct extent extents[MAX_DIMENSIONS];
    int64_t counts[MAX_DIMENSIONS], shape[MAX_DIMENSIONS], strides[MAX_DIMENSIONS];
    counts[0] = shape[0] = 0; /* without dimensions nothing reads them, but gcc -O2 warns */
    char text[MAX_DIMENSIONS * 24], *end = text, *given;
    Py_ssize_t size, separator_size;
    if (count != 5 || !PyTuple_Check(arguments[0])) {
        PyErr_SetString(PyExc_TypeError, "expected a tuple and four other arguments");
        return NULL;
    }
    if (PyBytes_AsStringAndSize(arguments[1], &given, &size) != 0) return NULL;
    int64_t itemsize = PyLong_AsLongLong(arguments[2]), most = PyLong_AsLongLong(arguments[4]);
    const char *separator = PyUnicode_AsUTF8AndSize(arguments[3], &separator_size);
    if (PyErr_Occurred()) return NULL;
    if (size % (Py_ssize_t)sizeof(struct axis) != 0 || size > (Py_ssize_t)sizeof axes || separator_size != 1) {
        PyErr_SetString(PyExc_ValueError, "sizes do not match");
        return NULL;
    }
    memcpy(axes, given, (size_t)size);
    int rank = (int)(size / (Py_ssize_t)sizeof(struct axis)), visible = 0, several = 0, nested = 0;
    Py_ssize_t keys = PyTuple_Size(arguments[0]);
    if (keys > rank) Py_RETURN_NONE;
    int64_t offset = 0, number = 0, chunks = 1;
    for (int d = 0; d < rank; d++) {
        const struct axis *axis = axes + d;
        int kept;
        if (axis->length > PY_SSIZE_T_MAX || axis->chunk < 1 || axis->inner < 1 ||
            !parse_item(d < keys ? PyTuple_GetItem(arguments[0], d) : NULL, axis->length, extents + d, &kept)) {
            if (PyErr_Occurred()) return NULL;
            Py_RETURN_NONE;
        }
        counts[d] = extents[d].count;
        if (kept) shape[visible++] = counts[d];
        int64_t chunk = extents[d].start / axis->chunk, begin = extents[d].start % axis->chunk;
        int64_t along = (extents[d].start + counts[d] - 1) / axis->chunk - chunk + 1;
        if (along > most / chunks) Py_RETURN_NONE;
        chunks *= along;
        nested |= axis->inner != axis->chunk;
        number += begin / axis->inner * axis->number_stride;
        begin %= axis->inner;
        several |= begin > axis->inner - counts[d];
        offset += begin * axis->stride;
        if (d > 0) *end++ = *separator;
        end = write_number(end, chunk);
    }
    if (several && nested) Py_RETURN_NONE;
    for (int d = rank - 1; d >= 0; d--) {
        strides[d] = itemsize;
        if (itemsize < 1 || counts[d] > INT64_MAX / itemsize) Py_RETURN_NONE;
        itemsize *= counts[d];
    }
    PyObject *lengths = make_tuple(counts, rank), *result_shape = make_tuple(shape, visible), *result = NULL;
    if (lengths != NULL && result_shape != NULL) {
        if (several)
            result = pieces_of(axes, extents, strides, rank, lengths, result_shape);
        else
            // Not "s#": compiled with the headers of Python 3.13 or newer, that format fails on 3.11 and 3.12.
            result = Py_BuildValue("(OONLL)", lengths, result_shape, PyUnicode_FromStringAndSize(text, end - text),
                                   (long long)offset, (long long)number);
    }
    Py_XDECREF(lengths);
    Py_XDECREF(result_shape);
    return result;
}
