/* Worker threads, which do not need the interpreter, and the loop over work items that they share. */

#define MAX_THREADS 256
#define SIGNAL_INTERVAL 50000000 /* nanoseconds between checks for signals, such as Ctrl-C */

/* Work items and the function that does one. The first member of each plan struct. */
struct work {
    enum status (*act)(struct scratch *, const struct work *, size_t item);
    unsigned char *status; /* of each item; items that are not TO_DO are skipped */
    size_t count;
    atomic_size_t next;
    atomic_int stopped;
};

static void do_item(struct scratch *scratch, struct work *work, size_t item) {
    if (work->status[item] == TO_DO) work->status[item] = (unsigned char)work->act(scratch, work, item);
}

/* A worker thread that the kernel keeps for later calls, because starting a thread takes as long as reading a few
 * chunks. The caller does not wait for a helper that has not begun when the work is done. */
struct helper {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct work *work; /* NULL: idle */
    struct scratch *scratch;
    int busy, ended;
};

/* Helpers that no call uses; guarded by `helpers_lock`. */
static struct helper *idle_helpers[MAX_IDLE];
static int idle_helper_count;
static pthread_mutex_t helpers_lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned fork_depth; /* number of forks between the first process and this one */

static void work_on(struct work *work, struct scratch *scratch) {
    size_t item;
    while (!atomic_load_explicit(&work->stopped, memory_order_relaxed) &&
           (item = atomic_fetch_add(&work->next, 1)) < work->count)
        do_item(scratch, work, item);
}

static void *helper_main(void *given) {
    struct helper *helper = given;
    pthread_mutex_lock(&helper->lock);
    while (!helper->ended) {
        if (helper->work == NULL) {
            pthread_cond_wait(&helper->changed, &helper->lock);
            continue;
        }
        struct work *work = helper->work;
        helper->busy = 1;
        pthread_mutex_unlock(&helper->lock);
        work_on(work, helper->scratch);
        pthread_mutex_lock(&helper->lock);
        helper->busy = 0;
        helper->work = NULL;
        pthread_cond_broadcast(&helper->changed);
    }
    pthread_mutex_unlock(&helper->lock);
    pthread_mutex_destroy(&helper->lock);
    pthread_cond_destroy(&helper->changed);
    free(helper);
    return NULL;
}

/* An idle or new helper; NULL if no thread can be started. */
static struct helper *acquire_helper(void) {
    pthread_mutex_lock(&helpers_lock);
    struct helper *helper = idle_helper_count > 0 ? idle_helpers[--idle_helper_count] : NULL;
    pthread_mutex_unlock(&helpers_lock);
    if (helper != NULL || (helper = calloc(1, sizeof(struct helper))) == NULL) return helper;
    pthread_mutex_init(&helper->lock, NULL);
    pthread_cond_init(&helper->changed, NULL);
    sigset_t others, before; /* Python threads handle signals, except those that a helper causes itself */
    const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    sigfillset(&others);
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) sigdelset(&others, own[i]);
    pthread_sigmask(SIG_SETMASK, &others, &before);
    int failed = pthread_create(&helper->thread, NULL, helper_main, helper);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failed) {
        pthread_mutex_destroy(&helper->lock);
        pthread_cond_destroy(&helper->changed);
        free(helper);
        return NULL;
    }
    return helper;
}

static void wake_helper(struct helper *helper, struct work *work, int ended) {
    pthread_mutex_lock(&helper->lock);
    helper->work = work;
    helper->ended = ended;
    pthread_cond_broadcast(&helper->changed);
    pthread_mutex_unlock(&helper->lock);
}

/* Waits until a helper has finished; takes the work back if it has not begun. */
static void await_helper(struct helper *helper) {
    pthread_mutex_lock(&helper->lock);
    while (helper->busy) pthread_cond_wait(&helper->changed, &helper->lock);
    helper->work = NULL;
    pthread_mutex_unlock(&helper->lock);
}

static void release_helper(struct helper *helper) {
    release_scratch(helper->scratch);
    helper->scratch = NULL;
    pthread_mutex_lock(&helpers_lock);
    int kept = idle_helper_count < MAX_IDLE;
    if (kept) idle_helpers[idle_helper_count++] = helper;
    pthread_mutex_unlock(&helpers_lock);
    if (kept) return;
    pthread_detach(helper->thread);
    wake_helper(helper, NULL, 1);
}

/* Ends idle helpers before a fork, and keeps `helpers_lock` until `allow_helpers`: a child has none of its parent's
 * threads, and Python warns about forks of processes with threads. Ending and restarting helpers is fast. */
static void end_idle_helpers(void) {
    pthread_mutex_lock(&helpers_lock);
    while (idle_helper_count > 0) {
        struct helper *helper = idle_helpers[--idle_helper_count];
        pthread_t thread = helper->thread;
        wake_helper(helper, NULL, 1);
        pthread_join(thread, NULL);
    }
}

static void allow_helpers(void) { pthread_mutex_unlock(&helpers_lock); }

static int64_t now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/* Does work items in the calling thread, without the GIL, and handles signals. 0 if a signal handler raised. */
static int run_in_caller(struct work *work, struct scratch *scratch, PyThreadState **state) {
    int64_t last_check = now_ns();
    size_t item;
    while ((item = atomic_fetch_add(&work->next, 1)) < work->count) {
        do_item(scratch, work, item);
        if (now_ns() - last_check > SIGNAL_INTERVAL) {
            PyEval_RestoreThread(*state);
            int failed = PyErr_CheckSignals();
            *state = PyEval_SaveThread();
            if (failed) {
                atomic_store(&work->stopped, 1);
                return 0;
            }
            last_check = now_ns();
        }
    }
    return 1;
}

/* Does all work items in up to `threads` threads, including the calling one. 0 with an exception. */
static int run(struct work *work, int threads) {
    struct scratch *own = acquire_scratch();
    if (own == NULL) {
        PyErr_NoMemory();
        return 0;
    }
    if (threads > MAX_THREADS) threads = MAX_THREADS;
    if (threads > 0 && (size_t)threads > work->count) threads = (int)work->count;
    /* On the heap, as is `work`: when the interpreter ends, it ends a thread that waits for the GIL, whose stack is
     * then gone while the helpers continue. */
    struct helper **helpers = threads > 1 ? calloc((size_t)threads, sizeof(struct helper *)) : NULL;
    int helper_count = 0;
    for (; helpers != NULL && helper_count < threads - 1; helper_count++) {
        struct helper *helper = acquire_helper();
        if (helper == NULL) break;
        helpers[helper_count] = helper;
        if ((helper->scratch = acquire_scratch()) == NULL) {
            release_helper(helper);
            break;
        }
    }
    unsigned before = fork_depth;
    PyThreadState *state = PyEval_SaveThread();
    for (int i = 0; i < helper_count; i++) wake_helper(helpers[i], work, 0);
    int fine = run_in_caller(work, own, &state);
    if (before != fork_depth) { /* a signal handler forked and this is the child: do the items that helpers had begun */
        for (size_t i = 0; fine && i < work->count; i++) do_item(own, work, i);
        helper_count = 0;
    }
    for (int i = 0; i < helper_count; i++) await_helper(helpers[i]);
    PyEval_RestoreThread(state);
    release_scratch(own);
    for (int i = 0; i < helper_count; i++) release_helper(helpers[i]);
    free(helpers);
    return fine;
}
