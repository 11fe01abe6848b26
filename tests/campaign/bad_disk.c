/* Preloaded: makes the calls that write run files do what a bad disk does.
 *
 * BAD_DISK names a file with one word and a number: "ok", "enospc", "eio", "erofs", "hang", "slow 0.05" [s].
 * It is read before every write to a file with ".h5" in its name, so that it may change at any moment.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static void pause_for(double seconds)
{
    struct timespec span = {(time_t)seconds, (long)((seconds - (time_t)seconds) * 1e9)};
    nanosleep(&span, NULL);
}

static int is_run_file(int descriptor)
{
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length <= 0)
        return 0;
    path[length] = 0;
    return strstr(path, ".h5") != NULL;
}

/* 0, or the error that the call is to fail with */
static int trouble(int descriptor)
{
    const char *name = getenv("BAD_DISK");
    if (!name || !is_run_file(descriptor))
        return 0;
    for (;;) {
        char word[32] = "ok";
        double number = 0.0;
        FILE *file = fopen(name, "r");
        if (file) {
            if (fscanf(file, "%31s %lf", word, &number) < 1)
                strcpy(word, "ok");
            fclose(file);
        }
        if (!strcmp(word, "enospc"))
            return ENOSPC;
        if (!strcmp(word, "eio"))
            return EIO;
        if (!strcmp(word, "erofs"))
            return EROFS;
        if (!strcmp(word, "slow"))
            pause_for(number);
        if (strcmp(word, "hang"))
            return 0;
        pause_for(0.01);
    }
}

#define REFUSE(descriptor) \
    do { \
        int error = trouble(descriptor); \
        if (error) { \
            errno = error; \
            return -1; \
        } \
    } while (0)

ssize_t pwrite64(int descriptor, const void *data, size_t size, off64_t at)
{
    static ssize_t (*real)(int, const void *, size_t, off64_t);
    if (!real)
        real = dlsym(RTLD_NEXT, "pwrite64");
    REFUSE(descriptor);
    return real(descriptor, data, size, at);
}

ssize_t pwrite(int descriptor, const void *data, size_t size, off_t at)
{
    return pwrite64(descriptor, data, size, at);
}

int ftruncate64(int descriptor, off64_t size)
{
    static int (*real)(int, off64_t);
    if (!real)
        real = dlsym(RTLD_NEXT, "ftruncate64");
    REFUSE(descriptor);
    return real(descriptor, size);
}

int ftruncate(int descriptor, off_t size)
{
    return ftruncate64(descriptor, size);
}

int fsync(int descriptor)
{
    static int (*real)(int);
    if (!real)
        real = dlsym(RTLD_NEXT, "fsync");
    REFUSE(descriptor);
    return real(descriptor);
}

int posix_fallocate64(int descriptor, off64_t at, off64_t size)
{
    static int (*real)(int, off64_t, off64_t);
    if (!real)
        real = dlsym(RTLD_NEXT, "posix_fallocate64");
    int error = trouble(descriptor);
    return error ? error : real(descriptor, at, size);
}

int posix_fallocate(int descriptor, off_t at, off_t size)
{
    return posix_fallocate64(descriptor, at, size);
}
