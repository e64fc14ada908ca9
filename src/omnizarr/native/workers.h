/* What a thread works with: memory, and the contexts of codecs. */

#define KEPT_BYTES ((size_t)1 << 22) /* of memory that a worker keeps for the next call */
#define KEPT_WORKERS 8
#define LARGE_PAGE ((size_t)1 << 21)

/* What a thread works with; kept from call to call, since new memory costs more than a small read. */
struct worker {
    char *encoded, *decoded;
    size_t encoded_room, decoded_room;
    void *dctx, *cctx, *inflater, *deflater;
    int level; /* of the deflater */
};

/* Taken from and given back under the interpreter's lock. */
static struct worker *idle[KEPT_WORKERS];
static int idle_count;

static void free_worker(struct worker *worker) {
    if (worker == NULL) return;
    if (worker->dctx != NULL) zstd_free_dctx(worker->dctx);
    if (worker->cctx != NULL) zstd_free_cctx(worker->cctx);
    if (worker->inflater != NULL) gzip_free_decoder(worker->inflater);
    if (worker->deflater != NULL) gzip_free_encoder(worker->deflater);
    free(worker->encoded);
    free(worker->decoded);
    free(worker);
}

static struct worker *take_worker(void) {
    return idle_count > 0 ? idle[--idle_count] : calloc(1, sizeof(struct worker));
}

static void give_back(struct worker *worker) {
    if (worker == NULL) return;
    size_t memory = worker->encoded_room + worker->decoded_room;
    if (worker->cctx != NULL) memory += zstd_sizeof_cctx(worker->cctx); /* high levels take many times the chunk */
    if (idle_count == KEPT_WORKERS || memory > KEPT_BYTES)
        free_worker(worker);
    else
        idle[idle_count++] = worker;
}

/* Memory; much of it in large pages, as NumPy takes it, since to touch it for the first time takes long otherwise. */
static char *allocated(size_t size) {
#ifdef MADV_HUGEPAGE
    if (size >= LARGE_PAGE && size <= SIZE_MAX / 2) {
        size_t whole = (size + LARGE_PAGE - 1) / LARGE_PAGE * LARGE_PAGE;
        void *memory = NULL;
        if (posix_memalign(&memory, LARGE_PAGE, whole) != 0) return NULL;
        madvise(memory, whole, MADV_HUGEPAGE);
        return memory;
    }
#endif
    return malloc(size > 0 ? size : 1);
}

/* Room for so many bytes; what lay there is lost. NULL if there is no memory. */
static char *room_for(char **memory, size_t *room, size_t size) {
    if (*memory == NULL || *room < size) {
        free(*memory);
        *room = 0;
        *memory = allocated(size);
        if (*memory != NULL) *room = size;
    }
    return *memory;
}
