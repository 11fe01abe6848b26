/* Synchroscope inside a control loop in C99 or C++11, in the process of the Python interpreter that made the state.
 *
 * Python makes the state and passes the address of one of the structures below, see docs/embedding.md. A step is then
 * called without the interpreter: it takes no lock, allocates nothing, writes no log and cannot raise. All arrays are
 * the caller's, contiguous and aligned to 8 bytes. One state is used by one thread at a time; different states do
 * not know each other. The Python object must live as long as the structure is used.
 */
#ifndef SYNCHROSCOPE_H
#define SYNCHROSCOPE_H

#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SYNCHROSCOPE_VERSION 1

/* what a check or a step returns; a step that computed returns 0 or more */
enum {
    SYNCHROSCOPE_OK = 0,
    SYNCHROSCOPE_NOT_A_STATE = -1,   /* no state of this kind and version, or NULL, or not aligned to 8 bytes */
    SYNCHROSCOPE_WRONG_LENGTH = -2,  /* the state has another length */
    SYNCHROSCOPE_WRONG_ROWS = -3,    /* the state has another number of pairs, or of replicates */
    SYNCHROSCOPE_WRONG_COLUMNS = -4, /* the state has another number of columns: those of one pair, not of all */
    SYNCHROSCOPE_WRONG_ARGUMENT = -5 /* a NULL pointer, an instant outside the ensemble or not after the last, a first command that is not finite */
};

/* Returns 1 where row is new, 0 where none is due, a negative code where nothing was done.
 * command, measured, force: n_pairs each, NaN where a sample is lost; force may be NULL where the state has none.
 * number: of the sample, increasing by one. row: n_pairs * n_columns, those of a pair adjacent. */
typedef int64_t (*synchroscope_tracking_step)(double *state, const double *command, const double *measured,
                                              const double *force, int64_t number, double *row);

/* Returns 0, a negative code where nothing was done: SYNCHROSCOPE_WRONG_ARGUMENT also where the first command is not finite.
 * command, measured, sent: n_pairs each; measured at the instant of the command, NaN where a sample is lost; sent is written.
 * row: n_pairs * n_columns, written: those of a pair adjacent. */
typedef int64_t (*synchroscope_compensator_step)(double *state, const double *command, const double *measured,
                                                 double *sent, double *row);

/* Returns 1 where the instant was assessed, 0 where a measurement is not finite, a negative code where nothing was done.
 * measured: n_replicates; instant: row of the ensemble, increasing; row: n_columns. */
typedef int64_t (*synchroscope_reliability_step)(double *state, const double *response, const uint32_t *order,
                                                 const double *measured, int64_t instant, double *row);

/* Returns SYNCHROSCOPE_OK where the state has these sizes, else a negative code.
 * n_rows: pairs of signals, or replicates; n_columns: of one pair, or of the reliability. */
typedef int64_t (*synchroscope_check)(const double *state, int64_t n_words, int64_t n_rows, int64_t n_columns);

typedef struct {
    int64_t version, n_words, n_pairs, n_columns; /* n_columns: of one pair; a row has n_pairs * n_columns values */
    double *state;
    synchroscope_tracking_step step;
    synchroscope_check check;
} synchroscope_tracking;

typedef struct {
    int64_t version, n_words, n_pairs, n_columns;
    double *state;
    synchroscope_compensator_step step;
    synchroscope_check check;
} synchroscope_compensator;

typedef struct {
    int64_t version, n_words, n_replicates, n_columns;
    double *state;
    const double *response;
    const uint32_t *order;
    synchroscope_reliability_step step;
    synchroscope_check check;
} synchroscope_reliability;

/* What a negative code means, in one line. */
static inline const char *synchroscope_message(int64_t code)
{
    switch (code) {
    case SYNCHROSCOPE_NOT_A_STATE: return "no state of this kind and version, or NULL, or not aligned to 8 bytes";
    case SYNCHROSCOPE_WRONG_LENGTH: return "the state has another length";
    case SYNCHROSCOPE_WRONG_ROWS: return "the state has another number of pairs, or of replicates";
    case SYNCHROSCOPE_WRONG_COLUMNS: return "the state has another number of columns: give those of one pair";
    case SYNCHROSCOPE_WRONG_ARGUMENT: return "a NULL pointer, an instant outside the ensemble or not after the last, or a first command that is not finite";
    default: return code < 0 ? "unknown code" : "no error";
    }
}

/* Why a value is NaN, of the code in the row's column fdb_reason, paei_reason and so on: 0 where there is a value. */
static inline const char *synchroscope_reason(double code)
{
    static const char *const words[] = {
        "valid",
        "window not full",
        "gap or bad sample",
        "too little motion",
        "too few cycles",
        "offset hidden",
        "unrelated signals",
        "uncertain",
        "lag out of range",
        "constant signal",
        "paused: overload",
        "no force",
        "no dominant tone",
        "different units",
        "being compiled",
        "not set"
    };
    const double n = (double)(sizeof words / sizeof *words);
    return code >= 0.0 && code < n ? words[(int)code] : "unknown reason";
}

/* Once, before the loop: SYNCHROSCOPE_OK, or why the loop must not start. n_columns: of one pair. */
static inline int64_t synchroscope_check_tracking(const synchroscope_tracking *t, int64_t n_pairs, int64_t n_columns)
{
    if (!t || t->version != SYNCHROSCOPE_VERSION) return SYNCHROSCOPE_NOT_A_STATE;
    return t->check(t->state, t->n_words, n_pairs, n_columns);
}

static inline int64_t synchroscope_check_compensator(const synchroscope_compensator *c, int64_t n_pairs,
                                                     int64_t n_columns)
{
    if (!c || c->version != SYNCHROSCOPE_VERSION) return SYNCHROSCOPE_NOT_A_STATE;
    return c->check(c->state, c->n_words, n_pairs, n_columns);
}

static inline int64_t synchroscope_check_reliability(const synchroscope_reliability *r, int64_t n_replicates,
                                                     int64_t n_columns)
{
    if (!r || r->version != SYNCHROSCOPE_VERSION) return SYNCHROSCOPE_NOT_A_STATE;
    return r->check(r->state, r->n_words, n_replicates, n_columns);
}

/* Every sample. */
static inline int64_t synchroscope_step_tracking(const synchroscope_tracking *t, const double *command,
                                                 const double *measured, const double *force, int64_t number,
                                                 double *row)
{
    return t->step(t->state, command, measured, force, number, row);
}

/* Every sample: what to send to the actuators. */
static inline int64_t synchroscope_step_compensator(const synchroscope_compensator *c, const double *command,
                                                    const double *measured, double *sent, double *row)
{
    return c->step(c->state, command, measured, sent, row);
}

/* Every instant of the ensemble. */
static inline int64_t synchroscope_step_reliability(const synchroscope_reliability *r, const double *measured,
                                                    int64_t instant, double *row)
{
    return r->step(r->state, r->response, r->order, measured, instant, row);
}

/* A state holds no address: a copy of its n_words * 8 bytes is a copy of the state. */
static inline void synchroscope_copy_state(double *to, const double *from, int64_t n_words)
{
    memcpy(to, from, (size_t)n_words * sizeof(double));
}

#ifdef __cplusplus
}
#endif

#endif
