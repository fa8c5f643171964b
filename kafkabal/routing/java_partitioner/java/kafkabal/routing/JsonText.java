package kafkabal.routing;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Reads JSON (RFC 8259): objects as maps, arrays as lists, numbers as doubles. The Java runtime has no JSON
 * parser, and a library would clash with other versions of itself on the class paths of Connect, Flink and Spark.
 */
final class JsonText {
    private static final int DEEPEST = 100;

    private final String text;
    private int at;
    private int depth;

    private JsonText(String text) {
        this.text = text;
    }

    /**
     * Parses a text.
     *
     * @throws IllegalArgumentException if it is not JSON
     */
    static Object parse(String text) {
        JsonText reader = new JsonText(text);
        Object value = reader.value();
        reader.skipSpace();
        if (reader.at < text.length()) {
            throw reader.invalid();
        }
        return value;
    }

    private Object value() {
        skipSpace();
        if (++depth > DEEPEST || at >= text.length()) {
            throw invalid();
        }
        Object found;
        switch (text.charAt(at)) {
            case '{':
                found = object();
                break;
            case '[':
                found = array();
                break;
            case '"':
                found = string();
                break;
            case 't':
                found = word("true", Boolean.TRUE);
                break;
            case 'f':
                found = word("false", Boolean.FALSE);
                break;
            case 'n':
                found = word("null", null);
                break;
            default:
                found = number();
        }
        depth--;
        return found;
    }

    private Map<String, Object> object() {
        Map<String, Object> found = new LinkedHashMap<>();
        expect('{');
        if (!next('}')) {
            do {
                skipSpace();
                String name = string();
                expect(':');
                found.put(name, value());
            } while (next(','));
            expect('}');
        }
        return found;
    }

    private List<Object> array() {
        List<Object> found = new ArrayList<>();
        expect('[');
        if (!next(']')) {
            do {
                found.add(value());
            } while (next(','));
            expect(']');
        }
        return found;
    }

    private String string() {
        expect('"');
        StringBuilder found = new StringBuilder();
        while (at < text.length()) {
            char sign = text.charAt(at++);
            if (sign == '"') {
                return found.toString();
            }
            if (sign < ' ') {
                throw invalid();
            }
            found.append(sign == '\\' ? escaped() : sign);
        }
        throw invalid();
    }

    private char escaped() {
        if (at >= text.length()) {
            throw invalid();
        }
        char sign = text.charAt(at++);
        int plain = "\"\\/bfnrt".indexOf(sign);
        if (plain >= 0) {
            return "\"\\/\b\f\n\r\t".charAt(plain);
        }
        if (sign != 'u' || at + 4 > text.length()) {
            throw invalid();
        }
        at += 4;
        return (char) Integer.parseInt(text.substring(at - 4, at), 16);
    }

    private Double number() {
        int first = at;
        while (at < text.length() && "+-.eE0123456789".indexOf(text.charAt(at)) >= 0) {
            at++;
        }
        if (first == at) {
            throw invalid();
        }
        return Double.valueOf(text.substring(first, at));
    }

    private Object word(String word, Object meaning) {
        if (!text.startsWith(word, at)) {
            throw invalid();
        }
        at += word.length();
        return meaning;
    }

    private void expect(char sign) {
        if (!next(sign)) {
            throw invalid();
        }
    }

    private boolean next(char sign) {
        skipSpace();
        if (at < text.length() && text.charAt(at) == sign) {
            at++;
            return true;
        }
        return false;
    }

    private void skipSpace() {
        while (at < text.length() && " \t\n\r".indexOf(text.charAt(at)) >= 0) {
            at++;
        }
    }

    private IllegalArgumentException invalid() {
        return new IllegalArgumentException("not JSON at character " + at);
    }
}
