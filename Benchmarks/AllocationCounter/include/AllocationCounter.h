#pragma once

#include <stdbool.h>

/// Whether allocations can be counted here.
bool allocation_counter_is_available(void);

/// Begins to count the allocations of memory in the whole process, from zero.
void allocation_counter_start(void);

/// Ends counting and gives the count.
long allocation_counter_stop(void);
