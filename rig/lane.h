/* lane.h - a direction of a proxied connection
 *
 * Bytes read from the source wait in `arrived` until the lane's owner, which knows
 * the protocol, admits them, a whole frame at a time. An admitted frame is a passage.
 * It goes out at its due time, after all passages before it, and then the owner
 * carries out its sequel. A lane itself only moves bytes.
 */
#ifndef RIG_LANE_H
#define RIG_LANE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef int64_t nanoseconds; /* CLOCK_MONOTONIC */
#define NEVER INT64_MAX

/* First in, first out. Also holds structs, if one fifo holds one type only. */
struct fifo {
    unsigned char *data;
    size_t start, end, capacity; /* the content is data[start..end) */
};

size_t fifo_length(const struct fifo *fifo);
void *fifo_front(const struct fifo *fifo);
void fifo_append(struct fifo *fifo, const void *data, size_t length);
void fifo_remove(struct fifo *fifo, size_t offset, size_t length);
void fifo_free(struct fifo *fifo);

/* The effect of a passage on the connection. */
enum sequel {
    GO_ON,
    HANG_UP,    /* shut down towards the destination; the other lane goes on */
    CUT_CLIENT, /* RST to the client; the server reads all bytes sent to it, then EOF */
    RESET       /* RST to both */
};

struct passage {
    nanoseconds due;
    size_t length; /* bytes; 0 if there is only a sequel */
    enum sequel sequel;
    int label;      /* how the owner counts the passage */
    uint64_t burst; /* the owner's number for the burst that a reply answers */
};

/* All zero is a new lane. */
struct lane {
    struct fifo arrived;
    struct fifo admitted;
    struct fifo queue;  /* each a struct passage */
    size_t sent;        /* bytes sent of the passages in the queue */
    enum sequel ending; /* HANG_UP or RESET after the source ended in this way; else GO_ON */
    bool sealed;        /* nothing is admitted any more */
    bool blocked;       /* the destination's buffer is full */
    bool broken;        /* the destination is gone, passages go nowhere */
    bool patient;       /* waits for the rest of anything, also of what is no frame */
};

/* Reads once, and notes the end of the source. A sealed lane loses the bytes. */
void lane_read(struct lane *lane, int source);

/* The big-endian integer at `offset`; 0 if the frame is too short for it. */
int32_t int32_at(const unsigned char *frame, size_t length, size_t offset);

/* Length of the frame at the front of `arrived`, with its four length bytes; 0 if
 * it is not complete. A source that sends no frames ends as by RESET, unless the lane
 * is patient. */
size_t lane_frame(struct lane *lane);

/* Admits passage->length bytes. Seals the lane unless the sequel is GO_ON. */
void lane_admit(struct lane *lane, const struct passage *passage);

/* Sends the bytes that are due at `now`. */
void lane_send(struct lane *lane, int destination, nanoseconds now);
/* Takes the next passage, if it is due and was sent in full. False: it is not. */
bool lane_pop(struct lane *lane, nanoseconds now, struct passage *out);

nanoseconds lane_due(const struct lane *lane);
void lane_free(struct lane *lane);

#endif
