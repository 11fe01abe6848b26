/* Counts the allocations of a process that loads this before the C library (LD_PRELOAD, glibc). */
#include <stddef.h>
#include <stdint.h>

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

static volatile int64_t count;

void *malloc(size_t size) { ++count; return __libc_malloc(size); }
void *calloc(size_t n, size_t size) { ++count; return __libc_calloc(n, size); }
void *realloc(void *at, size_t size) { ++count; return __libc_realloc(at, size); }
void *memalign(size_t alignment, size_t size) { ++count; return __libc_memalign(alignment, size); }
void *aligned_alloc(size_t alignment, size_t size) { ++count; return __libc_memalign(alignment, size); }

int64_t embedding_allocations(void) { return count; }
