/*
 * trace.h - writes a run as a trace: each step of a server and of a client, one line each, in the
 * order in which they happen. proof/tla/trace.lua makes a TLA+ module of it, and
 * proof/tla/Trace.tla says which traces conform to proof/tla/Lock.tla. The setting of such a run is
 * that of set_traced() in setting.c.
 *
 * A line is an event and its values, NAME=VALUE each; a client, its sessions and its attempts are
 * counted from 1, and a node's number is that of its name and 1. After a step of a client comes a
 * line `is`, with what the client knows, if that is not as before, or a node's end was heard of.
 */
#ifndef TRACE_H
#define TRACE_H

#include <stdbool.h>

#include "transitions.h"
#include "world.h"

extern bool trace_written; /* set before the run; it is no trace else */

void trace_begin(void);

/* A server carried out a request; a create that was on a slow way landed. */
void trace_carried(const struct client *client, const struct item *item);
void trace_landed(const struct client *client, const struct item *item);
void trace_opened(const struct client *client); /* a session, client->session */
void trace_ended(int session);                  /* before its nodes go */

/* A client is told of an event, or of the end of its session, before it does something. */
void trace_heard(const struct client *client, const struct item *item);
/* And it did, or nothing came of it. */
void trace_delivered(const struct client *client);
/* A claim was fed. */
void trace_fed(const struct client *client, const struct zkl_claim *claim, struct before before,
               enum event event, zkl_actions did);
void trace_forgotten(const struct zkl_claim *claim);

#endif
