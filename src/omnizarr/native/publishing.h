/* Names for new files under the lock of their directory; and what a fork means for locks and threads. */

/* Directories that are locked now. A child closes its copies, lest a lock outlives a parent that is killed; so nobody
 * opens or closes one unnoticed while somebody forks. */
#define MOST_LOCKED 64
static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;
static int locked[MOST_LOCKED]; /* one more than the number of the file; 0: free */
static unsigned children;       /* that were forked here */

static void before_fork(void) {
    before_fork_of_helpers();
    pthread_mutex_lock(&opening);
}

static void after_fork(void) {
    children++;
    pthread_mutex_unlock(&opening);
    after_fork_of_helpers();
}

static void after_fork_in_child(void) {
    for (int i = 0; i < MOST_LOCKED; i++) {
        if (locked[i] > 0) close(locked[i] - 1);
        locked[i] = 0;
    }
    ancestors++;
    after_fork();
}

/* Opens a directory, and notes it; its place among those that are, or -1. */
static int open_noted(const char *path) {
    for (;;) {
        pthread_mutex_lock(&opening);
        unsigned before = children;
        pthread_mutex_unlock(&opening); /* which may take long, and nobody is to wait for it */
        int file = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), place = 0;
        if (file < 0) return -1;
        pthread_mutex_lock(&opening);
        int unseen = before == children; /* else a child has a copy that it knows nothing of */
        while (place < MOST_LOCKED && locked[place] != 0) place++;
        if (unseen && place < MOST_LOCKED) locked[place] = file + 1;
        pthread_mutex_unlock(&opening);
        if (unseen && place < MOST_LOCKED) return place;
        close(file);
        if (unseen) return -1;
    }
}

static void close_noted(int place) {
    int file = locked[place] - 1;
    flock(file, LOCK_UN); /* closing would do, but for a copy that a child has which is being started just now */
    pthread_mutex_lock(&opening);
    locked[place] = 0;
    close(file);
    pthread_mutex_unlock(&opening);
}

/* Whether what lies at a path is in the state that is expected: none at all, or that file of that size and date. */
static int is_as_expected(const char *path, const int64_t *state, int states, int follow) {
    struct stat found;
    if ((follow ? stat(path, &found) : lstat(path, &found)) != 0) return states == 0 && errno == ENOENT;
#ifdef __APPLE__
    const struct timespec *date = &found.st_mtimespec;
#else
    const struct timespec *date = &found.st_mtim;
#endif
    return states == 4 && (int64_t)found.st_dev == state[0] && (int64_t)found.st_ino == state[1] &&
           (int64_t)found.st_size == state[2] && (int64_t)date->tv_sec * 1000000000 + date->tv_nsec == state[3];
}

PyDoc_STRVAR(publish_doc,
             "publish(folder, old, new, state, follow)\n"
             "Gives files other names in their directory, under its lock: the shared side of it, if `state` is None.\n"
             "Else the exclusive one, and only if the first of the new names has that state: a tuple that is empty if\n"
             "there is to be no such file, or has its device, number, size and date in nanoseconds. How many there were:\n"
             "all, or those before the first that could not be; -1 if there was no such lock to be had at once, or what\n"
             "lies there is in another state, as far as can be told.");

static PyObject *py_publish(PyObject *module, PyObject *arguments) {
    (void)module;
    PyObject *given, *old, *new, *state;
    int64_t numbers[MOST_DIMENSIONS];
    int follow, count = -1;
    if (!PyArg_ParseTuple(arguments, "UO!O!Op", &given, &PyList_Type, &old, &PyList_Type, &new, &state, &follow))
        return NULL;
    const char *folder = path_of(given);
    Py_ssize_t names = PyList_Size(old), done = -1;
    if (folder == NULL || (state != Py_None && !numbers_of(state, numbers, &count))) return NULL;
    if (PyList_Size(new) != names || names < 1 || (count != -1 && names != 1)) {
        PyErr_SetString(PyExc_ValueError, "sizes do not match");
        return NULL;
    }
    const char **paths = calloc((size_t)(2 * names), sizeof(char *));
    if (paths == NULL) return PyErr_NoMemory();
    for (Py_ssize_t i = 0; i < names; i++) {
        if ((paths[2 * i] = path_of(PyList_GetItem(old, i))) == NULL ||
            (paths[2 * i + 1] = path_of(PyList_GetItem(new, i))) == NULL) {
            free(paths);
            return NULL;
        }
    }
    PyThreadState *thread = PyEval_SaveThread();
    int place = open_noted(folder);
    if (place >= 0) {
        if (flock(locked[place] - 1, (count == -1 ? LOCK_SH : LOCK_EX) | LOCK_NB) == 0 &&
            (count == -1 || is_as_expected(paths[1], numbers, count, follow)))
            for (done = 0; done < names && rename(paths[2 * done], paths[2 * done + 1]) == 0;) done++;
        close_noted(place);
    }
    PyEval_RestoreThread(thread);
    free(paths);
    return PyLong_FromSsize_t(done);
}
