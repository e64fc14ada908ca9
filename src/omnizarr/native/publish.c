/* Writes new files and renames them under the lock of their directory; handlers for forks. */

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

/* Whether a file has the expected state: none (`states` is 0), or device, inode, size and modification time. -1 if the
 * system cannot tell. */
static int has_state(int directory, const char *path, const int64_t *state, int states, int follow) {
    struct stat status;
    if (fstatat(directory, path, &status, follow ? 0 : AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT ? states == 0 : -1;
#ifdef __APPLE__
    const struct timespec *date = &status.st_mtimespec;
#else
    const struct timespec *date = &status.st_mtim;
#endif
    return states == 4 && (int64_t)status.st_dev == state[0] && (int64_t)status.st_ino == state[1] &&
           (int64_t)status.st_size == state[2] && (int64_t)date->tv_sec * 1000000000 + date->tv_nsec == state[3];
}

/* A directory that new files are written into: open from the first file to the last. */
struct target {
    const char *folder;
    int place;           /* in `locked_directories`; NOT_OPEN until the first file */
    int guarded;         /* lock each temporary file: another process removes a temporary file that is not locked */
    int states, follow;  /* `states` is -1 for unconditional writes; otherwise replace only a file with this state */
    int64_t state[MAX_DIMENSIONS];
};
#define NOT_OPEN (-2)
#define MAX_LOCK_TRIES 20
#define LOCK_PAUSE 50000 /* nanoseconds */

/* Takes the lock of the directory, and tries for about a millisecond; 0 if another process keeps it. */
static int lock_target(int directory, int operation) {
    const struct timespec pause = {0, LOCK_PAUSE};
    for (int tries = 0; flock(directory, operation | LOCK_NB) != 0; tries++) {
        if ((errno != EWOULDBLOCK && errno != EINTR) || tries == MAX_LOCK_TRIES) return 0;
        nanosleep(&pause, NULL);
    }
    return 1;
}

/* Renames a file in the open directory under its lock. The file keeps the directory from being removed. */
static enum status publish_file(const struct target *target, int directory, const char *temporary, const char *name) {
    enum status status = DONE;
    if (!lock_target(directory, target->states < 0 ? LOCK_SH : LOCK_EX)) return UNUSUAL;
    if (target->states >= 0) {
        int same = has_state(directory, name, target->state, target->states, target->follow);
        status = same > 0 ? DONE : same == 0 ? ABSENT : UNUSUAL;
    }
    if (status == DONE && renameat(directory, temporary, directory, name) != 0) status = UNUSUAL;
    flock(directory, LOCK_UN);
    return status;
}

/* Writes a temporary file and renames it to `name`. If that fails, it leaves no file. */
static enum status write_file(struct target *target, const char *temporary, const char *name, const char *data,
                              size_t length) {
    if (target->place == NOT_OPEN) target->place = open_registered(target->folder);
    if (target->place < 0) return UNUSUAL;
    int directory = locked_directories[target->place] - 1, file;
    do {
        file = openat(directory, temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    } while (file < 0 && errno == EINTR);
    if (file < 0) return UNUSUAL;
    int failed = target->guarded && flock(file, LOCK_EX | LOCK_NB) != 0;
    while (length > 0 && !failed) {
        ssize_t done = write(file, data, length);
        if (done < 0 && errno == EINTR) continue;
        failed = done <= 0;
        if (!failed) {
            data += done;
            length -= (size_t)done;
        }
    }
    if (!target->guarded) failed |= close(file) != 0; /* a network file system may report a full disk only here */
    enum status status = failed ? UNUSUAL : publish_file(target, directory, temporary, name);
    if (status != DONE) unlinkat(directory, temporary, 0);
    if (target->guarded) close(file);
    return status;
}

/* Parses `(folder, guarded, state, follow)`; 0 with an exception. */
static int parse_target(PyObject *arguments, struct target *target) {
    PyObject *folder, *state;
    target->place = NOT_OPEN;
    target->states = -1;
    if (!PyArg_ParseTuple(arguments, "UpOp", &folder, &target->guarded, &state, &target->follow)) return 0;
    target->folder = parse_path(folder);
    return target->folder != NULL && (state == Py_None || parse_numbers(state, target->state, &target->states));
}

static void close_target(const struct target *target) {
    if (target->place >= 0) close_registered(target->place);
}
