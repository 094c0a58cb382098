#include "AllocationCounter.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define HAS_SANITIZER 1
#endif
#endif

// Only glibc gives its own functions under second names; a sanitizer has functions of its own.
#if defined(__GLIBC__) && !defined(HAS_SANITIZER)

static atomic_bool is_counting;
static atomic_long count;

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t number, size_t size);
extern void *__libc_realloc(void *memory, size_t size);

static inline void note(void) {
    if (atomic_load_explicit(&is_counting, memory_order_relaxed)) {
        atomic_fetch_add_explicit(&count, 1, memory_order_relaxed);
    }
}

void *malloc(size_t size) {
    note();
    return __libc_malloc(size);
}

void *calloc(size_t number, size_t size) {
    note();
    return __libc_calloc(number, size);
}

void *realloc(void *memory, size_t size) {
    note();
    return __libc_realloc(memory, size);
}

bool allocation_counter_is_available(void) { return true; }

void allocation_counter_start(void) {
    atomic_store(&count, 0);
    atomic_store(&is_counting, true);
}

long allocation_counter_stop(void) {
    atomic_store(&is_counting, false);
    return atomic_load(&count);
}

#else

bool allocation_counter_is_available(void) { return false; }

void allocation_counter_start(void) {}

long allocation_counter_stop(void) { return 0; }

#endif
