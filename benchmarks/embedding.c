/* The loops of benchmarks/embedding.py in C, with the time of each call. */
#define _POSIX_C_SOURCE 199309L
#include "synchroscope.h"

#include <time.h>

int64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

void track(const synchroscope_tracking *t, const double *command, const double *measured, int64_t first, int64_t n,
           double *row, int64_t *taken)
{
    for (int64_t i = 0; i < n; ++i) {
        const int64_t start = now();
        synchroscope_step_tracking(t, command + i, measured + i, 0, first + i, row);
        taken[i] = now() - start;
    }
}

void compensate(const synchroscope_compensator *c, const double *command, const double *measured, int64_t n, double *row,
                int64_t *taken)
{
    double sent = 0.0;
    for (int64_t i = 0; i < n; ++i) {
        const int64_t start = now();
        synchroscope_step_compensator(c, command + i, measured + i, &sent, row);
        taken[i] = now() - start;
    }
}

void assess(const synchroscope_reliability *r, const double *measured, int64_t n, double *row, int64_t *taken)
{
    for (int64_t i = 0; i < n; ++i) {
        const int64_t start = now();
        synchroscope_step_reliability(r, measured + i, i, row);
        taken[i] = now() - start;
    }
}
