/* Opens a file on condition that no part of its path is a link: one system call on Linux 5.6 and newer. */

#if defined(__linux__) && !defined(__alpha__)

/* As in linux/openat2.h, which the headers of old systems lack. */
#ifndef SYS_openat2
#define SYS_openat2 437
#endif
#define RESOLVE_NO_LINKS 0x04 /* RESOLVE_NO_SYMLINKS there */
struct how {
    uint64_t flags, mode, resolve;
};

static atomic_int has_openat2 = 1; /* until the system refuses it: an older kernel, or a sandbox */

/* The descriptor; -1 with errno. ENOENT says that a part is absent and none before it is a link. After all other errors
 * the caller checks the parts one by one. */
static int open_unlinked(const char *path, int flags) {
    struct how how = {.flags = (uint64_t)flags, .resolve = RESOLVE_NO_LINKS};
    if (!atomic_load_explicit(&has_openat2, memory_order_relaxed)) {
        errno = ENOSYS;
        return -1;
    }
    long file;
    do {
        file = syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof how);
    } while (file < 0 && errno == EINTR);
    if (file < 0 && (errno == ENOSYS || errno == EPERM)) atomic_store(&has_openat2, 0);
    return (int)file;
}

static int allow_openat2(int allowed) { return atomic_exchange(&has_openat2, allowed); }

#else

static int open_unlinked(const char *path, int flags) {
    (void)path;
    (void)flags;
    errno = ENOSYS;
    return -1;
}

static int allow_openat2(int allowed) {
    (void)allowed;
    return 0;
}

#endif

PyDoc_STRVAR(use_openat2_doc,
             "use_openat2(allowed)\n"
             "Lets the kernel use the system call `openat2`, or not, for tests of the other way. Returns whether it did.");

static PyObject *py_use_openat2(PyObject *module, PyObject *allowed) {
    (void)module;
    int wanted = PyObject_IsTrue(allowed);
    return wanted < 0 ? NULL : PyBool_FromLong(allow_openat2(wanted));
}
