/* Threads that share work; they need no interpreter, and wait for the next one. */

#define MOST_THREADS 256
#define ATTENTION 50000000 /* nanoseconds after which one looks for signals, such as Ctrl-C */

/* What is to be done with each of some items. It is the first member of what says the rest. */
struct work {
    enum status (*act)(struct worker *, const struct work *, size_t item);
    unsigned char *status; /* of each item; only what is TO_DO is done */
    size_t count;
    atomic_size_t next;
    atomic_int stopped;
};

static void do_item(struct worker *worker, struct work *work, size_t item) {
    if (work->status[item] == TO_DO) work->status[item] = (unsigned char)work->act(worker, work, item);
}

/* A thread that helps whoever needs it, and waits for the next one then: to start a thread takes as long as to read a
 * few chunks, and one that has not yet come when the work is done need not be waited for. */
struct helper {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct work *work; /* to be done; NULL: nothing */
    struct worker *worker;
    int busy, dismissed;
};

/* Those that wait, and who looks at them. */
static struct helper *waiting[KEPT_WORKERS];
static int waiting_count;
static pthread_mutex_t crew = PTHREAD_MUTEX_INITIALIZER;
static unsigned ancestors; /* forks that led to this process */

static void work_on(struct work *work, struct worker *worker) {
    size_t item;
    while (!atomic_load_explicit(&work->stopped, memory_order_relaxed) &&
           (item = atomic_fetch_add(&work->next, 1)) < work->count)
        do_item(worker, work, item);
}

static void *help(void *given) {
    struct helper *helper = given;
    pthread_mutex_lock(&helper->lock);
    while (!helper->dismissed) {
        if (helper->work == NULL) {
            pthread_cond_wait(&helper->changed, &helper->lock);
            continue;
        }
        struct work *work = helper->work;
        helper->busy = 1;
        pthread_mutex_unlock(&helper->lock);
        work_on(work, helper->worker);
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

/* A thread that waits; NULL if none can be made. */
static struct helper *take_helper(void) {
    pthread_mutex_lock(&crew);
    struct helper *helper = waiting_count > 0 ? waiting[--waiting_count] : NULL;
    pthread_mutex_unlock(&crew);
    if (helper != NULL || (helper = calloc(1, sizeof(struct helper))) == NULL) return helper;
    pthread_mutex_init(&helper->lock, NULL);
    pthread_cond_init(&helper->changed, NULL);
    sigset_t others, before; /* signals are for threads of Python, but for what a thread does itself */
    const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    sigfillset(&others);
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) sigdelset(&others, own[i]);
    pthread_sigmask(SIG_SETMASK, &others, &before);
    int failed = pthread_create(&helper->thread, NULL, help, helper);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failed) {
        pthread_mutex_destroy(&helper->lock);
        pthread_cond_destroy(&helper->changed);
        free(helper);
        return NULL;
    }
    return helper;
}

static void tell(struct helper *helper, struct work *work, int dismissed) {
    pthread_mutex_lock(&helper->lock);
    helper->work = work;
    helper->dismissed = dismissed;
    pthread_cond_broadcast(&helper->changed);
    pthread_mutex_unlock(&helper->lock);
}

/* Waits for what a thread has begun; what it has not is taken back. */
static void await_helper(struct helper *helper) {
    pthread_mutex_lock(&helper->lock);
    while (helper->busy) pthread_cond_wait(&helper->changed, &helper->lock);
    helper->work = NULL;
    pthread_mutex_unlock(&helper->lock);
}

static void let_go(struct helper *helper) {
    give_back(helper->worker);
    helper->worker = NULL;
    pthread_mutex_lock(&crew);
    int kept = waiting_count < KEPT_WORKERS;
    if (kept) waiting[waiting_count++] = helper;
    pthread_mutex_unlock(&crew);
    if (kept) return;
    pthread_detach(helper->thread);
    tell(helper, NULL, 1);
}

/* Before a fork, those that wait are dismissed: a child has none of its parent's threads, and Python warns of a fork where
 * there are any. They are soon gone, and soon made again. */
static void before_fork_of_helpers(void) {
    pthread_mutex_lock(&crew);
    while (waiting_count > 0) {
        struct helper *helper = waiting[--waiting_count];
        pthread_t thread = helper->thread;
        tell(helper, NULL, 1);
        pthread_join(thread, NULL);
    }
}

static void after_fork_of_helpers(void) { pthread_mutex_unlock(&crew); }

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/* The caller's own part, in which it listens to signals. 0 if one of them is an exception. Without the lock. */
static int lead(struct work *work, struct worker *worker, PyThreadState **state) {
    int64_t looked = now();
    size_t item;
    while ((item = atomic_fetch_add(&work->next, 1)) < work->count) {
        do_item(worker, work, item);
        if (now() - looked > ATTENTION) {
            PyEval_RestoreThread(*state);
            int failed = PyErr_CheckSignals();
            *state = PyEval_SaveThread();
            if (failed) {
                atomic_store(&work->stopped, 1);
                return 0;
            }
            looked = now();
        }
    }
    return 1;
}

/* Has some threads, the caller's among them, do work. 0 with an exception. */
static int run(struct work *work, int threads) {
    struct worker *own = take_worker();
    if (own == NULL) {
        PyErr_NoMemory();
        return 0;
    }
    if (threads > MOST_THREADS) threads = MOST_THREADS;
    if (threads > 0 && (size_t)threads > work->count) threads = (int)work->count;
    /* Not on the stack, as little as the work: when the interpreter ends, a thread that wants its lock is ended where it
     * stands, and its stack goes, while the helpers go on. */
    struct helper **helpers = threads > 1 ? calloc((size_t)threads, sizeof(struct helper *)) : NULL;
    int hired = 0;
    for (; helpers != NULL && hired < threads - 1; hired++) {
        struct helper *helper = take_helper();
        if (helper == NULL) break;
        helpers[hired] = helper;
        if ((helper->worker = take_worker()) == NULL) {
            let_go(helper);
            break;
        }
    }
    unsigned before = ancestors;
    PyThreadState *state = PyEval_SaveThread();
    for (int i = 0; i < hired; i++) tell(helpers[i], work, 0);
    int fine = lead(work, own, &state);
    if (before != ancestors) { /* a signal was heard, and this is a child now: what helpers had begun is done here */
        for (size_t i = 0; fine && i < work->count; i++) do_item(own, work, i);
        hired = 0;
    }
    for (int i = 0; i < hired; i++) await_helper(helpers[i]);
    PyEval_RestoreThread(state);
    give_back(own);
    for (int i = 0; i < hired; i++) let_go(helpers[i]);
    free(helpers);
    return fine;
}
