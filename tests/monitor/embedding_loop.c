/* Loops over a record as a controller in C or C++ runs them. */
#include "synchroscope.h"

#ifdef __cplusplus
extern "C" {
#endif

/* allocations so far, of the library that is loaded before all others; see embedding_allocations.c */
typedef int64_t (*counter)(void);

/* Return the number of rows, a negative code, or -100 less the number of allocations. */
int64_t track(const synchroscope_tracking *t, int64_t n_pairs, int64_t n_columns, const double *command,
              const double *measured, const double *force, int64_t first, int64_t n_samples, double *rows,
              counter allocations)
{
    int64_t i, n_rows = 0, before = allocations ? allocations() : 0;
    const int64_t known = synchroscope_check_tracking(t, n_pairs, n_columns);
    if (known != SYNCHROSCOPE_OK) return known;
    for (i = 0; i < n_samples; ++i) {
        const int64_t due = synchroscope_step_tracking(t, command + i * n_pairs, measured + i * n_pairs,
                                                       force ? force + i * n_pairs : 0, first + i,
                                                       rows + n_rows * n_pairs * n_columns);
        if (due < 0) return due;
        n_rows += due;
    }
    if (allocations && allocations() != before) return -100 - (allocations() - before);
    return n_rows;
}

/* Return 0, a negative code, or -100 less the number of allocations; sent and rows of every sample. */
int64_t compensate(const synchroscope_compensator *c, int64_t n_pairs, const double *command, const double *measured,
                   int64_t n_samples, double *sent, double *rows, counter allocations)
{
    int64_t i, before = allocations ? allocations() : 0;
    const int64_t known = synchroscope_check_compensator(c, n_pairs, 6);
    if (known != SYNCHROSCOPE_OK) return known;
    for (i = 0; i < n_samples; ++i) {
        const int64_t code = synchroscope_step_compensator(c, command + i * n_pairs, measured + i * n_pairs,
                                                           sent + i * n_pairs, rows + i * n_pairs * 6);
        if (code < 0) return code;
    }
    if (allocations && allocations() != before) return -100 - (allocations() - before);
    return 0;
}

const char *message(int64_t code)
{
    return synchroscope_message(code);
}

const char *reason(double code)
{
    return synchroscope_reason(code);
}

int64_t assess(const synchroscope_reliability *r, const double *measured, int64_t n_instants, double *rows,
               counter allocations)
{
    int64_t i, n_assessed = 0, before = allocations ? allocations() : 0;
    const int64_t known = synchroscope_check_reliability(r, r->n_replicates, 8);
    if (known != SYNCHROSCOPE_OK) return known;
    for (i = 0; i < n_instants; ++i) {
        const int64_t code = synchroscope_step_reliability(r, measured + i * r->n_replicates, i, rows + 8 * i);
        if (code < 0) return code;
        n_assessed += code;
    }
    if (allocations && allocations() != before) return -100 - (allocations() - before);
    return n_assessed;
}

#ifdef __cplusplus
}
#endif
