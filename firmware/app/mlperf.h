/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
/* The text commands of MLPerf Tiny (SPEC.md, 3.7). */
#ifndef APP_MLPERF_H
#define APP_MLPERF_H

/* As after power-on, and tells so. */
void app_mlperf_boot(void);

/* Answers a command; the line, without its %, is cut into words in place. */
void app_mlperf_command(char *line);

/* Tells that a line was longer than the buffer. */
void app_mlperf_refuse(const char *why);

#endif
