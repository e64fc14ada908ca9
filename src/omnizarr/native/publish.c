/* Renames new files under the lock of their directory; handlers for forks. */

/* Directories that are open to be locked. A forked child closes its copies of the descriptors; otherwise a lock would
 * outlive a parent that is killed. `registry_lock` keeps threads from opening or closing one unregistered during a
 * fork. */
#define MAX_LOCKED 64
static pthread_mutex_t registry_lock = PTHREAD_MUTEX_INITIALIZER;
static int locked_directories[MAX_LOCKED]; /* descriptor + 1; 0: free */
static unsigned fork_count;       /* forks of this process */

static void before_fork(void) {
    end_idle_helpers();
    pthread_mutex_lock(&registry_lock);
}

static void after_fork(void) {
    fork_count++;
    pthread_mutex_unlock(&registry_lock);
    allow_helpers();
}

static void after_fork_in_child(void) {
    for (int i = 0; i < MAX_LOCKED; i++) {
        if (locked_directories[i] > 0) close(locked_directories[i] - 1);
        locked_directories[i] = 0;
    }
    fork_depth++;
    after_fork();
}

/* Opens a directory and registers it. Returns its index in `locked_directories`, or -1. */
static int open_registered(const char *path) {
    for (;;) {
        pthread_mutex_lock(&registry_lock);
        unsigned before = fork_count;
        pthread_mutex_unlock(&registry_lock); /* not held during `open`, which may be slow */
        int file = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), place = 0;
        if (file < 0) return -1;
        pthread_mutex_lock(&registry_lock);
        int unforked = before == fork_count; /* otherwise a child inherited an unregistered copy: open again */
        while (place < MAX_LOCKED && locked_directories[place] != 0) place++;
        if (unforked && place < MAX_LOCKED) locked_directories[place] = file + 1;
        pthread_mutex_unlock(&registry_lock);
        if (unforked && place < MAX_LOCKED) return place;
        close(file);
        if (unforked) return -1;
    }
}

static void close_registered(int place) {
    int file = locked_directories[place] - 1;
    flock(file, LOCK_UN); /* `close` alone keeps the lock while a process that is being started has a copy */
    pthread_mutex_lock(&registry_lock);
    locked_directories[place] = 0;
    close(file);
    pthread_mutex_unlock(&registry_lock);
}

/* Whether a path has the expected state: no file (`states` is 0), or device, inode, size and modification time. */
static int has_state(const char *path, const int64_t *state, int states, int follow) {
    struct stat status;
    if ((follow ? stat(path, &status) : lstat(path, &status)) != 0) return states == 0 && errno == ENOENT;
#ifdef __APPLE__
    const struct timespec *date = &status.st_mtimespec;
#else
    const struct timespec *date = &status.st_mtim;
#endif
    return states == 4 && (int64_t)status.st_dev == state[0] && (int64_t)status.st_ino == state[1] &&
           (int64_t)status.st_size == state[2] && (int64_t)date->tv_sec * 1000000000 + date->tv_nsec == state[3];
}

PyDoc_STRVAR(publish_doc,
             "publish(folder, old, new, state, follow)\n"
             "Renames files `old` to `new` under the lock of their directory `folder`. If `state` is None, takes the\n"
             "shared lock. Otherwise takes the exclusive lock, and renames only if the first new name has this state:\n"
             "() for no file, or (device, inode, size, modification time in nanoseconds). Returns how many files it\n"
             "renamed before the first failure; -1 if the lock is not free or the state differs. It never waits.");

static PyObject *py_publish(PyObject *module, PyObject *arguments) {
    (void)module;
    PyObject *given, *old, *new, *state;
    int64_t numbers[MAX_DIMENSIONS];
    int follow, count = -1;
    if (!PyArg_ParseTuple(arguments, "UO!O!Op", &given, &PyList_Type, &old, &PyList_Type, &new, &state, &follow))
        return NULL;
    const char *folder = parse_path(given);
    Py_ssize_t names = PyList_Size(old), done = -1;
    if (folder == NULL || (state != Py_None && !parse_numbers(state, numbers, &count))) return NULL;
    if (PyList_Size(new) != names || names < 1 || (count != -1 && names != 1)) {
        PyErr_SetString(PyExc_ValueError, "sizes do not match");
        return NULL;
    }
    const char **paths = calloc((size_t)(2 * names), sizeof(char *));
    if (paths == NULL) return PyErr_NoMemory();
    for (Py_ssize_t i = 0; i < names; i++) {
        if ((paths[2 * i] = parse_path(PyList_GetItem(old, i))) == NULL ||
            (paths[2 * i + 1] = parse_path(PyList_GetItem(new, i))) == NULL) {
            free(paths);
            return NULL;
        }
    }
    PyThreadState *thread = PyEval_SaveThread();
    int place = open_registered(folder);
    if (place >= 0) {
        if (flock(locked_directories[place] - 1, (count == -1 ? LOCK_SH : LOCK_EX) | LOCK_NB) == 0 &&
            (count == -1 || has_state(paths[1], numbers, count, follow)))
            for (done = 0; done < names && rename(paths[2 * done], paths[2 * done + 1]) == 0;) done++;
        close_registered(place);
    }
    PyEval_RestoreThread(thread);
    free(paths);
    return PyLong_FromSsize_t(done);
}
