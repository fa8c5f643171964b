package kafkabal.routing;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;

/** Replays the vectors of a file, and prints how many answers were found, how many are the known ones, and how long a record is valid. */
public final class StrideCheck {
    public static void main(String[] arguments) throws IOException {
        Map<?, ?> vectors = (Map<?, ?>) JsonText.parse(Files.readString(Path.of(arguments[0])));
        int answers = 0;
        int known = 0;
        for (Object each : (List<?>) vectors.get("strides")) {
            Map<?, ?> answer = (Map<?, ?>) each;
            List<?> partitions = (List<?>) answer.get("partitions");
            int at = 0;
            ByteStride stride = new ByteStride((Double) answer.get("start"));
            for (Object one : (List<?>) answer.get("steps")) {
                Map<?, ?> step = (Map<?, ?>) one;
                Double part = (Double) step.get("slot_part");
                stride.setSlotBytes(((Double) step.get("slot_bytes")).longValue(),
                    part == null ? Double.POSITIVE_INFINITY : part);
                stride.setWeights(
                    ((List<?>) step.get("weights")).stream().mapToDouble(weight -> (Double) weight).toArray(),
                    ((List<?>) step.get("leaders")).stream().mapToInt(row -> ((Double) row).intValue()).toArray());
                for (Object size : (List<?>) step.get("sizes")) {
                    answers++;
                    known += stride.pick(((Double) size).intValue()) == ((Double) partitions.get(at++)).intValue() ? 1 : 0;
                }
            }
        }
        for (Object each : (List<?>) vectors.get("keys")) {
            List<?> key = (List<?>) each;
            byte[] bytes = HexFormat.of().parseHex((String) key.get(0));
            answers++;
            boolean isKnown = Integer.toUnsignedLong(KeyHash.murmur2(bytes)) == ((Double) key.get(1)).longValue()
                && KeyHash.partition(bytes, ((Double) key.get(2)).intValue()) == ((Double) key.get(3)).intValue();
            known += isKnown ? 1 : 0;
        }
        long validMs = WeightRecord.parse(Files.readAllBytes(Path.of(arguments[1]))).validMs;
        System.out.println(answers + " " + known + " " + validMs);
    }
}
