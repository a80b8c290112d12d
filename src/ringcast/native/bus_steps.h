/* Named steps at which a test can kill or stop this process for real.
 *
 * The production module has none of this: BUS_STEP is empty unless BUS_STEPS is defined, which only the test build does.
 */
#ifndef RINGCAST_BUS_STEPS_H
#define RINGCAST_BUS_STEPS_H

#ifdef BUS_STEPS

#include <signal.h>
#include <string.h>

static char bus_step_name[64];
static long bus_step_left;
static int bus_step_signal;

static void bus_step(const char *name) {
    if (bus_step_left > 0 && strcmp(name, bus_step_name) == 0 && --bus_step_left == 0) raise(bus_step_signal);
}

#define BUS_STEP(name) bus_step(name)
#else
#define BUS_STEP(name) ((void)0)
#endif

#endif
