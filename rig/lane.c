/* lane.c - see lane.h */
#include "lane.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum { FRAME_MAX = 64 << 20 }; /* bytes; far above any server's limit */

size_t fifo_length(const struct fifo *fifo) {
    return fifo->end - fifo->start;
}

void *fifo_front(const struct fifo *fifo) {
    return fifo->data == NULL ? NULL : fifo->data + fifo->start;
}

static void fifo_reserve(struct fifo *fifo, size_t more) {
    size_t length = fifo_length(fifo);
    if (more <= fifo->capacity - fifo->end) return;
    if (more > SIZE_MAX / 4 - length) abort();
    if (fifo->start >= length && more <= fifo->capacity - length) {
        memmove(fifo->data, fifo_front(fifo), length);
    } else {
        size_t capacity = 2 * (length + more);
        unsigned char *data = malloc(capacity);
        if (data == NULL) {
            perror("proxy");
            abort();
        }
        if (length > 0) memcpy(data, fifo_front(fifo), length);
        free(fifo->data);
        fifo->data = data;
        fifo->capacity = capacity;
    }
    fifo->start = 0;
    fifo->end = length;
}

void fifo_append(struct fifo *fifo, const void *data, size_t length) {
    if (length == 0) return;
    fifo_reserve(fifo, length);
    memcpy(fifo->data + fifo->end, data, length);
    fifo->end += length;
}

void fifo_remove(struct fifo *fifo, size_t offset, size_t length) {
    if (length == 0) return;
    if (offset > fifo_length(fifo) || length > fifo_length(fifo) - offset) abort();
    unsigned char *front = fifo_front(fifo);
    memmove(front + length, front, offset);
    fifo->start += length;
    if (fifo->start == fifo->end) fifo->start = fifo->end = 0;
}

void fifo_free(struct fifo *fifo) {
    free(fifo->data);
    *fifo = (struct fifo){0};
}

int32_t int32_at(const unsigned char *frame, size_t length, size_t offset) {
    if (length < offset + 4) return 0;
    const unsigned char *p = frame + offset;
    return (int32_t)((uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3]);
}

void lane_read(struct lane *lane, int source) {
    static unsigned char chunk[1 << 16];
    ssize_t n = recv(source, chunk, sizeof chunk, 0);
    if (n > 0 && !lane->sealed) fifo_append(&lane->arrived, chunk, (size_t)n);
    else if (n == 0) lane->ending = HANG_UP;
    else if (n < 0 && errno != EAGAIN && errno != EINTR) lane->ending = RESET;
}

size_t lane_frame(struct lane *lane) {
    size_t length = fifo_length(&lane->arrived);
    if (length < 4) return 0;
    uint32_t body = (uint32_t)int32_at(fifo_front(&lane->arrived), length, 0);
    if (body > FRAME_MAX) {
        if (!lane->patient) lane->ending = RESET;
        return 0;
    }
    return body <= length - 4 ? 4 + (size_t)body : 0;
}

void lane_admit(struct lane *lane, const struct passage *passage) {
    if (passage->length > 0) {
        fifo_append(&lane->admitted, fifo_front(&lane->arrived), passage->length);
        fifo_remove(&lane->arrived, 0, passage->length);
    }
    fifo_append(&lane->queue, passage, sizeof *passage);
    if (passage->sequel != GO_ON) {
        lane->sealed = true;
        fifo_free(&lane->arrived);
    }
}

/* Bytes at the front of the queue that are due at `now`. */
static size_t due_bytes(const struct lane *lane, nanoseconds now) {
    const struct passage *passage = fifo_front(&lane->queue);
    size_t count = fifo_length(&lane->queue) / sizeof *passage, bytes = 0;
    for (; count > 0 && passage->due <= now; count--, passage++) bytes += passage->length;
    return bytes;
}

void lane_send(struct lane *lane, int destination, nanoseconds now) {
    size_t due = due_bytes(lane, now) - lane->sent;
    lane->blocked = false;
    while (due > 0 && !lane->blocked && !lane->broken) {
        ssize_t n = send(destination, fifo_front(&lane->admitted), due, MSG_NOSIGNAL);
        if (n >= 0) {
            fifo_remove(&lane->admitted, 0, (size_t)n);
            lane->sent += (size_t)n;
            due -= (size_t)n;
        } else if (errno == EAGAIN) {
            lane->blocked = true;
        } else if (errno != EINTR) {
            lane->broken = true;
        }
    }
    if (lane->broken) {
        fifo_remove(&lane->admitted, 0, due);
        lane->sent += due;
    }
}

bool lane_pop(struct lane *lane, nanoseconds now, struct passage *out) {
    if (fifo_length(&lane->queue) == 0) return false;
    const struct passage *head = fifo_front(&lane->queue);
    if (head->due > now || head->length > lane->sent) return false;
    *out = *head;
    lane->sent -= head->length;
    fifo_remove(&lane->queue, 0, sizeof *head);
    return true;
}

nanoseconds lane_due(const struct lane *lane) {
    if (lane->blocked || fifo_length(&lane->queue) == 0) return NEVER;
    return ((const struct passage *)fifo_front(&lane->queue))->due;
}

void lane_free(struct lane *lane) {
    fifo_free(&lane->arrived);
    fifo_free(&lane->admitted);
    fifo_free(&lane->queue);
}
