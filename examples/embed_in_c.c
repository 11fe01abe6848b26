/* A control loop in C that measures its own delay: Python makes the state, and is not needed in the loop.
 *
 * cc embed_in_c.c -o embed_in_c $(python3-config --includes --ldflags --embed) -lm \
 *     -I "$(python -c 'from monitor.embedding.c_functions import include_folder; print(include_folder())')"
 * PYTHONPATH must lead to Synchroscope and what it imports, for example to the site-packages of its environment.
 */
#include <Python.h>

#include "synchroscope.h"

#include <math.h>
#include <stdio.h>

#define RATE 1024.0
#define LATE 8
#define N_COLUMNS 10
#define DELAY 2

static const char *const SETUP =
    "import ctypes\n"
    "from monitor import EmbeddedTracking\n"
    "from monitor.config import IndicatorSettings\n"
    "from monitor.embedding.c_functions import tracking_struct\n"
    "tracking = EmbeddedTracking(IndicatorSettings(measures=('fdb',), window=1.0), 1024.0)\n"
    "assert [column.name for column in tracking.columns][2] == 'fdb_delay'\n"
    "struct = tracking_struct(tracking)\n"
    "address = ctypes.addressof(struct)\n";

static double target(int64_t number)
{
    return 0.01 * sin(2.0 * 3.14159265358979 * 3.0 * (double)number / RATE);
}

int main(void)
{
    const synchroscope_tracking *tracking;
    double row[N_COLUMNS] = {0.0};
    int64_t number, code;
    PyObject *address;
    PyThreadState *interpreter;

    Py_Initialize();
    if (PyRun_SimpleString(SETUP) != 0) return 1; /* the error is printed */
    address = PyObject_GetAttrString(PyImport_AddModule("__main__"), "address");
    tracking = PyLong_AsVoidPtr(address);
    Py_DECREF(address);
    interpreter = PyEval_SaveThread(); /* from here on without Python and its lock */

    code = synchroscope_check_tracking(tracking, 1, N_COLUMNS);
    for (number = 0; number < 4096 && code >= 0; ++number) {
        const double command = target(number), measured = target(number - LATE); /* your sensor */
        code = synchroscope_step_tracking(tracking, &command, &measured, NULL, number, row);
    }
    if (code < 0) fprintf(stderr, "synchroscope: %s\n", synchroscope_message(code));
    else printf("%.2f ms late\n", 1e3 * row[DELAY]);

    PyEval_RestoreThread(interpreter);
    return Py_FinalizeEx() < 0 || code < 0;
}
