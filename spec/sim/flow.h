/* flow.h - a network without delay, in the calm and between the moves of a brisk run. */
#ifndef FLOW_H
#define FLOW_H

#include "world.h"

/* Carries all that can go on. `reconnect`: cut connections come back. */
void flow(bool reconnect);

/* Lets time pass. Heartbeats and deadlines are in time. */
void flow_pass(zkl_time time);

#endif
