/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
/* Runs the inputs in the files it is given; a sanitizer ends it where one does harm. */
#include <stdio.h>
#include <stdlib.h>

#include "fuzz_link.h"

int main(int count, char **paths)
{
    for (int i = 1; i < count; i++) {
        FILE *file = fopen(paths[i], "rb");
        if (!file || fseek(file, 0, SEEK_END)) {
            perror(paths[i]);
            return 1;
        }
        const long size = ftell(file);
        /* Memory of its exact size, so that ASan sees a read behind it. */
        uint8_t *data = malloc((size_t)size + !size);
        rewind(file);
        if (!data || fread(data, 1, (size_t)size, file) != (size_t)size) {
            perror(paths[i]);
            return 1;
        }
        LLVMFuzzerTestOneInput(data, (size_t)size);
        free(data);
        fclose(file);
    }
    printf("%d\n", count - 1);
    return 0;
}
