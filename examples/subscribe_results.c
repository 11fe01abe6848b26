/* Print one value of every actuator from the results of a monitor, with C99 and libzmq only.
 *
 *   cc -std=c99 -Wall -Wextra -pedantic subscribe_results.c -o subscribe_results -lzmq
 *   ./subscribe_results [ENDPOINT] [NAME]
 *
 * NAME is a column of docs/indicators.md, by default broadband_delay, in s. docs/wire-format.md describes every byte. */

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zmq.h>

#define TOPIC "synchroscope/1/results/"
#define MAX_SHOWN 64
#define MAX_NAMES 256
#define TIMEOUT 5 /* s without a message, after which that is reported */
#define MAX_TEXT 513 /* 128 characters of UTF-8, and a zero */

/* ---- JSON, as far as the header needs it ---- */

typedef struct {
    const char *at, *end;
    int bad; /* syntax error: all further reads fail */
} Json;

static char peek(Json *json)
{
    while (json->at < json->end && memchr(" \t\r\n", *json->at, 4))
        json->at++;
    if (json->bad || json->at == json->end)
        return '\0';
    return *json->at;
}

static int accept(Json *json, char expected)
{
    if (peek(json) != expected)
        return 0;
    json->at++;
    return 1;
}

static void expect(Json *json, char expected)
{
    if (!accept(json, expected))
        json->bad = 1;
}

static unsigned hex4(Json *json)
{
    unsigned value = 0;
    for (int i = 0; i < 4 && !json->bad; i++) {
        static const char digits[] = "0123456789abcdef0123456789ABCDEF";
        const char *digit = json->at < json->end ? memchr(digits, *json->at, 32) : NULL;
        if (!digit)
            json->bad = 1;
        else {
            value = 16 * value + (unsigned)(digit - digits) % 16;
            json->at++;
        }
    }
    return value;
}

static size_t put_utf8(char *to, unsigned c)
{
    if (c < 0x80) {
        to[0] = (char)c;
        return 1;
    }
    size_t more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    static const unsigned lead[] = {0, 0xc0, 0xe0, 0xf0};
    to[0] = (char)(lead[more] | c >> (6 * more));
    for (size_t i = 1; i <= more; i++)
        to[i] = (char)(0x80 | (c >> (6 * (more - i)) & 0x3f));
    return more + 1;
}

/* Read a string into `text`, of MAX_TEXT bytes, or NULL. */
static void string(Json *json, char *text)
{
    size_t length = 0;
    expect(json, '"');
    while (!json->bad) {
        char piece[4];
        size_t size = 1;
        if (json->at == json->end) {
            json->bad = 1;
            break;
        }
        piece[0] = *json->at++;
        if (piece[0] == '"')
            break;
        if (piece[0] == '\\') {
            static const char escape[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
            char which = json->at < json->end ? *json->at++ : '\0';
            const char *found = which ? strchr(escape, which) : NULL;
            if (found)
                piece[0] = meant[found - escape];
            else if (which == 'u') {
                unsigned c = hex4(json);
                if (c >= 0xd800 && c < 0xdc00 && json->end - json->at >= 2 && !memcmp(json->at, "\\u", 2)) {
                    json->at += 2; /* surrogate pair */
                    c = 0x10000 + ((c - 0xd800) << 10) + (hex4(json) - 0xdc00);
                }
                size = c < 0x110000 ? put_utf8(piece, c) : 0;
            } else
                json->bad = 1;
        }
        if (text && length + size >= MAX_TEXT)
            json->bad = 1;
        else if (text)
            memcpy(text + length, piece, size);
        length += size;
    }
    if (text)
        text[json->bad ? 0 : length] = '\0';
}

static double number(Json *json)
{
    char digits[40];
    size_t length = 0;
    peek(json);
    while (json->at < json->end && memchr("+-.0123456789eE", *json->at, 15) && length + 1 < sizeof digits)
        digits[length++] = *json->at++;
    if (length == 0)
        json->bad = 1;
    digits[length] = '\0';
    return strtod(digits, NULL);
}

/* Read a whole number. */
static long whole(Json *json)
{
    double value = number(json);
    if (value >= 0.0 && value < 2147483648.0)
        return (long)value;
    json->bad = 1;
    return 0;
}

/* Skip a value of any type. */
static void skip(Json *json)
{
    int depth = 0;
    do {
        char c = peek(json);
        if (c == '"')
            string(json, NULL);
        else if (c == '\0')
            json->bad = 1;
        else {
            depth += (c == '{' || c == '[') - (c == '}' || c == ']');
            json->at++;
            /* a number or literal ends at the next delimiter */
            if (!strchr("{}[],:", c))
                while (json->at < json->end && !memchr(",:{}[]\" \t\r\n", *json->at, 11))
                    json->at++;
        }
    } while (depth > 0 && !json->bad);
}

/* Find the value of a key of the object at `json`; 0 if it has none. */
static int find(Json json, const char *wanted, Json *value)
{
    expect(&json, '{');
    while (!json.bad && peek(&json) == '"') {
        char key[MAX_TEXT];
        string(&json, key);
        expect(&json, ':');
        if (!json.bad && strcmp(key, wanted) == 0) {
            *value = json;
            return 1;
        }
        skip(&json);
        accept(&json, ',');
    }
    return 0;
}

/* Copy the text at `position` in the header's table of texts. */
static int text_at(Json texts, long position, char *text)
{
    expect(&texts, '[');
    for (long i = 0; !texts.bad && peek(&texts) == '"'; i++) {
        string(&texts, i == position ? text : NULL);
        if (i == position)
            return !texts.bad;
        accept(&texts, ',');
    }
    return 0;
}

/* List the names of columns, given by their positions in the table of texts. */
static void print_names(Json texts, const long *names, int count, const char *wanted)
{
    char name[MAX_TEXT];
    fprintf(stderr, "subscribe_results: no column %s; columns:", wanted);
    for (int i = 0; i < count; i++)
        if (text_at(texts, names[i], name))
            fprintf(stderr, "%s %s", i ? "," : "", name);
    fprintf(stderr, "%s\n", count == MAX_NAMES ? ", ..." : "");
}

/* ---- the stream: the columns that are printed ---- */

typedef struct {
    long columns, every, shown, place[MAX_SHOWN];
    double sample_rate;
    char actuator[MAX_SHOWN][MAX_TEXT];
} Stream;

static int read_header(const char *bytes, size_t size, const char *wanted, Stream *stream)
{
    Json header = {bytes, bytes + size, 0}, texts, columns, value;
    char name[MAX_TEXT];
    long names[MAX_NAMES];
    int count = 0, k;

    memset(stream, 0, sizeof *stream);
    if (!find(header, "texts", &texts) || !find(header, "columns", &columns))
        return 0;
    if (!find(header, "version", &value) || number(&value) != 1.0)
        return 0;
    if (!find(header, "every", &value))
        return 0;
    stream->every = whole(&value);
    if (!find(header, "sample_rate", &value))
        return 0;
    stream->sample_rate = number(&value);
    expect(&columns, '[');
    while (!columns.bad && peek(&columns) == '[') {
        long what[3]; /* positions of name, unit and actuator */
        for (int i = 0; i < 3; i++) {
            expect(&columns, i ? ',' : '[');
            what[i] = whole(&columns);
        }
        expect(&columns, ']');
        if (!text_at(texts, what[0], name))
            return 0;
        for (k = 0; k < count && names[k] != what[0]; k++)
            ;
        if (k == count && count < MAX_NAMES)
            names[count++] = what[0];
        if (strcmp(name, wanted) == 0 && stream->shown < MAX_SHOWN) {
            if (!text_at(texts, what[2], stream->actuator[stream->shown]))
                return 0;
            stream->place[stream->shown++] = stream->columns;
        }
        stream->columns++;
        accept(&columns, ',');
    }
    if (columns.bad || stream->columns == 0 || stream->every == 0 || !(stream->sample_rate > 0.0))
        return 0;
    if (stream->shown == 0)
        print_names(texts, names, count, wanted);
    return 1;
}

/* ---- a message: four frames ---- */

static uint64_t get(const unsigned char *from, int bytes)
{
    uint64_t value = 0;
    for (int i = 0; i < bytes; i++)
        value |= (uint64_t)from[i] << (8 * i);
    return value;
}

static double get_double(const unsigned char *from)
{
    uint64_t bits = get(from, 8);
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* The header is the same in every message of a stream: parsed once, then compared. */
static int update_header(zmq_msg_t *frame, const char *wanted, Stream *stream)
{
    static char *known = NULL;
    static size_t known_size = 0;
    size_t size = zmq_msg_size(frame);
    if (known && size == known_size && memcmp(known, zmq_msg_data(frame), size) == 0)
        return 1;
    free(known);
    known = NULL;
    if (!read_header(zmq_msg_data(frame), size, wanted, stream))
        return 0;
    known = malloc(size);
    known_size = size;
    if (known)
        memcpy(known, zmq_msg_data(frame), size);
    return 1;
}

/* Print the newest row; return whether the stream ends with it, or -1 if this is not a message of results. */
static int show(zmq_msg_t *frames, int count, const char *wanted, Stream *stream)
{
    const unsigned char *position, *payload, *row;
    uint64_t rows;
    double t;

    if (count != 4 || zmq_msg_size(&frames[2]) != 24 || !update_header(&frames[1], wanted, stream))
        return -1;
    position = zmq_msg_data(&frames[2]);
    payload = zmq_msg_data(&frames[3]);
    rows = get(position + 16, 4);
    if (zmq_msg_size(&frames[3]) != 8 * rows * (uint64_t)stream->columns)
        return -1;
    if (rows > 0 && stream->shown > 0) {
        t = get_double(position + 8) + (double)(rows - 1) * (double)stream->every / stream->sample_rate;
        row = payload + 8 * (rows - 1) * (uint64_t)stream->columns;
        printf("%.9g s", t);
        for (long i = 0; i < stream->shown; i++) {
            double value = get_double(row + 8 * stream->place[i]);
            if (value == value)
                printf("  %s %.9g", stream->actuator[i], value);
            else
                printf("  %s -", stream->actuator[i]); /* NaN: not valid */
        }
        printf("\n");
        fflush(stdout);
    }
    return (int)(get(position + 20, 4) & 1);
}

int main(int argc, char **argv)
{
    const char *endpoint = argc > 1 ? argv[1] : "tcp://127.0.0.1:5556";
    const char *wanted = argc > 2 ? argv[2] : "broadband_delay";
    int64_t max_bytes = 64 << 20; /* of a frame */
    int timeout = 1000 * TIMEOUT, ended = 0, silent = 0, failed;
    static Stream stream;
    void *context = zmq_ctx_new(), *socket = zmq_socket(context, ZMQ_SUB);

    zmq_setsockopt(socket, ZMQ_MAXMSGSIZE, &max_bytes, sizeof max_bytes);
    zmq_setsockopt(socket, ZMQ_SUBSCRIBE, TOPIC, strlen(TOPIC));
    zmq_setsockopt(socket, ZMQ_RCVTIMEO, &timeout, sizeof timeout);
    failed = zmq_connect(socket, endpoint) != 0;
    while (!failed && ended != 1) {
        zmq_msg_t frames[4];
        int count = 0, more = 1;
        while (more && !failed) { /* frames after the fourth are discarded */
            zmq_msg_t spare, *frame = count < 4 ? &frames[count] : &spare;
            zmq_msg_init(frame);
            while ((failed = zmq_msg_recv(frame, socket, 0) < 0) && zmq_errno() == EAGAIN)
                if (!silent++)
                    fprintf(stderr, "subscribe_results: no message for %d s from %s; waiting\n",
                            TIMEOUT, endpoint);
            silent = 0;
            more = !failed && zmq_msg_more(frame);
            if (frame == &spare)
                zmq_msg_close(&spare);
            count++;
        }
        if (!failed)
            ended = show(frames, count, wanted, &stream);
        if (ended < 0)
            fprintf(stderr, "subscribe_results: not a message as in docs/wire-format.md\n");
        for (int i = 0; i < count && i < 4; i++)
            zmq_msg_close(&frames[i]);
    }
    if (failed)
        fprintf(stderr, "subscribe_results: %s: %s\n", endpoint, zmq_strerror(zmq_errno()));
    zmq_close(socket);
    zmq_ctx_term(context);
    return failed;
}
