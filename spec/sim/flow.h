/*
 * flow.h - a network without delay: all that can go on does, until nothing is on
 * its way any more. So it is in the calm, and between the moves of a brisk run.
 */
#ifndef FLOW_H
#define FLOW_H

#include "world.h"

/* `reconnect`: connections that were cut come back by themselves. */
void flow(bool reconnect);

/* Time passes; heartbeats and deadlines are met in time. */
void flow_pass(zkl_time time);

#endif
