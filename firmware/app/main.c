/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
#include "port.h"

int main(void)
{
    port_init();
    app_run();
}
