/* The functions of codecs, which are borrowed from other libraries: where they are, and whether they are known. */

static int (*blosc_decompress_ctx)(const void *, void *, size_t, int);
static int (*blosc_compress_ctx)(int, int, size_t, size_t, const void *, void *, size_t, const char *, size_t, int);
static void *(*zstd_create_dctx)(void);
static size_t (*zstd_free_dctx)(void *);
static size_t (*zstd_decompress)(void *, void *, size_t, const void *, size_t);
static void *(*zstd_create_cctx)(void);
static size_t (*zstd_free_cctx)(void *);
static size_t (*zstd_set)(void *, int, int);
static size_t (*zstd_compress)(void *, void *, size_t, const void *, size_t);
static size_t (*zstd_bound)(size_t);
static unsigned (*zstd_is_error)(size_t);
static size_t (*zstd_sizeof_cctx)(const void *);

static void *(*gzip_create_decoder)(void);
static void (*gzip_free_decoder)(void *);
static int (*gzip_decompress)(void *, const void *, size_t, void *, size_t, size_t *, size_t *);
static void *(*gzip_create_encoder)(int);
static void (*gzip_free_encoder)(void *);
static size_t (*gzip_compress)(void *, const void *, size_t, void *, size_t);
static size_t (*gzip_bound)(void *, size_t);

enum { ZSTD_LEVEL = 100, ZSTD_CHECKSUM = 201 }; /* ZSTD_c_compressionLevel, ZSTD_c_checksumFlag */

static int is_known(int codec) {
    if (codec == RAW || (codec == BLOSC && blosc_decompress_ctx) || (codec == ZSTD && zstd_decompress) ||
        (codec == GZIP && gzip_decompress))
        return 1;
    PyErr_SetString(PyExc_ValueError, "no such codec");
    return 0;
}

PyDoc_STRVAR(use_doc, "use(name, addresses)\nTells where the functions of a codec are: `blosc`, `zstd` or `gzip`.");

static PyObject *py_use(PyObject *module, PyObject *arguments) {
    (void)module;
    const char *name;
    PyObject *given;
    if (!PyArg_ParseTuple(arguments, "sO!", &name, &PyTuple_Type, &given)) return NULL;
    /* in the order in which they are given; what is tested before they are used comes last */
    void *blosc[] = {&blosc_compress_ctx, &blosc_decompress_ctx};
    void *zstd[] = {&zstd_create_dctx, &zstd_free_dctx, &zstd_create_cctx, &zstd_free_cctx, &zstd_set,
                    &zstd_compress,    &zstd_bound,     &zstd_is_error,    &zstd_sizeof_cctx, &zstd_decompress};
    void *gzip[] = {&gzip_create_decoder, &gzip_free_decoder, &gzip_create_encoder, &gzip_free_encoder,
                    &gzip_compress,       &gzip_bound,        &gzip_decompress};
    void **places = NULL;
    Py_ssize_t count = 0;
#define KNOWN(codec)                                   \
    if (strcmp(name, #codec) == 0) {                   \
        places = codec;                                \
        count = (Py_ssize_t)(sizeof codec / sizeof *codec); \
    }
    KNOWN(blosc) KNOWN(zstd) KNOWN(gzip)
#undef KNOWN
    if (places == NULL || count != PyTuple_Size(given)) {
        PyErr_SetString(PyExc_ValueError, "another codec, or another number of addresses, is expected");
        return NULL;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        void *address = PyLong_AsVoidPtr(PyTuple_GetItem(given, i));
        if (address == NULL) {
            if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "an address is 0");
            return NULL;
        }
        memcpy(places[i], &address, sizeof address);
    }
    Py_RETURN_NONE;
}
