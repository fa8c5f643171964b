package kafkabal.telemetry;

import java.nio.ByteBuffer;

import org.apache.kafka.common.Uuid;

/** What a client pushed; uses the broker's buffer without copying it. */
final class Payload {
    final Uuid clientInstanceId;
    /** Null if the client sent none, as the protocol allows. */
    final String clientId;
    final boolean terminating;
    final ByteBuffer data;

    Payload(Uuid clientInstanceId, String clientId, boolean terminating, ByteBuffer data) {
        this.clientInstanceId = clientInstanceId;
        this.clientId = clientId;
        this.terminating = terminating;
        this.data = data;
    }

    int bytes() {
        return data.remaining();
    }
}
