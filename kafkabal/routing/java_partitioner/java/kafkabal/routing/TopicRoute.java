package kafkabal.routing;

import java.util.concurrent.ThreadLocalRandom;

import org.apache.kafka.common.Cluster;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Routes one producer's records without keys to one topic: by weights while they are valid, else batch by batch. */
final class TopicRoute {
    private static final Logger LOG = LoggerFactory.getLogger(TopicRoute.class);

    private final String topic;
    private final WeightsReader reader;
    private final ByteStride stride = new ByteStride(ThreadLocalRandom.current().nextDouble());
    private final StickyPartition sticky;
    private final SlotLength slotLength;
    private CurrentWeights followed;
    private boolean isDecided;
    private boolean isByWeights;
    private boolean isLed;
    private Cluster seen;

    TopicRoute(String topic, WeightsReader reader, SlotLength slotLength) {
        this.topic = topic;
        this.reader = reader;
        this.slotLength = slotLength;
        reader.follow(topic);
        this.sticky = new StickyPartition(topic, slotLength.batchBytes());
    }

    synchronized int pick(Cluster cluster, int sizeBytes) {
        CurrentWeights latest = reader.latest(topic);
        if (latest != followed) {
            follow(latest);
        }
        boolean isNewSlot = stride.isBetweenSlots();
        if (isNewSlot) {
            decideWhetherByWeights();
        }
        if (!isByWeights) {
            return sticky.pick(cluster, sizeBytes);
        }
        if (isNewSlot) {
            WeightRecord record = followed.record;
            stride.setSlotBytes(slotLength.bytes(sizeBytes, record.slotBytes), record.slotPart);
        }
        int partition = stride.pick(sizeBytes);
        if (isNewSlot || cluster != seen) {
            seen = cluster;
            // the publisher notices a missing leader some seconds later than this client
            isLed = StickyPartition.hasLeader(cluster, topic, partition);
        }
        return isLed ? partition : sticky.pick(cluster, sizeBytes);
    }

    /** For a record that the producer refuses after this, because of its size: what counts as sent must not include it. */
    synchronized int pickForRefused(Cluster cluster) {
        return sticky.pick(cluster, 0);
    }

    private void follow(CurrentWeights latest) {
        followed = latest;
        if (latest != null) {
            stride.setWeights(latest.record.weights, latest.record.leaders);
        }
    }

    private void decideWhetherByWeights() {
        boolean areValid = followed != null && followed.areValid();
        if (areValid != isByWeights || !isDecided) {
            LOG.info(areValid ? "Topic {}: records without keys follow published weights"
                : "Topic {}: weights are missing or too old, records without keys go to random partitions by the batch", topic);
        }
        isDecided = true;
        isByWeights = areValid;
    }
}
