/* Reads and decodes only those blocks of a Blosc frame that hold the selected elements, as `extract_blocks` of
 * codecs/bytes_to_bytes/blosc_frames.py does. */

#define FRAME_HEADER 16
#define FIRST_READ 1024              /* bytes of a frame; holds the table of 252 blocks */
#define MIN_SAVED ((int64_t)1 << 15) /* decoded bytes; below, decoding the rest is faster than another read */

static void put_little_endian(unsigned char *bytes, int64_t number) {
    for (int i = 0; i < 4; i++) bytes[i] = (unsigned char)(number >> 8 * i);
}

/* Reads a box from its blocks. TO_DO: reading the whole chunk is faster. `start` and `length` are those of the frame;
 * the elements of the box have `span` bytes in the decoded chunk. */
static enum status read_blosc_part(struct scratch *scratch, const struct read_plan *plan, const struct source *source,
                                   int64_t start, int64_t length, int64_t span, const struct box *box) {
    char *target = plan->target + box->target;
    unsigned char head[FIRST_READ];
    if (plan->decoded - span < MIN_SAVED) return TO_DO;
    int64_t count = length < FIRST_READ ? length : FIRST_READ;
    if (!read_all(source, (char *)head, count, start) || !is_valid_blosc(head, length, plan->decoded)) return UNUSUAL;
    if (head[2] & BLOSC_MEMCPYED) {
        if (length != FRAME_HEADER + plan->decoded) return UNUSUAL;
        return read_raw(scratch, plan, source, start + FRAME_HEADER + box->source, target, box->shape);
    }
    int64_t block = little_endian(head + 8);
    if (block < 1 || block > plan->decoded) return UNUSUAL;
    int64_t blocks = (plan->decoded + block - 1) / block, table = FRAME_HEADER + 4 * blocks;
    if (table > length) return UNUSUAL;
    /* A shorter last block is not read alone: the library recognizes it only after a full one. */
    int64_t first = box->source / block, last = (box->source + span - 1) / block, full = plan->decoded / block - 1;
    if (first > full) first = full;
    int64_t end = (last + 1) * block < plan->decoded ? (last + 1) * block : plan->decoded;
    int64_t size = end - first * block;
    if (plan->decoded - size < MIN_SAVED) return TO_DO;

    /* The memory holds the table, and after it the new frame. */
    int64_t selected = last - first + 1, new_table = FRAME_HEADER + 4 * selected;
    char *memory = reserve(&scratch->encoded, &scratch->encoded_capacity, (size_t)(table + new_table + length));
    if (memory == NULL) return UNUSUAL;
    memcpy(memory, head, (size_t)(count < table ? count : table));
    if (count < table && !read_all(source, memory + count, table - count, start + count)) return UNUSUAL;
    const unsigned char *positions = (const unsigned char *)memory + FRAME_HEADER;
    int64_t lowest = INT64_MAX, highest = 0;
    for (int64_t i = first; i <= last; i++) {
        int64_t position = little_endian(positions + 4 * i);
        if (position < lowest) lowest = position;
        if (position > highest) highest = position;
    }
    if (lowest < table || highest >= length) return UNUSUAL;
    /* Blocks may have any order: the last selected one ends where the next one of the frame starts. */
    int64_t stop = length;
    for (int64_t i = 0; i < blocks; i++) {
        int64_t position = little_endian(positions + 4 * i);
        if (position > highest && position < stop) stop = position;
    }
    unsigned char *frame = (unsigned char *)memory + table;
    memcpy(frame, memory, 4); /* format, flags and typesize */
    put_little_endian(frame + 4, size);
    put_little_endian(frame + 8, block);
    put_little_endian(frame + 12, new_table + stop - lowest);
    for (int64_t i = first; i <= last; i++)
        put_little_endian(frame + FRAME_HEADER + 4 * (i - first),
                          little_endian(positions + 4 * i) - lowest + new_table);
    if (!read_all(source, (char *)frame + new_table, stop - lowest, start + lowest)) return UNUSUAL;
    char *chunk = reserve(&scratch->decoded, &scratch->decoded_capacity, (size_t)size);
    if (chunk == NULL || !decode_blosc(frame, new_table + stop - lowest, size, chunk)) return UNUSUAL;
    copy_box(target, plan->target_strides, chunk + box->source - first * block, plan->source_strides, box->shape,
             plan->rank, plan->itemsize);
    return DONE;
}
