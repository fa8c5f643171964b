/* A plug-in of librdkafka: sends records to the partition of the current slot, without a call of Python per record.
 *
 *     on_send             in produce(): subtracts the record from its topic's slot; asks Python for the next slots
 *     partitioner         right after it, in the same call: returns the slot's partition
 *     on_acknowledgement  in a thread of librdkafka: counts bytes that were acknowledged or given up, by partition
 *
 * Records with keys keep librdkafka's own partitioner, and an explicit partition is obeyed. Python is called only from
 * on_send, hence by the thread that called produce(), which holds no lock of librdkafka there. produce_batch() holds
 * the topic's read lock: slots for its records are planned before it is called. A thread that waited there for Python's
 * lock would wait forever: librdkafka's main thread awaits the topic's lock every second while it holds the client's,
 * and a thread that has Python's lock awaits that in produce(). Where many of its records fall into one slot, they are
 * sent as a run with that partition, for which librdkafka looks up the partition and the time once and not per record.
 *
 * The Python side is routing_plugin.py. Nothing here needs a header: librdkafka's functions are passed in, because
 * the copy inside confluent-kafka's wheel cannot be linked against, and its types are opaque or declared below.
 */
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>

#define EXPORT __attribute__((visibility("default")))

/* The digest of this file, from hatch_build.py. */
EXPORT const char *const kafkabal_source_sha256 = SOURCE_SHA256;

#define UNASSIGNED (-1)
#define MOST_SLOTS 64 /* MOST_SLOTS in byte_stride.py */
#define MOST_PLANS 8 /* for one record: of 536,000 from 4 threads on busy cores, 2 needed a second one */
/* What produce() writes for each record is not in a cache line with what librdkafka's threads write, and neither is what
 * one of them writes with what others do. */
#define OWN_CACHE_LINE _Alignas(CACHE_LINE)
#define CACHE_LINE 64
/* Threads that acknowledge records, one for each broker, count in turn for these. With one lock for all, an
 * acknowledgement took 130 ns in place of 22 where two threads had some at the same time (2026-11). */
#define COUNTERS 8
#define BUCKETS 64 /* of a hash table: a producer rarely writes to more topics */

/* rd_kafka_message_t, part of librdkafka's stable ABI */
struct message {
    int err;
    void *rkt;
    int32_t partition;
    void *payload;
    size_t len;
    void *key;
    size_t key_len;
    int64_t offset;
    void *private_data;
};

typedef int32_t partitioner_fn(const void *rkt, const void *key, size_t key_len, int32_t partitions, void *topic_opaque,
                               void *message_opaque);
typedef int interceptor_fn(void *rk, struct message *, void *opaque);
typedef int on_new_fn(void *rk, const void *conf, void *opaque, char *errstr, size_t errstr_size);
typedef int on_destroy_fn(void *rk, void *opaque);

/* librdkafka's functions; the order is that of _FUNCTIONS in routing_plugin.py */
static struct functions {
    const char *(*topic_name)(const void *rkt);
    int (*partition_available)(const void *rkt, int32_t partition);
    int (*message_headers)(const struct message *, void **headers);
    int (*header_get_all)(const void *headers, size_t index, const char **name, const void **value, size_t *size);
    void *(*topic_conf_new)(void);
    void *(*get_default_topic_conf)(void *conf);
    void (*set_default_topic_conf)(void *conf, void *topic_conf);
    void (*topic_conf_set_opaque)(void *topic_conf, void *opaque);
    void (*topic_conf_set_partitioner)(void *topic_conf, partitioner_fn *);
    int (*add_on_new)(void *conf, const char *name, on_new_fn *, void *opaque);
    int (*add_on_send)(void *rk, const char *name, interceptor_fn *, void *opaque);
    int (*add_on_acknowledgement)(void *rk, const char *name, interceptor_fn *, void *opaque);
    int (*add_on_destroy)(void *rk, const char *name, on_destroy_fn *, void *opaque);
    partitioner_fn *random;
} kafka;

/* Python's functions, of its stable ABI; the order is that of _PYTHON_FUNCTIONS in routing_plugin.py */
static struct python_functions {
    int (*ensure)(void);
    void (*release)(int);
    void *(*call)(void *callable, const char *format, ...);
    void (*decref)(void *object);
    void (*fetch_error)(void **type, void **value, void **traceback);
    void (*restore_error)(void *type, void *value, void *traceback);
    void (*write_unraisable)(void *object);
    int (*add_pending_call)(int (*)(void *), void *);
    void (*clear_error)(void);
    void *(*list_item)(void *list, ssize_t index);
    ssize_t (*dict_size)(void *dict);
    void *(*dict_item)(void *dict, void *key);
    ssize_t (*bytes_size)(void *bytes);
    ssize_t (*text_size)(void *text);
    void *bytes_type;
    void *text_type;
    void *dict_type;
} python;

/* Where objects have their type. */
static size_t type_offset;

/* The partition of consecutive records; its last one may be longer than what was left of the slot. */
struct slot {
    int64_t bytes;
    int64_t excess_bytes; /* by which the last record overran the slot */
    int32_t partition;
};

/* The routing of one topic of one producer. */
struct lane {
    /* read and written by Python, see _Lane in routing_plugin.py; changed only with Python's lock */
    struct slot slots[MOST_SLOTS];
    int32_t slot; /* the current one; slot_count if all are used up */
    int32_t slot_count;
    int32_t is_overrun; /* whether a record was longer than what was left of its slot */
    int64_t unrouted_left_bytes; /* before the first view: bytes until Python is asked again */
    int64_t left_bytes; /* of the current slot */
    OWN_CACHE_LINE
    /* bytes in flight whose partition librdkafka chose later, when it had the topic's metadata: they are acknowledged
     * before all others */
    int64_t unplaced_bytes;
    /* by partition, guarded by the producer's lock */
    int64_t *routed_bytes; /* sent in slots before the current one */
    int64_t *explicit_bytes; /* sent to a partition that the caller or librdkafka chose */
    /* by partition, each guarded by its own lock of the producer */
    int64_t *settled_bytes[COUNTERS]; /* acknowledged or given up, however the partition was chosen */
    int32_t partitions; /* changed only with Python's lock and all others */
    /* as librdkafka's sticky partitioner */
    int32_t sticky_partition;
    int64_t sticky_until_us;
    struct lane *next;
    char topic[];
};

struct producer {
    struct lane *lanes[BUCKETS]; /* lists grow at their head, the newest first */
    struct lane *latest; /* of the latest record; changed only by threads that hold Python's lock */
    void *plan_slots; /* a Python callable, which plans the next slots of a topic; NULL once it is gone */
    unsigned long main_thread;
    partitioner_fn *by_key;
    int64_t sticky_us;
    int32_t routes_keys;
    int32_t has_headers; /* whether any record had some: to look for them costs a hundredth of a record of 1 kB */
    OWN_CACHE_LINE pthread_mutex_t lock;
    struct { OWN_CACHE_LINE pthread_mutex_t lock; } counters[COUNTERS]; /* taken after the one above, if both are */
    int32_t owners; /* Python, and librdkafka's client; changed only with all locks */
};

/* Between on_send and the partitioner, or an acknowledgement of a record that was refused at once. */
static __thread struct {
    const void *rkt;
    struct lane *lane;
    int64_t size_bytes;
    int32_t partition;
} current;
/* Whether this thread is in produce_batch(). */
static __thread int32_t is_in_batch;
/* What this thread sends to one partition by produce_batch(). */
static __thread struct {
    const struct producer *producer; /* NULL if it does not */
    struct lane *lane;
    int64_t left_bytes;
    int32_t partition;
} run;
/* The producer of the client that this thread is creating. */
static __thread struct producer *opening;
/* One more than what this thread counts for; 0 before its first acknowledgement. */
static __thread int32_t own_counter;
static int32_t counting_threads;

static void *zeroed(size_t size) {
    size = (size + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
    void *memory = aligned_alloc(CACHE_LINE, size);
    return memory ? memset(memory, 0, size) : NULL;
}

static void lock_all(struct producer *producer) {
    pthread_mutex_lock(&producer->lock);
    for (int i = 0; i < COUNTERS; i++) pthread_mutex_lock(&producer->counters[i].lock);
}

static void unlock_all(struct producer *producer) {
    for (int i = 0; i < COUNTERS; i++) pthread_mutex_unlock(&producer->counters[i].lock);
    pthread_mutex_unlock(&producer->lock);
}

static int counter_of_this_thread(void) {
    if (!own_counter) own_counter = 1 + __atomic_fetch_add(&counting_threads, 1, __ATOMIC_RELAXED) % COUNTERS;
    return own_counter - 1;
}

static uint32_t bucket_of(const char *topic) {
    uint32_t hash = 2166136261u; /* FNV-1a */
    for (; *topic; topic++) hash = (hash ^ (unsigned char)*topic) * 16777619u;
    return hash % BUCKETS;
}

static struct lane *find_lane(struct producer *producer, const char *topic) {
    struct lane *lane = __atomic_load_n(&producer->latest, __ATOMIC_ACQUIRE);
    if (lane && strcmp(lane->topic, topic) == 0) return lane;
    lane = __atomic_load_n(&producer->lanes[bucket_of(topic)], __ATOMIC_ACQUIRE);
    while (lane && strcmp(lane->topic, topic) != 0) lane = lane->next;
    return lane;
}

static int64_t size_without_headers(const struct message *message) {
    int64_t size = (int64_t)message->len + (int64_t)message->key_len;
    return size > 0 ? size : 1;
}

static int64_t size_of(struct producer *producer, const struct message *message) {
    int64_t size = (int64_t)message->len + (int64_t)message->key_len;
    void *headers;
    if (kafka.message_headers(message, &headers) == 0) {
        if (!producer->has_headers) __atomic_store_n(&producer->has_headers, 1, __ATOMIC_RELEASE);
        const char *name;
        const void *value;
        size_t value_bytes;
        for (size_t i = 0; kafka.header_get_all(headers, i, &name, &value, &value_bytes) == 0; i++)
            size += (int64_t)(strlen(name) + value_bytes);
    }
    return size > 0 ? size : 1;
}

static int has_slot(const struct lane *lane) { return lane->slot < lane->slot_count; }

/* Leaves the current slot if it is used up. */
static void leave_used_up_slot(struct producer *producer, struct lane *lane) {
    int64_t left = __atomic_load_n(&lane->left_bytes, __ATOMIC_RELAXED);
    if (!has_slot(lane) || left > 0) return;
    struct slot *used = &lane->slots[lane->slot++];
    used->excess_bytes = -left;
    lane->is_overrun |= left < 0;
    pthread_mutex_lock(&producer->lock);
    if (used->partition >= 0 && used->partition < lane->partitions)
        lane->routed_bytes[used->partition] += used->bytes - left;
    pthread_mutex_unlock(&producer->lock);
    __atomic_store_n(&lane->left_bytes, has_slot(lane) ? lane->slots[lane->slot].bytes : 0, __ATOMIC_RELAXED);
}

/* Whether librdkafka may not have the topic's metadata, and choose partitions later. */
static int is_unknown(const struct lane *lane) { return !lane->partitions; }

static int is_last_slot(const struct lane *lane) { return lane->slot + 1 == lane->slot_count; }

static int is_used_up(const struct lane *lane) { return !has_slot(lane) && lane->unrouted_left_bytes <= 0; }

static int is_ours(const struct producer *producer, const struct message *message) {
    return !message->key || producer->routes_keys;
}

/* A longer copy of counters of this many partitions; NULL if memory runs out. */
static int64_t *grown(const int64_t *counters, int32_t from, int32_t to) {
    int64_t *more = zeroed((size_t)to * sizeof *more);
    if (more && from) memcpy(more, counters, (size_t)from * sizeof *more);
    return more;
}

/* Counts bytes of this many partitions; returns 0 if memory runs out. Called with all locks. */
static int grow(struct lane *lane, int32_t partitions) {
    if (partitions <= lane->partitions) return 1;
    int64_t **counters[COUNTERS + 2] = {&lane->routed_bytes, &lane->explicit_bytes};
    for (int i = 0; i < COUNTERS; i++) counters[i + 2] = &lane->settled_bytes[i];
    for (int i = 0; i < COUNTERS + 2; i++) {
        int64_t *more = grown(*counters[i], lane->partitions, partitions);
        if (!more) return 0;
        free(*counters[i]);
        *counters[i] = more;
    }
    lane->partitions = partitions;
    return 1;
}

/* Counts a record for which librdkafka's own partitioner has chosen the partition. */
static void count_chosen(struct producer *producer, struct lane *lane, int32_t partition, int32_t partitions) {
    int may_count = 1;
    if (partitions > lane->partitions) {
        lock_all(producer);
        may_count = grow(lane, partitions);
        unlock_all(producer);
    }
    pthread_mutex_lock(&producer->lock);
    if (partition >= 0 && partition < partitions && may_count) lane->explicit_bytes[partition] += current.size_bytes;
    pthread_mutex_unlock(&producer->lock);
    current.partition = partition;
}

static void count_explicit(struct producer *producer, const struct message *message) {
    struct lane *lane = find_lane(producer, kafka.topic_name(message->rkt));
    if (!lane) return;
    pthread_mutex_lock(&producer->lock);
    if (message->partition >= 0 && message->partition < lane->partitions)
        lane->explicit_bytes[message->partition] += size_of(producer, message);
    pthread_mutex_unlock(&producer->lock);
}

/* What a Python callable raised in the main thread, such as a signal's handler, until Python raises it there. */
static struct { void *type, *value, *traceback; } raised;

static int raise_pending(void *unused) {
    (void)unused;
    python.restore_error(raised.type, raised.value, raised.traceback);
    raised.type = NULL;
    return -1;
}

/* Lets Python raise an exception once produce() has returned: librdkafka's Python binding would lose it. */
static void raise_later(const struct producer *producer) {
    if (!raised.type && (unsigned long)pthread_self() == producer->main_thread) {
        python.fetch_error(&raised.type, &raised.value, &raised.traceback);
        if (python.add_pending_call(raise_pending, NULL) == 0) return;
        python.restore_error(raised.type, raised.value, raised.traceback);
        raised.type = NULL;
    }
    python.write_unraisable(producer->plan_slots);
}

/* Lets Python plan the next slots of a topic; returns whether it has done so. */
static int plan_slots(const struct producer *producer, const char *topic, int64_t size_bytes) {
    int state = python.ensure();
    void *result = NULL;
    if (producer->plan_slots) {
        result = python.call(producer->plan_slots, "sL", topic, (long long)size_bytes);
        if (result)
            python.decref(result);
        else
            raise_later(producer);
    }
    python.release(state);
    return result != NULL;
}

static int on_send(void *rk, struct message *message, void *opaque) {
    (void)rk;
    struct producer *producer = opaque;
    current.rkt = message->rkt;
    current.lane = NULL;
    current.partition = UNASSIGNED;
    if (!is_ours(producer, message)) return 0;
    if (message->partition != UNASSIGNED) {
        if (run.producer == producer && run.partition == message->partition)
            run.left_bytes -= size_without_headers(message);
        else
            count_explicit(producer, message);
        return 0;
    }
    const char *topic = kafka.topic_name(message->rkt);
    int64_t size = size_of(producer, message);
    struct lane *lane = find_lane(producer, topic);
    /* the last slot of a batch takes what is left of it if other threads have used up the others */
    if (lane && !(is_in_batch && is_last_slot(lane))) leave_used_up_slot(producer, lane);
    /* again if other threads have used up the slots before this one got Python's lock back */
    for (int i = 0, goes_on = !is_in_batch; i < MOST_PLANS && goes_on && (!lane || is_used_up(lane)); i++) {
        goes_on = plan_slots(producer, topic, size);
        lane = find_lane(producer, topic);
        goes_on = goes_on && lane;
        /* Python may have produced other records meanwhile, such as log messages */
        current.rkt = message->rkt;
    }
    current.lane = lane;
    current.partition = UNASSIGNED;
    current.size_bytes = size;
    if (!lane) return 0;
    if (producer->latest != lane) __atomic_store_n(&producer->latest, lane, __ATOMIC_RELEASE);
    if (has_slot(lane)) {
        current.partition = lane->slots[lane->slot].partition;
        __atomic_fetch_sub(&lane->left_bytes, size, __ATOMIC_RELAXED);
    } else {
        if (is_unknown(lane)) __atomic_fetch_add(&lane->unplaced_bytes, size, __ATOMIC_RELAXED);
        lane->unrouted_left_bytes -= size;
    }
    return 0;
}

static int on_acknowledgement(void *rk, struct message *message, void *opaque) {
    (void)rk;
    struct producer *producer = opaque;
    if (!is_ours(producer, message)) return 0;
    int counter = counter_of_this_thread();
    pthread_mutex_lock(&producer->counters[counter].lock);
    if (producer->owners > 0) {
        struct lane *lane;
        int64_t size;
        int32_t partition = message->partition;
        if (message->rkt) {
            lane = find_lane(producer, kafka.topic_name(message->rkt));
            size = __atomic_load_n(&producer->has_headers, __ATOMIC_ACQUIRE) ? size_of(producer, message)
                                                                             : size_without_headers(message);
        } else { /* a record that produce_batch() was refused, as its caller's own struct */
            lane = current.lane;
            size = current.size_bytes;
            partition = current.partition;
        }
        if (lane && __atomic_load_n(&lane->unplaced_bytes, __ATOMIC_RELAXED) > 0)
            __atomic_fetch_sub(&lane->unplaced_bytes, size, __ATOMIC_RELAXED);
        else if (lane && partition >= 0 && partition < lane->partitions)
            lane->settled_bytes[counter][partition] += size;
    }
    pthread_mutex_unlock(&producer->counters[counter].lock);
    return 0;
}

/* One partition for a while, as librdkafka's own partitioner. */
static int32_t sticky(struct producer *producer, struct lane *lane, const void *rkt, int32_t partitions) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    int64_t now_us = (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
    int32_t partition = __atomic_load_n(&lane->sticky_partition, __ATOMIC_RELAXED);
    if (partition < partitions && now_us < __atomic_load_n(&lane->sticky_until_us, __ATOMIC_RELAXED) &&
        kafka.partition_available(rkt, partition))
        return partition;
    partition = kafka.random(rkt, NULL, 0, partitions, NULL, NULL);
    __atomic_store_n(&lane->sticky_partition, partition, __ATOMIC_RELAXED);
    __atomic_store_n(&lane->sticky_until_us, now_us + producer->sticky_us, __ATOMIC_RELAXED);
    return partition;
}

static int32_t partitioner(const void *rkt, const void *key, size_t key_len, int32_t partitions, void *opaque,
                           void *message_opaque) {
    struct producer *producer = opaque;
    struct lane *lane;
    int32_t partition = UNASSIGNED;
    int is_in_produce = current.rkt == rkt;
    if (is_in_produce) {
        lane = current.lane;
        partition = current.partition;
        current.rkt = NULL;
        if (lane && partition == UNASSIGNED && is_unknown(lane)) /* for the first time, librdkafka has its metadata */
            __atomic_fetch_sub(&lane->unplaced_bytes, current.size_bytes, __ATOMIC_RELAXED);
    } else { /* librdkafka's main thread, for a record that came before the topic's metadata */
        lane = key && !producer->routes_keys ? NULL : find_lane(producer, kafka.topic_name(rkt));
    }
    if (partition != UNASSIGNED) {
        if (partition >= 0 && partition < partitions) return partition;
        /* the topic was re-created with fewer partitions, which the next view will show: the slot counts as sent, or
         * the policy would choose the same partition again */
        __atomic_store_n(&lane->left_bytes, 0, __ATOMIC_RELAXED);
    }
    if (lane && producer->sticky_us > 0)
        partition = sticky(producer, lane, rkt, partitions);
    else
        partition = producer->by_key(rkt, key, key_len, partitions, NULL, message_opaque);
    if (lane && is_in_produce) count_chosen(producer, lane, partition, partitions);
    return partition;
}

static void release(struct producer *producer) {
    lock_all(producer);
    if (--producer->owners == 0)
        for (int i = 0; i < BUCKETS; i++)
            while (producer->lanes[i]) {
                struct lane *lane = producer->lanes[i];
                producer->lanes[i] = lane->next;
                free(lane->routed_bytes);
                free(lane->explicit_bytes);
                for (int i = 0; i < COUNTERS; i++) free(lane->settled_bytes[i]);
                free(lane);
            }
    unlock_all(producer);
    /* not freed, about 1.2 kB: librdkafka does not say when its threads have acknowledged their last record */
}

static int on_destroy(void *rk, void *opaque) {
    (void)rk;
    release(opaque);
    return 0;
}

static int on_new(void *rk, const void *conf, void *opaque, char *errstr, size_t errstr_size) {
    (void)conf, (void)errstr, (void)errstr_size;
    struct producer *producer = opaque;
    lock_all(producer);
    producer->owners++;
    unlock_all(producer);
    kafka.add_on_send(rk, "kafkabal", on_send, producer);
    kafka.add_on_acknowledgement(rk, "kafkabal", on_acknowledgement, producer);
    return kafka.add_on_destroy(rk, "kafkabal", on_destroy, producer);
}

/* Called by librdkafka for the setting plugin.library.paths. */
EXPORT int conf_init(void *conf, void **opaque, char *errstr, size_t errstr_size) {
    (void)errstr, (void)errstr_size;
    struct producer *producer = *opaque = opening;
    if (!producer) return 0;
    void *topic_conf = kafka.get_default_topic_conf(conf);
    if (!topic_conf) kafka.set_default_topic_conf(conf, topic_conf = kafka.topic_conf_new());
    kafka.topic_conf_set_opaque(topic_conf, producer);
    kafka.topic_conf_set_partitioner(topic_conf, partitioner);
    return kafka.add_on_new(conf, "kafkabal", on_new, producer);
}

EXPORT void kafkabal_bind(const struct functions *functions, const struct python_functions *python_functions,
                          size_t offset_of_types) {
    kafka = *functions;
    python = *python_functions;
    type_offset = offset_of_types;
}

EXPORT struct producer *kafkabal_open(void *plan_slots, unsigned long main_thread, partitioner_fn *by_key,
                                      int64_t sticky_us, int32_t routes_keys) {
    struct producer *producer = zeroed(sizeof *producer);
    if (!producer) return NULL;
    pthread_mutex_init(&producer->lock, NULL);
    for (int i = 0; i < COUNTERS; i++) pthread_mutex_init(&producer->counters[i].lock, NULL);
    producer->plan_slots = plan_slots;
    producer->main_thread = main_thread;
    producer->by_key = by_key;
    producer->sticky_us = sticky_us;
    producer->routes_keys = routes_keys;
    producer->owners = 1;
    return opening = producer;
}

EXPORT void kafkabal_opened(void) { opening = NULL; }

EXPORT void kafkabal_release(struct producer *producer) {
    producer->plan_slots = NULL;
    release(producer);
}

/* Adds the lane of a topic, in place of an older one. */
EXPORT struct lane *kafkabal_add_lane(struct producer *producer, const char *topic) {
    struct lane *lane = zeroed(sizeof *lane + strlen(topic) + 1);
    if (!lane) return NULL;
    strcpy(lane->topic, topic);
    pthread_mutex_lock(&producer->lock);
    struct lane **head = &producer->lanes[bucket_of(topic)];
    lane->next = *head;
    __atomic_store_n(head, lane, __ATOMIC_RELEASE);
    __atomic_store_n(&producer->latest, lane, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&producer->lock);
    return lane;
}

/* Counts bytes of this many partitions from now on; returns 0 if memory runs out. */
EXPORT int32_t kafkabal_count(struct producer *producer, struct lane *lane, int32_t partitions) {
    lock_all(producer);
    int done = grow(lane, partitions);
    unlock_all(producer);
    return done;
}

static void *type_of(void *object) { return *(void **)((char *)object + type_offset); }

/* Length of the value of a record of produce_batch(); -1 if the record has a key, headers or the like. */
static ssize_t value_size(void *record, void *value_name, void *callback_name) {
    if (type_of(record) != python.dict_type) return -1;
    void *value = python.dict_item(record, value_name);
    ssize_t fields = python.dict_size(record);
    if (!value || fields > 2 || (fields == 2 && !python.dict_item(record, callback_name))) return -1;
    void *type = type_of(value);
    return type == python.bytes_type ? python.bytes_size(value) : type == python.text_type ? python.text_size(value) : -1;
}

/* Sums up the lengths of the values of a list, up to and with each record; returns 0 if a record has more than a value
 * and a callback. Called with Python's lock. */
EXPORT int32_t kafkabal_sum_values(void *records, void *value_name, void *callback_name, int64_t *ends, int64_t count) {
    int64_t end = 0;
    for (int64_t i = 0; i < count; i++) {
        ssize_t size = value_size(python.list_item(records, i), value_name, callback_name);
        if (size < 0) {
            python.clear_error();
            return 0;
        }
        ends[i] = end += size;
    }
    return 1;
}

EXPORT void kafkabal_set_in_batch(int32_t begins) { is_in_batch = begins; }

/* Bytes left of the current slot; 0 or less if there is none. */
EXPORT int64_t kafkabal_slot_left_bytes(struct producer *producer, struct lane *lane) {
    leave_used_up_slot(producer, lane);
    return has_slot(lane) ? __atomic_load_n(&lane->left_bytes, __ATOMIC_RELAXED) : 0;
}

/* Takes bytes of the current slot for records that this thread sends next, by produce_batch() to the partition that is
 * returned; UNASSIGNED if there is no slot. */
EXPORT int32_t kafkabal_begin_run(struct producer *producer, struct lane *lane, int64_t bytes) {
    is_in_batch = 1;
    if (!has_slot(lane)) return UNASSIGNED;
    __atomic_fetch_sub(&lane->left_bytes, bytes, __ATOMIC_RELAXED);
    run.producer = producer;
    run.lane = lane;
    run.left_bytes = bytes;
    run.partition = lane->slots[lane->slot].partition;
    return run.partition;
}

/* Gives back the bytes of records that librdkafka did not take. */
EXPORT void kafkabal_end_run(struct producer *producer) {
    is_in_batch = 0;
    if (run.producer != producer) return;
    run.producer = NULL;
    struct lane *lane = run.lane;
    if (has_slot(lane) && lane->slots[lane->slot].partition == run.partition) {
        __atomic_fetch_add(&lane->left_bytes, run.left_bytes, __ATOMIC_RELAXED);
    } else { /* another thread has left the slot meanwhile */
        pthread_mutex_lock(&producer->lock);
        if (run.partition < lane->partitions) lane->routed_bytes[run.partition] -= run.left_bytes;
        pthread_mutex_unlock(&producer->lock);
    }
}

/* Bytes until Python is to be asked again. */
EXPORT int64_t kafkabal_left_bytes(struct producer *producer, struct lane *lane) {
    leave_used_up_slot(producer, lane);
    if (!has_slot(lane)) return lane->unrouted_left_bytes;
    int64_t left = __atomic_load_n(&lane->left_bytes, __ATOMIC_RELAXED);
    for (int32_t i = lane->slot + 1; i < lane->slot_count; i++) left += lane->slots[i].bytes;
    return left;
}

/* Uses these slots from the next record on. */
EXPORT void kafkabal_plan(struct lane *lane, const int64_t *partitions_and_bytes, int32_t slot_count) {
    for (int32_t i = 0; i < slot_count; i++) {
        lane->slots[i].partition = (int32_t)partitions_and_bytes[2 * i];
        lane->slots[i].bytes = partitions_and_bytes[2 * i + 1];
        lane->slots[i].excess_bytes = 0;
    }
    __atomic_store_n(&lane->left_bytes, lane->slots[0].bytes, __ATOMIC_RELAXED);
    lane->is_overrun = 0;
    lane->slot_count = slot_count;
    lane->slot = 0;
}

/* Copies, by partition, what was routed there, and what of it has settled. Records to an explicit partition settle
 * after all routed ones: acknowledgements do not tell them apart. */
EXPORT void kafkabal_counts(struct producer *producer, struct lane *lane, int64_t *routed, int64_t *settled,
                            int32_t partitions) {
    lock_all(producer);
    for (int32_t i = 0; i < partitions && i < lane->partitions; i++) {
        routed[i] = lane->routed_bytes[i];
        settled[i] = -lane->explicit_bytes[i];
        for (int counter = 0; counter < COUNTERS; counter++) settled[i] += lane->settled_bytes[counter][i];
    }
    if (has_slot(lane) && lane->slots[lane->slot].partition < partitions)
        routed[lane->slots[lane->slot].partition] += lane->slots[lane->slot].bytes - lane->left_bytes;
    unlock_all(producer);
}
