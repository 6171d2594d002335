/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
/* Frames and their answers (SPEC.md, 3.2). */
#ifndef APP_REQUEST_H
#define APP_REQUEST_H

#include "frame.h"

/* As after power-on: nothing has been answered. */
void app_request_init(void);

/* Carries a whole frame out and answers it; what was answered last is only answered again. */
void app_request(const struct app_parser *request);

/* Tells that a frame was refused before it was whole. */
void app_request_refuse(const struct app_parser *request, enum app_error code);

#endif
