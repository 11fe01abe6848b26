/* Send two actuators in the native form, with C99 and libzmq only.
 *
 *   cc -std=c99 -Wall -Wextra -pedantic send_native.c -o send_native -lzmq -lm
 *   ./send_native [ENDPOINT] [SAMPLES] [RATE]
 *
 * docs/wire-format.md describes every byte. */

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <zmq.h>

#define CHANNELS 4
#define ROWS 10
#define TOPIC "synchroscope/1/signals/example"

static void put(unsigned char *to, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        to[i] = (unsigned char)(value >> (8 * i) & 0xff);
}

static void put_double(unsigned char *to, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    put(to, bits, 8);
}

static int send_block(void *socket, const char *header, uint64_t index, double rate, int rows, int last)
{
    static const double lag[CHANNELS] = {0.0, 0.005, 0.0, 0.008}; /* s, column by column */
    unsigned char position[24], payload[8 * CHANNELS * ROWS];

    put(position, index, 8);                        /* of the first row */
    put_double(position + 8, (double)index / rate); /* time, s */
    put(position + 16, (uint64_t)rows, 4);
    put(position + 20, last ? 1 : 0, 4);
    for (int row = 0; row < rows; row++)
        for (int column = 0; column < CHANNELS; column++) {
            double t = (double)(index + (uint64_t)row) / rate - lag[column];
            put_double(payload + 8 * (row * CHANNELS + column), sin(6.283185307179586 * t));
        }
    return zmq_send(socket, TOPIC, strlen(TOPIC), ZMQ_SNDMORE) < 0
        || zmq_send(socket, header, strlen(header), ZMQ_SNDMORE) < 0
        || zmq_send(socket, position, sizeof position, ZMQ_SNDMORE) < 0
        || zmq_send(socket, payload, (size_t)(8 * CHANNELS * rows), 0) < 0;
}

int main(int argc, char **argv)
{
    const char *endpoint = argc > 1 ? argv[1] : "tcp://127.0.0.1:5555";
    long samples = argc > 2 ? atol(argv[2]) : 10000;
    double rate = argc > 3 ? atof(argv[3]) : 1000.0;
    int linger = 1000, failed;
    char header[1024];
    void *context, *socket, *watch;

    if (samples < 1 || !(rate > 0.0)) {
        fprintf(stderr, "usage: send_native [ENDPOINT] [SAMPLES] [RATE]\n");
        return 2;
    }
    context = zmq_ctx_new();
    socket = zmq_socket(context, ZMQ_XPUB); /* a PUB that can wait for a subscriber */

    /* the same bytes in every message: parsed once, then compared */
    snprintf(header, sizeof header,
             "{\"kind\":\"signals\",\"version\":1,\"rig\":\"example\",\"epoch\":%lld,\"sample_rate\":%.17g,"
             "\"channels\":["
             "{\"name\":\"north.command\",\"role\":\"command\",\"unit\":\"m\",\"actuator\":\"north\"},"
             "{\"name\":\"north.measured\",\"role\":\"measured\",\"unit\":\"m\",\"actuator\":\"north\"},"
             "{\"name\":\"south.command\",\"role\":\"command\",\"unit\":\"m\",\"actuator\":\"south\"},"
             "{\"name\":\"south.measured\",\"role\":\"measured\",\"unit\":\"m\",\"actuator\":\"south\"}]}",
             (long long)time(NULL), rate);

    zmq_setsockopt(socket, ZMQ_LINGER, &linger, sizeof linger);
    failed = zmq_bind(socket, endpoint) != 0;
    if (!failed) {
        zmq_pollitem_t subscriber = {socket, 0, ZMQ_POLLIN, 0};
        zmq_poll(&subscriber, 1, 5000); /* earlier messages would be lost */
    }
    watch = zmq_stopwatch_start();
    for (long index = 0; !failed && index < samples; index += ROWS) {
        int rows = samples - index < ROWS ? (int)(samples - index) : ROWS;
        while ((double)zmq_stopwatch_intermediate(watch) < 1e6 * (double)(index + rows) / rate)
            zmq_poll(NULL, 0, 1);
        failed = send_block(socket, header, (uint64_t)index, rate, rows, index + rows == samples);
    }
    zmq_stopwatch_stop(watch);
    if (failed)
        fprintf(stderr, "send_native: %s: %s\n", endpoint, zmq_strerror(zmq_errno()));
    zmq_close(socket);
    zmq_ctx_term(context);
    return failed;
}
