/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
#include "frame.h"

#include <string.h>

#include "snapuq.h"

#define MAGIC_0 0xA5
#define MAGIC_1 0x5A

void app_parser_init(struct app_parser *parser, uint8_t *payload, uint32_t capacity)
{
    *parser = (struct app_parser){.payload = payload, .capacity = capacity};
}

enum app_event app_parser_feed(struct app_parser *parser, uint8_t byte)
{
    const uint32_t position = parser->position++;

    if (position == 0) {
        parser->position = byte == MAGIC_0;
        return APP_EVENT_OUTSIDE;
    }
    if (position == 1) {
        /* A5 A5 5A: the second A5 may be the one that starts the frame. */
        parser->position = byte == MAGIC_1 ? 2 : byte == MAGIC_0;
        parser->crc = 0;
        parser->length = 0;
        parser->received_crc = 0;
        return byte == MAGIC_1 ? APP_EVENT_INSIDE : APP_EVENT_OUTSIDE;
    }
    if (position < APP_HEADER_BYTES) {
        parser->crc = snapuq_crc32(parser->crc, &byte, 1);
        switch (position) {
        case 2: parser->type = byte; break;
        case 3: parser->sequence = byte; break;
        case 4: parser->length = byte; break;
        default: parser->length = (uint16_t)(parser->length | byte << 8); break;
        }
        if (position == APP_HEADER_BYTES - 1 && parser->length > parser->capacity) {
            parser->position = 0;
            return APP_EVENT_TOO_LONG;
        }
        return APP_EVENT_INSIDE;
    }
    const uint32_t index = position - APP_HEADER_BYTES;
    if (index < parser->length) {
        parser->crc = snapuq_crc32(parser->crc, &byte, 1);
        parser->payload[index] = byte;
        return APP_EVENT_INSIDE;
    }
    const uint32_t crc_index = index - parser->length;
    parser->received_crc |= (uint32_t)byte << 8 * crc_index;
    if (crc_index < APP_CRC_BYTES - 1) {
        return APP_EVENT_INSIDE;
    }
    parser->position = 0;
    return parser->crc == parser->received_crc ? APP_EVENT_FRAME : APP_EVENT_DAMAGED;
}

bool app_parser_inside(const struct app_parser *parser)
{
    return parser->position > 1;
}

void app_parser_drop(struct app_parser *parser)
{
    parser->position = 0;
}

void app_frame_begin(struct app_frame *frame, uint8_t *bytes, uint8_t type, uint8_t sequence)
{
    const uint8_t header[APP_HEADER_BYTES] = {MAGIC_0, MAGIC_1, type, sequence, 0, 0};
    frame->bytes = bytes;
    frame->count = 0;
    app_frame_put_bytes(frame, header, sizeof header);
}

void app_frame_put(struct app_frame *frame, uint64_t value, size_t width)
{
    for (size_t i = 0; i < width; i++) {
        frame->bytes[frame->count++] = (uint8_t)(value >> 8 * i);
    }
}

void app_frame_put_bytes(struct app_frame *frame, const void *bytes, size_t count)
{
    memcpy(frame->bytes + frame->count, bytes, count);
    frame->count += count;
}

void app_frame_end(struct app_frame *frame)
{
    const size_t length = frame->count - APP_HEADER_BYTES;
    frame->bytes[4] = (uint8_t)length;
    frame->bytes[5] = (uint8_t)(length >> 8);
    app_frame_put(frame, snapuq_crc32(0, frame->bytes + 2, frame->count - 2), APP_CRC_BYTES);
}

void app_frame_error(struct app_frame *frame, uint8_t *bytes, enum app_error code, uint8_t type,
                     uint8_t sequence)
{
    app_frame_begin(frame, bytes, APP_ERROR, sequence);
    app_frame_put(frame, code, 1);
    app_frame_put(frame, type, 1);
    app_frame_end(frame);
}
