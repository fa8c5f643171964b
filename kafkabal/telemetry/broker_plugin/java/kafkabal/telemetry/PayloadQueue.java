package kafkabal.telemetry;

import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/** Queue of payloads from request threads to the sender, bounded in bytes. */
final class PayloadQueue {
    private final LinkedBlockingQueue<Payload> waiting = new LinkedBlockingQueue<>();
    private final AtomicLong waitingBytes = new AtomicLong();
    private final long maxBytes;

    PayloadQueue(long maxBytes) {
        this.maxBytes = maxBytes;
    }

    /** Never blocks; returns false if there is no room. */
    boolean offer(Payload payload) {
        int bytes = payload.bytes();
        if (waitingBytes.addAndGet(bytes) > maxBytes) {
            waitingBytes.addAndGet(-bytes);
            return false;
        }
        return waiting.offer(payload);
    }

    /** The next payload, or null if none arrives in time. */
    Payload poll(long timeoutMs) throws InterruptedException {
        Payload payload = waiting.poll(timeoutMs, TimeUnit.MILLISECONDS);
        if (payload != null) {
            waitingBytes.addAndGet(-payload.bytes());
        }
        return payload;
    }
}
