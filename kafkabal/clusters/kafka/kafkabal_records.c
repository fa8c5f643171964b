/* Finds the records in the bytes of a fetch, and copies their fields into Python's bytes.
 *
 * A reader of records of 10 kB that does this in Python keeps Python's lock for nearly all of its time; here, only the
 * creation of the bytes needs it. Batches that are in any way special (compressed, control, transactional while
 * transactions were aborted, damaged, malformed) are left to Python, which handles them one by one: see record_batches.py.
 * The layout is that of Apache Kafka's DefaultRecordBatch and DefaultRecord (magic 2).
 *
 * The Python side is native_records.py. Nothing is linked against: Python's functions are passed in, so that one library
 * serves every version of Python 3.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

/* The digest of this file, from hatch_build.py. */
EXPORT const char *const kafkabal_source_sha256 = SOURCE_SHA256;

/* Positions in a batch; Kafka writes numbers with the highest byte first. */
enum {
    BASE_OFFSET = 0,
    LENGTH = 8,
    LENGTH_ENDS = 12, /* bytes that the length does not include */
    MAGIC = 16,
    CHECKSUM = 17,
    ATTRIBUTES = 21, /* the checksum covers what follows from here */
    LAST_DELTA = 23,
    FIRST_MS = 27,
    LAST_MS = 35,
    COUNT = 57,
    RECORDS = 61,
};
enum { CODEC = 0x07, APPEND_TIME = 0x08, TRANSACTIONAL = 0x10, CONTROL = 0x20 };

#define MOST_SPANS 8 /* _MOST_SPANS in native_records.py */

/* _Columns in native_records.py: what was found of each record; begin and end of a missing key or value are -1 */
struct columns {
    int64_t *offset, *timestamp, *key_begin, *key_end, *value_begin, *value_end, *headers_begin, *headers_end;
    int64_t capacity;
    int64_t n;
};

/* Adjacent whole batches that have offsets beyond the wanted ones. */
struct span {
    int64_t first, last, begin, end;
};

/* _Scan in native_records.py */
struct scan {
    int64_t at;            /* the first batch that was not read */
    int64_t after;         /* the offset after the last batch that was read */
    int64_t largest_bytes; /* of a batch */
    int64_t n_spans;
    struct span spans[MOST_SPANS];
};

/* What the records of a batch have in common. */
struct batch {
    int64_t base_offset, last_offset, first_ms, append_ms;
    int32_t has_append_ms;
    int32_t has_every_offset;
    int64_t count;
};

static uint64_t number(const uint8_t *at, int n_bytes)
{
    uint64_t found = 0;
    for (int i = 0; i < n_bytes; i++)
        found = found << 8 | at[i];
    return found;
}

static int64_t n64(const uint8_t *at) { return (int64_t)number(at, 8); }
static int32_t n32(const uint8_t *at) { return (int32_t)number(at, 4); }

/* CRC-32C (Castagnoli), as RFC 3720 has it: by the processor's instruction or by tables, eight bytes at a time. */

static uint32_t table[8][256];
/* The instruction takes three cycles, but one can begin in each: three stretches of this length are computed at a time. */
#define STRETCH 1024
static uint32_t after_stretch[4][256]; /* by a byte of a checksum: what it is after as many zero bytes */

static uint32_t crc_by_table(uint32_t crc, const uint8_t *at, int64_t n);

__attribute__((constructor)) static void fill_table(void)
{
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t crc = i;
        for (int bit = 0; bit < 8; bit++)
            crc = crc & 1 ? crc >> 1 ^ 0x82F63B78u : crc >> 1;
        table[0][i] = crc;
    }
    for (int k = 1; k < 8; k++)
        for (uint32_t i = 0; i < 256; i++)
            table[k][i] = table[k - 1][i] >> 8 ^ table[0][table[k - 1][i] & 0xFF];
    static const uint8_t zeros[STRETCH];
    for (int k = 0; k < 4; k++)
        for (uint32_t i = 0; i < 256; i++) /* checksums add up: those of single bits make the others */
            after_stretch[k][i] = i & (i - 1) ? after_stretch[k][i & (i - 1)] ^ after_stretch[k][i & -i]
                                              : crc_by_table(i << 8 * k, zeros, STRETCH);
}

static uint32_t crc_by_table(uint32_t crc, const uint8_t *at, int64_t n)
{
    for (; n >= 8; at += 8, n -= 8) {
        uint32_t low = crc ^ (at[0] | at[1] << 8 | at[2] << 16 | (uint32_t)at[3] << 24);
        crc = table[7][low & 0xFF] ^ table[6][low >> 8 & 0xFF] ^ table[5][low >> 16 & 0xFF] ^ table[4][low >> 24] ^
              table[3][at[4]] ^ table[2][at[5]] ^ table[1][at[6]] ^ table[0][at[7]];
    }
    for (; n > 0; at++, n--)
        crc = crc >> 8 ^ table[0][(crc ^ *at) & 0xFF];
    return crc;
}

/* The compilers name the instructions differently. */
#if defined(__clang__)
#define WITH_CRC32_X86 __attribute__((target("crc32")))
#define WITH_CRC32_ARM __attribute__((target("crc")))
#else
#define WITH_CRC32_X86 __attribute__((target("sse4.2")))
#define WITH_CRC32_ARM __attribute__((target("+crc")))
#endif

#if defined(__x86_64__)
#define WITH_INSTRUCTION WITH_CRC32_X86
#define ADD_EIGHT(crc, eight) __builtin_ia32_crc32di(crc, eight)
static int has_instruction(void) { return __builtin_cpu_supports("sse4.2"); }
#elif defined(__aarch64__)
#include <arm_acle.h>
#include <sys/auxv.h>
#define WITH_INSTRUCTION WITH_CRC32_ARM
#define ADD_EIGHT(crc, eight) __crc32cd(crc, eight)
#define HAS_CRC32 (1 << 7) /* HWCAP_CRC32 */
static int has_instruction(void) { return (getauxval(AT_HWCAP) & HAS_CRC32) != 0; }
#endif

#if defined(WITH_INSTRUCTION)
static uint64_t eight_at(const uint8_t *at)
{
    uint64_t found;
    memcpy(&found, at, 8);
    return found;
}

static uint32_t shifted(uint32_t crc)
{
    return after_stretch[0][crc & 0xFF] ^ after_stretch[1][crc >> 8 & 0xFF] ^ after_stretch[2][crc >> 16 & 0xFF] ^
           after_stretch[3][crc >> 24];
}

WITH_INSTRUCTION static uint32_t crc_by_instruction(uint32_t crc, const uint8_t *at, int64_t n)
{
    for (; n >= 3 * STRETCH; at += 3 * STRETCH, n -= 3 * STRETCH) {
        uint64_t first = crc, second = 0, third = 0;
        for (const uint8_t *each = at; each < at + STRETCH; each += 8) {
            first = ADD_EIGHT(first, eight_at(each));
            second = ADD_EIGHT(second, eight_at(each + STRETCH));
            third = ADD_EIGHT(third, eight_at(each + 2 * STRETCH));
        }
        crc = shifted(shifted((uint32_t)first) ^ (uint32_t)second) ^ (uint32_t)third;
    }
    for (; n >= 8; at += 8, n -= 8)
        crc = (uint32_t)ADD_EIGHT(crc, eight_at(at));
    return crc_by_table(crc, at, n);
}
#else
static int has_instruction(void) { return 0; }
static uint32_t crc_by_instruction(uint32_t crc, const uint8_t *at, int64_t n) { return crc_by_table(crc, at, n); }
#endif

EXPORT uint32_t kafkabal_crc32c(const uint8_t *bytes, int64_t n, int32_t by_table)
{
    uint32_t crc = 0xFFFFFFFFu;
    crc = by_table || !has_instruction() ? crc_by_table(crc, bytes, n) : crc_by_instruction(crc, bytes, n);
    return ~crc;
}

/* Reads a zigzag number of at most this many bytes; 0 if it does not end before `end`. */
static int read_number(const uint8_t *bytes, int64_t *at, int64_t end, int most_bytes, int64_t *value)
{
    uint64_t found = 0;
    for (int i = 0; i < most_bytes && *at < end; i++) {
        uint8_t b = bytes[(*at)++];
        found |= (uint64_t)(b & 0x7F) << 7 * i;
        if (b < 0x80) {
            *value = (int64_t)(found >> 1 ^ -(found & 1));
            return 1;
        }
    }
    return 0;
}

/* Reads a field with its length, -1 if it is missing; something must follow it in the record. */
static int read_field(const uint8_t *bytes, int64_t *at, int64_t end, int64_t *begin, int64_t *until)
{
    int64_t size;
    if (!read_number(bytes, at, end, 5, &size) || size < -1 || size >= end - *at)
        return 0;
    *begin = size < 0 ? -1 : *at;
    *until = size < 0 ? -1 : *at + size;
    *at += size < 0 ? 0 : size;
    return *at < end;
}

/* Adds the records of a batch at offsets `begin` to `end - 1`; 0, and none is added, if it is not as Kafka writes it. */
static int find_in(const uint8_t *bytes, int64_t at, int64_t limit, const struct batch *batch, int64_t begin,
                   int64_t end, struct columns *found)
{
    int64_t n = found->n;
    for (int64_t i = 0; i < batch->count; i++) {
        int64_t size, delta_ms, delta;
        if (!read_number(bytes, &at, limit, 5, &size) || size < 1 || size > limit - at)
            return 0;
        int64_t record = at, record_end = at + size;
        at = record_end;
        if (batch->has_every_offset && (batch->base_offset + i < begin || batch->base_offset + i >= end))
            continue;
        record++; /* attributes, unused */
        if (!read_number(bytes, &record, record_end, 10, &delta_ms) ||
            !read_number(bytes, &record, record_end, 10, &delta))
            return 0;
        if (delta < 0 || delta > batch->last_offset - batch->base_offset || (batch->has_every_offset && delta != i))
            return 0;
        int64_t offset = batch->base_offset + delta;
        if (offset < begin || offset >= end)
            continue;
        if (n == found->capacity || !read_field(bytes, &record, record_end, &found->key_begin[n], &found->key_end[n]) ||
            !read_field(bytes, &record, record_end, &found->value_begin[n], &found->value_end[n]))
            return 0;
        found->offset[n] = offset;
        found->timestamp[n] =
            batch->has_append_ms ? batch->append_ms : (int64_t)((uint64_t)batch->first_ms + (uint64_t)delta_ms);
        found->headers_begin[n] = record;
        found->headers_end[n] = record_end;
        n++;
    }
    found->n = n;
    return 1;
}

static int add_span(struct scan *scan, struct span span)
{
    struct span *last = scan->n_spans ? &scan->spans[scan->n_spans - 1] : NULL;
    if (last != NULL && last->last + 1 == span.first && last->end == span.begin) {
        last->last = span.last;
        last->end = span.end;
        return 1;
    }
    if (scan->n_spans == MOST_SPANS)
        return 0;
    scan->spans[scan->n_spans++] = span;
    return 1;
}

/* Reads batches from position `scan->at` on, and adds their records at offsets `begin` to `end - 1`, up to the end, or a
 * batch that is special. */
EXPORT void kafkabal_scan(const uint8_t *bytes, int64_t size, int64_t begin, int64_t end, int32_t transactions_visible,
                          struct columns *found, struct scan *scan)
{
    while (size - scan->at >= RECORDS) {
        const uint8_t *head = bytes + scan->at;
        int64_t length = n32(head + LENGTH), last_delta = n32(head + LAST_DELTA);
        int attributes = (int)number(head + ATTRIBUTES, 2);
        int64_t base_offset = n64(head + BASE_OFFSET), until = scan->at + LENGTH_ENDS + length;
        if (head[MAGIC] != 2 || length < RECORDS - LENGTH_ENDS || until > size || attributes & (CODEC | CONTROL) ||
            (attributes & TRANSACTIONAL && !transactions_visible) || last_delta < 0 || base_offset < 0 ||
            base_offset > INT64_MAX - 1 - last_delta)
            return;
        struct batch batch = {
            .base_offset = base_offset,
            .last_offset = base_offset + last_delta,
            .first_ms = n64(head + FIRST_MS),
            .append_ms = n64(head + LAST_MS),
            .has_append_ms = (attributes & APPEND_TIME) != 0,
            .count = n32(head + COUNT),
        };
        batch.has_every_offset = last_delta + 1 == batch.count;
        struct span span = {batch.base_offset, batch.last_offset, scan->at, until};
        int is_wanted = begin <= batch.last_offset && batch.base_offset < end;
        int64_t n_before = found->n;
        if (is_wanted) {
            uint32_t checksum = (uint32_t)number(head + CHECKSUM, 4);
            if (kafkabal_crc32c(head + ATTRIBUTES, until - scan->at - ATTRIBUTES, 0) != checksum ||
                !find_in(bytes, scan->at + RECORDS, until, &batch, begin, end, found))
                return;
        }
        if ((batch.base_offset < begin || batch.last_offset >= end) && !add_span(scan, span)) {
            found->n = n_before;
            return;
        }
        if (batch.last_offset + 1 > scan->after)
            scan->after = batch.last_offset + 1;
        if (until - scan->at > scan->largest_bytes)
            scan->largest_bytes = until - scan->at;
        scan->at = until;
    }
}

/* The same for the records of one batch that Python has unpacked; 0 if they are malformed, or not at offsets. */
EXPORT int32_t kafkabal_find(const uint8_t *bytes, int64_t at, int64_t limit, const struct batch *batch, int64_t begin,
                             int64_t end, struct columns *found)
{
    /* an offset beyond 64 bits is negative by now */
    int has_offsets =
        batch->base_offset >= 0 && batch->last_offset >= batch->base_offset && batch->last_offset < INT64_MAX;
    return has_offsets && find_in(bytes, at, limit, batch, begin, end, found);
}

/* Python's functions, of its stable ABI; the order is that of _PYTHON_FUNCTIONS in native_records.py */
static struct python_functions {
    void *(*new_list)(ptrdiff_t size);
    int (*set_item)(void *list, ptrdiff_t at, void *object);
    void *(*new_bytes)(const char *, ptrdiff_t size);
    char *(*address)(void *bytes);
    void (*incref)(void *object);
    void (*decref)(void *object);
} python;

EXPORT void kafkabal_bind(const struct python_functions *functions) { python = *functions; }

/* A list of new bytes objects, `none` where begin is negative, and the addresses to fill; called with Python's lock. */
EXPORT void *kafkabal_new_bytes(int64_t n, const int64_t *begin, const int64_t *end, void *none, char **memory)
{
    void *list = python.new_list((ptrdiff_t)n);
    for (int64_t i = 0; list != NULL && i < n; i++) {
        void *item = begin[i] < 0 ? none : python.new_bytes(NULL, (ptrdiff_t)(end[i] - begin[i]));
        if (item == NULL) {
            python.decref(list);
            return NULL;
        }
        if (item == none)
            python.incref(none);
        memory[i] = item == none ? NULL : python.address(item);
        python.set_item(list, (ptrdiff_t)i, item);
    }
    return list;
}

/* Fills them; called without Python's lock. */
EXPORT void kafkabal_copy(int64_t n, const uint8_t *const *buffers, const int64_t *buffer, const int64_t *begin,
                          const int64_t *end, char *const *memory)
{
    for (int64_t i = 0; i < n; i++)
        if (begin[i] < end[i])
            memcpy(memory[i], buffers[buffer[i]] + begin[i], (size_t)(end[i] - begin[i]));
}
