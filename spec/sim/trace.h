/*
 * trace.h - writes a run as a trace, one line for each step of a server or client.
 * proof/tla/trace.lua makes a TLA+ module of it, and proof/tla/Trace.tla checks it against
 * proof/tla/Lock.tla. set_traced() of setting.c chooses the setting.
 *
 * A line has an event and values, NAME=VALUE. Clients, their sessions and attempts count from 1;
 * nodes by their number + 1. A line `is` follows a client's step, if the step changed the
 * client's knowledge or told of a node's end.
 */
#ifndef TRACE_H
#define TRACE_H

#include <stdbool.h>

#include "transitions.h"
#include "world.h"

extern bool trace_written; /* set before the run to have a trace */

void trace_begin(void);

/* A server carried out a request, or a slow create landed. */
void trace_carried(const struct client *client, const struct item *item);
void trace_landed(const struct client *client, const struct item *item);
void trace_opened(const struct client *client); /* opened client->session */
void trace_ended(int session);                  /* before its nodes are removed */

/* Before the client acts on an event or its session's end. */
void trace_heard(const struct client *client, const struct item *item);
/* The client has acted. */
void trace_delivered(const struct client *client);
void trace_fed(const struct client *client, const struct zkl_claim *claim, struct before before,
               enum event event, zkl_actions did);
void trace_forgotten(const struct zkl_claim *claim);

#endif
