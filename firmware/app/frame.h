/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
/* Frames of the wire protocol (SPEC.md, 3.1 to 3.3). Knows neither boards nor
 * models, so that it can be built and attacked on the host. */
#ifndef APP_FRAME_H
#define APP_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum app_type {
    APP_HELLO = 0x01,
    APP_INFER = 0x02,
    APP_PROFILE = 0x03,
    APP_STACK = 0x04,
    APP_SELFTEST = 0x05,
    APP_CHECK = 0x06,
    APP_START = 0x07,
    APP_SETTINGS = 0x08,
    APP_BAUD = 0x09,
    APP_RESTART = 0x0A,
    APP_ALARM = 0x0B,
    APP_EVIDENCE_READ = 0x0C,
    APP_TELEMETRY = 0x0D,
    APP_FAULT = 0x7E, /* unasked */
    APP_REPLY = 0x80, /* set in the type of an answer */
    APP_ERROR = 0xFF
};

enum app_error {
    APP_OK = 0,
    APP_ERROR_UNKNOWN_TYPE = 1,
    APP_ERROR_WRONG_LENGTH = 2, /* not the length this request has */
    APP_ERROR_TOO_LONG = 3,     /* more than the receive buffer holds */
    APP_ERROR_DAMAGED = 4,      /* the CRC does not match */
    APP_ERROR_NO_STREAM = 5,
    APP_ERROR_IMAGE = 6,    /* the image is damaged */
    APP_ERROR_SETTINGS = 7, /* not for this image, or damaged */
    APP_ERROR_FLASH = 8,    /* could not be written */
    APP_ERROR_BAUD = 9,
    APP_ERROR_ACTION = 10
};

#define APP_PROTOCOL_VERSION 4
#define APP_HEADER_BYTES 6
#define APP_CRC_BYTES 4
#define APP_PAYLOAD_LIMIT 32768u

/* ---- Receiving --------------------------------------------------------- */

struct app_parser {
    uint8_t *payload;  /* where payloads go, [capacity] */
    uint32_t capacity; /* at most APP_PAYLOAD_LIMIT */
    /* The frame at hand; these may be read after an event. */
    uint8_t type, sequence;
    uint16_t length;
    uint32_t crc;
    uint32_t position; /* bytes of the frame seen so far, 0 while hunting for the magic */
    uint32_t received_crc;
};

enum app_event {
    APP_EVENT_OUTSIDE, /* the byte belongs to no frame, or may begin one */
    APP_EVENT_INSIDE,  /* it belongs to a frame that is not yet complete */
    APP_EVENT_FRAME,
    APP_EVENT_TOO_LONG, /* nothing of its payload was stored */
    APP_EVENT_DAMAGED
};

void app_parser_init(struct app_parser *parser, uint8_t *payload, uint32_t capacity);

/* Takes one byte. */
enum app_event app_parser_feed(struct app_parser *parser, uint8_t byte);

/* Whether a frame has begun and is not yet complete. */
bool app_parser_inside(const struct app_parser *parser);

/* Forgets a half frame. */
void app_parser_drop(struct app_parser *parser);

/* ---- Sending ----------------------------------------------------------- */

/* A frame that grows at its end; bytes is as long as its creator says. */
struct app_frame {
    uint8_t *bytes;
    size_t count;
};

#define APP_FRAME_BYTES(payload) (APP_HEADER_BYTES + (payload) + APP_CRC_BYTES)

void app_frame_begin(struct app_frame *frame, uint8_t *bytes, uint8_t type, uint8_t sequence);
/* Little-endian, the low `width` bytes of value. */
void app_frame_put(struct app_frame *frame, uint64_t value, size_t width);
void app_frame_put_bytes(struct app_frame *frame, const void *bytes, size_t count);
/* Fills the length in and appends the CRC. */
void app_frame_end(struct app_frame *frame);

/* A whole frame that refuses one of that type and sequence; bytes [APP_FRAME_BYTES(2)]. */
void app_frame_error(struct app_frame *frame, uint8_t *bytes, enum app_error code, uint8_t type,
                     uint8_t sequence);

#endif
