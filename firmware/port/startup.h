/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
/* What startup.c and sections.ld offer to the ports of this folder. */
#ifndef STARTUP_H
#define STARTUP_H

#include <stdint.h>

/* Words that reset copies from flash to where they are used. A port that moves
 * code (its memory.ld inserts the section) adds a range with PORT_COPY. */
struct port_copy {
    const uint32_t *load;
    uint32_t *start, *end;
};
#define PORT_COPY __attribute__((section(".port_copies"), used)) static const struct port_copy

/* Where a page of the region SETTINGS starts. */
uint8_t *port_settings_page(int page);

#endif
