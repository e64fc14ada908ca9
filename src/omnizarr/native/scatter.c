/* Rows of an uncompressed chunk in a file, whose places in the target lie in any order. One vectored call reads them
 * directly to their places; copying them from a buffer takes as long again as reading them. */

#define MIN_ROW 1024  /* bytes; shorter rows are copied faster than described to the system */
#define MOST_PARTS 512 /* of one call; systems allow at least 1,024 */

struct row {
    int64_t from, to;
};

static int compare_rows(const void *a, const void *b) {
    int64_t first = ((const struct row *)a)->from, second = ((const struct row *)b)->from;
    return (first > second) - (first < second);
}

/* Reads successive rows of `length` bytes, with gaps of at most MAX_GAP, by one call. `gaps` has MAX_GAP bytes. */
static int read_parts(const struct source *source, int64_t start, char *target, const struct row *rows, int count,
                      int64_t length, char *gaps) {
    struct iovec parts[2 * MOST_PARTS];
    int used = 0;
    ssize_t total = 0, result;
    for (int i = 0; i < count; i++) {
        int64_t gap = i ? rows[i].from - rows[i - 1].from - length : 0;
        if (gap) parts[used++] = (struct iovec){gaps, (size_t)gap};
        parts[used++] = (struct iovec){target + rows[i].to, (size_t)length};
        total += gap + length;
    }
    do {
        result = preadv(source->file, parts, used, (off_t)(start + rows[0].from));
    } while (result < 0 && errno == EINTR);
    if (result == total) return 1;
    for (int i = 0; i < count; i++) /* the call read less, as it may: the file ends, or the system limits one call */
        if (!read_all(source, target + rows[i].to, length, start + rows[i].from)) return 0;
    return 1;
}

/* Reads `count` rows of `length` bytes at `start + from[i]` to `target + to[i]`. TO_DO, and nothing is read, if rows are
 * short or overlap, or if the source is memory. The caller has checked all bounds. */
static enum status scatter_rows(struct scratch *scratch, const struct source *source, int64_t start, char *target,
                                const int64_t *from, const int64_t *to, int64_t count, int64_t length) {
    if (source->memory != NULL || length < MIN_ROW) return TO_DO;
    struct row *rows =
        (struct row *)reserve(&scratch->decoded, &scratch->decoded_capacity, (size_t)count * sizeof(struct row));
    char *gaps = reserve(&scratch->encoded, &scratch->encoded_capacity, MAX_GAP);
    if (rows == NULL || gaps == NULL) return UNUSUAL;
    int sorted = 1;
    for (int64_t i = 0; i < count; i++) {
        rows[i] = (struct row){from[i], to[i]};
        sorted &= i == 0 || from[i] > from[i - 1];
    }
    if (!sorted) qsort(rows, (size_t)count, sizeof(struct row), compare_rows);
    for (int64_t i = 1; i < count; i++)
        if (rows[i].from - rows[i - 1].from < length) return TO_DO;
    for (int64_t first = 0, next; first < count; first = next) {
        for (next = first + 1; next < count && next - first < MOST_PARTS; next++)
            if (rows[next].from - rows[next - 1].from - length > MAX_GAP) break;
        if (!read_parts(source, start, target, rows + first, (int)(next - first), length, gaps)) return UNUSUAL;
    }
    return DONE;
}
