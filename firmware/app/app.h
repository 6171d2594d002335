/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
/* The application as a whole. app_run(), in port.h, is app_boot() and then app_turn() for ever. */
#ifndef APP_APP_H
#define APP_APP_H

/* Brings everything to the state after power-on and tells so. */
void app_boot(void);

/* Takes one byte, or waits a little for one. */
void app_turn(void);

#endif
