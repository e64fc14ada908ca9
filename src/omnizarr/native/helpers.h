/* Threads that share the work of a plan; they need no interpreter, and wait for the next one. */

#define MOST_THREADS 256
#define ATTENTION 50000000 /* nanoseconds after which one looks for signals, such as Ctrl-C */

static void read_next(struct worker *worker, struct reading *plan, size_t item) {
    if (plan->status[item] != TO_DO) return;
    enum status status = DONE;
    if (plan->search != NULL)
        search_part(plan->search, item);
    else
        status = plan->takes == NULL ? read_item(worker, plan, item) : read_take(worker, plan, plan->takes + item);
    plan->status[item] = (unsigned char)status;
}

/* A thread that helps whoever needs it, and waits for the next one then: to start a thread takes as long as to read a
 * few chunks, and one that has not yet come when the work is done need not be waited for. */
struct helper {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct reading *plan; /* to work on; NULL: nothing */
    struct worker *worker;
    int busy, dismissed;
};

/* Taken from and given back under the interpreter's lock. */
static struct helper *waiting[KEPT_WORKERS];
static int waiting_count;

/* A child has none of its parent's threads. */
static void forget_helpers(void) { waiting_count = 0; }

static void work_on(struct reading *plan, struct worker *worker) {
    size_t item;
    while (!atomic_load_explicit(&plan->stopped, memory_order_relaxed) &&
           (item = atomic_fetch_add(&plan->next, 1)) < plan->count)
        read_next(worker, plan, item);
}

static void *help(void *given) {
    struct helper *helper = given;
    pthread_mutex_lock(&helper->lock);
    while (!helper->dismissed) {
        if (helper->plan == NULL) {
            pthread_cond_wait(&helper->changed, &helper->lock);
            continue;
        }
        struct reading *plan = helper->plan;
        helper->busy = 1;
        pthread_mutex_unlock(&helper->lock);
        work_on(plan, helper->worker);
        pthread_mutex_lock(&helper->lock);
        helper->busy = 0;
        helper->plan = NULL;
        pthread_cond_broadcast(&helper->changed);
    }
    pthread_mutex_unlock(&helper->lock);
    pthread_mutex_destroy(&helper->lock);
    pthread_cond_destroy(&helper->changed);
    free(helper);
    return NULL;
}

/* A thread that waits; NULL if there are to be no more. */
static struct helper *take_helper(void) {
    if (waiting_count > 0) return waiting[--waiting_count];
    struct helper *helper = calloc(1, sizeof(struct helper));
    if (helper == NULL) return NULL;
    pthread_mutex_init(&helper->lock, NULL);
    pthread_cond_init(&helper->changed, NULL);
    sigset_t all, before; /* signals are for threads of Python */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_t thread;
    int failed = pthread_create(&thread, NULL, help, helper);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failed) {
        free(helper);
        return NULL;
    }
    pthread_detach(thread);
    return helper;
}

static void tell(struct helper *helper, struct reading *plan, int dismissed) {
    pthread_mutex_lock(&helper->lock);
    helper->plan = plan;
    helper->dismissed = dismissed;
    pthread_cond_broadcast(&helper->changed);
    pthread_mutex_unlock(&helper->lock);
}

/* Waits for what a thread has begun; what it has not is taken back. */
static void await_helper(struct helper *helper) {
    pthread_mutex_lock(&helper->lock);
    while (helper->busy) pthread_cond_wait(&helper->changed, &helper->lock);
    helper->plan = NULL;
    pthread_mutex_unlock(&helper->lock);
}

static void let_go(struct helper *helper) {
    give_back(helper->worker);
    helper->worker = NULL;
    if (waiting_count < KEPT_WORKERS)
        waiting[waiting_count++] = helper;
    else
        tell(helper, NULL, 1);
}

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/* The caller's own part, in which it listens to signals. 0 if one of them is an exception. Without the lock. */
static int lead(struct reading *plan, struct worker *worker, PyThreadState **state) {
    int64_t looked = now();
    size_t item;
    while ((item = atomic_fetch_add(&plan->next, 1)) < plan->count) {
        read_next(worker, plan, item);
        if (now() - looked > ATTENTION) {
            PyEval_RestoreThread(*state);
            int failed = PyErr_CheckSignals();
            *state = PyEval_SaveThread();
            if (failed) {
                atomic_store(&plan->stopped, 1);
                return 0;
            }
            looked = now();
        }
    }
    return 1;
}

/* Works on a plan with some threads, the caller's among them. 0 with an exception. */
static int run(struct reading *plan, int threads) {
    struct worker *own = take_worker();
    if (own == NULL) {
        PyErr_NoMemory();
        return 0;
    }
    /* Not on the stack, as little as the plan: when the interpreter ends, a thread that wants its lock is ended where it
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
    PyThreadState *state = PyEval_SaveThread();
    for (int i = 0; i < hired; i++) tell(helpers[i], plan, 0);
    int fine = lead(plan, own, &state);
    for (int i = 0; i < hired; i++) await_helper(helpers[i]);
    PyEval_RestoreThread(state);
    give_back(own);
    for (int i = 0; i < hired; i++) let_go(helpers[i]);
    free(helpers);
    return fine;
}
