/* flow.h - a network without delay, in the calm and between the moves of a brisk run. */
#ifndef FLOW_H
#define FLOW_H

#include "world.h"

/* Carries all traffic, until there is none. `reconnect`: cut connections come back. */
void flow(bool reconnect);

/* Lets time pass. Each heartbeat and deadline comes at its time. */
void flow_pass(zkl_time time);

#endif
