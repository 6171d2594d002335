/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
#ifndef FUZZ_LINK_H
#define FUZZ_LINK_H

#include <stddef.h>
#include <stdint.h>

#define FUZZ_HEAD_BYTES 3

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
