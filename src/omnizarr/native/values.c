/* Reads many small values, such as metadata documents, each from a file below one directory.
 *
 * A file is read only if no part of its key is a link, unless links are followed. Keys that follow each other and lie in
 * the same directory are one work item: the directory is opened once, and its files relative to it. */

#define MAX_VALUE_BYTES ((size_t)1 << 16) /* larger values are UNUSUAL: Python reads them one by one */

#ifdef O_PATH
#define OPEN_DIRECTORY (O_PATH | O_DIRECTORY | O_CLOEXEC)
#else
#define OPEN_DIRECTORY (O_RDONLY | O_DIRECTORY | O_CLOEXEC)
#endif

struct value {
    const char *key; /* NUL-terminated UTF-8 */
    size_t folder;   /* the length of the part of the key before its last `/`; 0 if there is none */
    size_t limit;    /* bytes to read at most */
    size_t first;    /* of a work item: its first value; the item ends where the next one starts */
    char *data;      /* allocated by the worker; NULL unless the status is DONE */
    size_t length;
    enum status status;
};

/* The first member is that of all plans. */
struct value_plan {
    struct work work;
    const char *top; /* the path of the directory, with a separator at its end */
    int flags;       /* for opening files */
    int follow;
    struct value *values;
    size_t count;
};

/* Whether a key consists of names that lead downwards and that the store does not reserve. A name that begins with a dot
 * must begin with `.z`, as those of documents do: Python decides about all others. */
static int is_usual_key(const char *key) {
    for (;;) {
        const char *end = strchr(key, '/');
        size_t length = end == NULL ? strlen(key) : (size_t)(end - key);
        if (length == 0 || (key[0] == '.' && (length < 2 || key[1] != 'z'))) return 0;
        if (end == NULL) return 1;
        key = end + 1;
    }
}

static int open_retrying(int directory, const char *path, int flags) {
    int file;
    do {
        file = openat(directory, path, flags);
    } while (file < 0 && errno == EINTR);
    return file;
}

/* Opens the directory with the first `length` bytes of `key` below `plan->top`, at once or part by part; -1 with
 * errno. */
static int open_folder(const struct value_plan *plan, const char *key, size_t length) {
    int flags = OPEN_DIRECTORY | (plan->follow ? 0 : O_NOFOLLOW);
    size_t top = strlen(plan->top);
    char *path = malloc(top + length + 1);
    if (path == NULL) {
        errno = ENOMEM;
        return -1;
    }
    memcpy(path, plan->top, top);
    memcpy(path + top, key, length);
    path[top + length] = 0;
    if (!plan->follow) {
        int found = open_unlinked(path, OPEN_DIRECTORY), reason = errno;
        if (found >= 0 || reason == ENOENT) {
            free(path);
            errno = reason;
            return found;
        }
    }
    int directory = AT_FDCWD;
    char *part = path, *end = memchr(path + top, '/', length);
    do {
        if (end != NULL) *end = 0;
        int inner = open_retrying(directory, part, flags), reason = errno;
        if (directory != AT_FDCWD) close(directory);
        errno = reason;
        directory = inner;
        if (end == NULL) break;
        part = end + 1;
        end = strchr(part, '/');
    } while (directory >= 0);
    int reason = errno;
    free(path);
    errno = reason;
    return directory;
}

/* Reads a regular file, which was opened just now or could not be, and closes it. The memory of an earlier attempt is
 * freed first. */
static enum status read_value(struct value *value, int file) {
    free(value->data);
    value->data = NULL;
    if (file < 0) return errno == ENOENT ? ABSENT : UNUSUAL;
    struct stat info;
    enum status status = UNUSUAL;
    if (fstat(file, &info) == 0 && S_ISREG(info.st_mode) && info.st_size >= 0) {
        size_t length = (size_t)info.st_size < value->limit ? (size_t)info.st_size : value->limit;
        char *data = length > MAX_VALUE_BYTES ? NULL : malloc(length + 1);
        if (data != NULL && (length == 0 || read(file, data, length) == (ssize_t)length)) {
            value->data = data;
            value->length = length;
            status = DONE;
        } else
            free(data);
    }
    close(file);
    return status;
}

/* Whether each part of `path` after its first `top` bytes is a directory, and no link unless links are followed. ENOENT
 * says that one is absent. `path` is as before afterwards. */
static int are_directories(char *path, size_t top, int follow) {
    int fine = 1;
    for (char *end = path + top; fine && end != NULL;) {
        struct stat info;
        if ((end = strchr(end, '/')) != NULL) *end = 0;
        fine = fstatat(AT_FDCWD, path, &info, follow ? 0 : AT_SYMLINK_NOFOLLOW) == 0;
        if (fine && !S_ISDIR(info.st_mode)) {
            fine = 0;
            errno = ENOTDIR;
        }
        if (end != NULL) *end++ = '/';
    }
    return fine;
}

/* Reads the only value of a directory, without opening the directory. */
static enum status read_single(const struct value_plan *plan, struct value *value) {
    char path[PATH_MAX];
    size_t top = strlen(plan->top);
    memcpy(path, plan->top, top);
    memcpy(path + top, value->key, strlen(value->key) + 1); /* `parse_values` checked the length */
    if (!plan->follow) {
        int file = open_unlinked(path, plan->flags);
        if (file >= 0 || errno == ENOENT) return read_value(value, file);
    }
    if (value->folder > 0) {
        path[top + value->folder] = 0;
        if (!are_directories(path, top, plan->follow)) return errno == ENOENT ? ABSENT : UNUSUAL;
        path[top + value->folder] = '/';
    }
    return read_value(value, open_retrying(AT_FDCWD, path, plan->flags));
}

/* Reads the values of one directory. */
static enum status read_folder(struct scratch *scratch, const struct work *work, size_t item) {
    (void)scratch;
    const struct value_plan *plan = (const struct value_plan *)work;
    size_t first = plan->values[item].first;
    size_t end = item + 1 < work->count ? plan->values[item + 1].first : plan->count;
    if (end == first + 1) {
        struct value *value = &plan->values[first];
        if (value->status == TO_DO) value->status = read_single(plan, value);
        return DONE;
    }
    const char *key = plan->values[first].key;
    size_t folder = plan->values[first].folder, skip = folder > 0 ? folder + 1 : 0;
    int directory = skip > 0 ? open_folder(plan, key, folder) : open_retrying(AT_FDCWD, plan->top, OPEN_DIRECTORY);
    enum status missing = errno == ENOENT ? ABSENT : UNUSUAL;
    for (size_t i = first; i < end; i++) {
        struct value *value = &plan->values[i];
        if (value->status == TO_DO)
            value->status = directory < 0
                                ? missing
                                : read_value(value, open_retrying(directory, value->key + skip, plan->flags));
    }
    if (directory >= 0) close(directory);
    return DONE;
}

/* The number of bytes to read at most for the part `(start, length)` of a value, or for all of it if that is None; -1 if
 * the part is not the beginning of the value. */
static Py_ssize_t parse_limit(PyObject *part) {
    if (part == Py_None) return PY_SSIZE_T_MAX;
    if (!PyTuple_Check(part) || PyTuple_Size(part) != 2) return -1;
    PyObject *length = PyTuple_GetItem(part, 1);
    Py_ssize_t start = PyNumber_AsSsize_t(PyTuple_GetItem(part, 0), NULL);
    Py_ssize_t limit = length == Py_None ? PY_SSIZE_T_MAX : PyNumber_AsSsize_t(length, NULL);
    if (PyErr_Occurred()) PyErr_Clear();
    else if (start == 0 && limit >= 0) return limit;
    return -1;
}

/* Sets the key of a value, whose bytes live as long as `key`, and the status: UNUSUAL if Python has to judge the key. */
static void set_key(struct value *value, PyObject *key, size_t top) {
    Py_ssize_t length;
    value->key = PyUnicode_Check(key) ? PyUnicode_AsUTF8AndSize(key, &length) : NULL;
    value->status = TO_DO;
    if (value->key == NULL || strlen(value->key) != (size_t)length || !is_usual_key(value->key) ||
        (size_t)length + top >= PATH_MAX) {
        PyErr_Clear(); /* of a key that is no text, or has an unpaired surrogate: Python rejects it */
        value->key = "";
        value->status = UNUSUAL;
    }
    const char *last = strrchr(value->key, '/');
    value->folder = last == NULL ? 0 : (size_t)(last - value->key);
}

/* Parses requests into `plan`, and groups them into work items. 0 if a request is not for the beginning of a value, or
 * for the same key as the one before it: both must then be answered from one open file. */
static int parse_values(PyObject *requests, struct value_plan *plan) {
    size_t top = strlen(plan->top);
    for (size_t i = 0; i < plan->count; i++) {
        struct value *value = &plan->values[i];
        PyObject *request = PyTuple_GetItem(requests, (Py_ssize_t)i);
        if (!PyTuple_Check(request) || PyTuple_Size(request) != 2) return 0;
        Py_ssize_t limit = parse_limit(PyTuple_GetItem(request, 1));
        if (limit < 0) return 0;
        value->limit = (size_t)limit;
        set_key(value, PyTuple_GetItem(request, 0), top);
        const struct value *before = i > 0 ? &plan->values[i - 1] : NULL;
        if (before != NULL && value->status == TO_DO && strcmp(before->key, value->key) == 0) return 0;
        if (before == NULL || before->folder != value->folder || memcmp(before->key, value->key, value->folder) != 0)
            plan->values[plan->work.count++].first = i;
    }
    return 1;
}

/* The bytes of a value that was read, or None or UNUSUAL; NULL with an exception. */
static PyObject *value_object(const struct value *value) {
    if (value->status == DONE) return PyBytes_FromStringAndSize(value->data, (Py_ssize_t)value->length);
    return value->status == ABSENT ? Py_NewRef(Py_None) : PyLong_FromLong(UNUSUAL);
}

/* A list with the `value_object` of each value; NULL with an exception. */
static PyObject *collect_values(const struct value_plan *plan) {
    PyObject *result = PyList_New((Py_ssize_t)plan->count);
    for (size_t i = 0; result != NULL && i < plan->count; i++) {
        PyObject *item = value_object(&plan->values[i]);
        if (item == NULL || PyList_SetItem(result, (Py_ssize_t)i, item) != 0) Py_CLEAR(result);
    }
    return result;
}

PyDoc_STRVAR(is_unlinked_doc,
             "is_unlinked(folder)\n"
             "Whether no part of the absolute path of a directory is a link. False also if the system cannot open files\n"
             "with that condition.");

static PyObject *py_is_unlinked(PyObject *module, PyObject *folder) {
    (void)module;
    const char *path = parse_path(folder);
    if (path == NULL) return NULL;
    int directory;
    Py_BEGIN_ALLOW_THREADS
    directory = open_unlinked(path, OPEN_DIRECTORY);
    if (directory >= 0) close(directory);
    Py_END_ALLOW_THREADS
    return PyBool_FromLong(directory >= 0);
}

PyDoc_STRVAR(is_folder_doc,
             "is_folder(top, folder, follow)\n"
             "Whether each part of `folder`, which ends with a separator, is a directory below the directory `top`, and\n"
             "no link, unless links are followed. False also if Python has to find out.");

static PyObject *py_is_folder(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    (void)module;
    const char *top = count == 3 ? parse_path(arguments[0]) : NULL, *folder = top ? parse_path(arguments[1]) : NULL;
    int follow = folder == NULL ? -1 : PyObject_IsTrue(arguments[2]);
    if (follow < 0) {
        if (!PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "is_folder takes two paths and a flag");
        return NULL;
    }
    char path[PATH_MAX];
    size_t start = strlen(top), length = strlen(folder);
    if (length < 2 || folder[length - 1] != '/' || start + length >= PATH_MAX) Py_RETURN_FALSE;
    memcpy(path, top, start);
    memcpy(path + start, folder, length);
    path[start + length - 1] = 0;
    if (!is_usual_key(path + start)) Py_RETURN_FALSE;
    int fine;
    Py_BEGIN_ALLOW_THREADS
    fine = are_directories(path, start, follow);
    Py_END_ALLOW_THREADS
    return PyBool_FromLong(fine);
}

PyDoc_STRVAR(read_value_doc,
             "read_value(top, key, range, flags, follow)\n"
             "The answer to one request, in the calling thread, as an item of the result of `read_values`.");

static PyObject *py_read_value(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    (void)module;
    struct value_plan plan = {0};
    struct value value = {0};
    plan.top = count == 5 ? parse_path(arguments[0]) : NULL;
    if (plan.top != NULL) plan.flags = (int)PyLong_AsLong(arguments[3]);
    if (plan.top != NULL && !PyErr_Occurred()) plan.follow = PyObject_IsTrue(arguments[4]);
    if (plan.top == NULL || PyErr_Occurred()) {
        if (!PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "read_value takes a path, a key, a range and two flags");
        return NULL;
    }
    Py_ssize_t limit = parse_limit(arguments[2]);
    value.limit = (size_t)limit;
    set_key(&value, arguments[1], strlen(plan.top));
    if (limit < 0) value.status = UNUSUAL;
    if (value.status == TO_DO) {
        Py_BEGIN_ALLOW_THREADS
        value.status = read_single(&plan, &value);
        Py_END_ALLOW_THREADS
    }
    PyObject *result = value_object(&value);
    free(value.data);
    return result;
}

PyDoc_STRVAR(read_values_doc,
             "read_values(top, requests, flags, follow, threads)\n"
             "The beginnings of the files that the tuple `requests` names, each by a key and a range or None. `top` is\n"
             "the path of the directory, with a separator at its end, `flags` are for opening files. An item of the\n"
             "result is bytes; None if there is no such file; or UNUSUAL if the kernel leaves it to Python. None\n"
             "instead of a list if a request is not for the beginning of a value, or repeats the key before it.\n"
             "Keys in one directory should follow each other.");

static PyObject *py_read_values(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    (void)module;
    if (count != 5 || !PyTuple_Check(arguments[1])) {
        PyErr_SetString(PyExc_TypeError, "read_values takes a path, a tuple and three integers");
        return NULL;
    }
    const char *top = parse_path(arguments[0]);
    if (top == NULL) return NULL;
    long flags = PyLong_AsLong(arguments[2]), follow = PyLong_AsLong(arguments[3]), threads = PyLong_AsLong(arguments[4]);
    if (PyErr_Occurred()) return NULL;
    size_t requests = (size_t)PyTuple_Size(arguments[1]);
    struct value_plan *plan = calloc(1, sizeof(struct value_plan)); /* on the heap: see `run` */
    if (plan == NULL || (plan->values = calloc(requests + 1, sizeof(struct value))) == NULL ||
        (plan->work.status = malloc(requests + 1)) == NULL) {
        if (plan != NULL) free(plan->values);
        free(plan);
        return PyErr_NoMemory();
    }
    plan->top = top;
    plan->flags = (int)flags;
    plan->follow = follow != 0;
    plan->count = requests;
    plan->work.act = read_folder;
    memset(plan->work.status, TO_DO, requests + 1);
    PyObject *result = NULL;
    if (!parse_values(arguments[1], plan))
        result = Py_NewRef(Py_None);
    else if (run(&plan->work, (int)threads))
        result = collect_values(plan);
    for (size_t i = 0; i < requests; i++) free(plan->values[i].data);
    free(plan->values);
    free(plan->work.status);
    free(plan);
    return result;
}
