package kafkabal.routing;

/** Hashes keys like Kafka's own partitioner (murmur2), whose class is not part of Kafka's public interface. */
final class KeyHash {
    private static final int SEED = 0x9747b28c;
    private static final int MIX = 0x5bd1e995;

    private KeyHash() {
    }

    /** The partition that Kafka's default partitioner picks for a key. */
    static int partition(byte[] key, int partitions) {
        return (murmur2(key) & 0x7fffffff) % partitions;
    }

    static int murmur2(byte[] key) {
        int h = SEED ^ key.length;
        int end = key.length & ~3;
        for (int at = 0; at < end; at += 4) {
            int k = key[at] & 0xff | (key[at + 1] & 0xff) << 8 | (key[at + 2] & 0xff) << 16 | key[at + 3] << 24;
            k *= MIX;
            k ^= k >>> 24;
            h = h * MIX ^ k * MIX;
        }
        if (end < key.length) {
            for (int at = end; at < key.length; at++) {
                h ^= (key[at] & 0xff) << 8 * (at - end);
            }
            h *= MIX;
        }
        h = (h ^ h >>> 13) * MIX;
        return h ^ h >>> 15;
    }
}
