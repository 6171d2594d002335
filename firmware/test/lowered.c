/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
/* Runs layers that a kernel set lowered to C: the same program on the host and, by
 * semihosting, on an emulated Cortex-M.
 *
 *   lowered INPUTS RESULTS
 *
 * INPUTS   per case and sample: the bytes of its inputs.
 * RESULTS  per case and sample: the bytes of its output.
 * Every buffer has its exact size, so that ASan sees a kernel overrun it.
 */
#include "lowered.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void need(int fine, const char *what)
{
    if (!fine) {
        fprintf(stderr, "lowered: %s\n", what);
        exit(1);
    }
}

static void *allocate(uint32_t bytes)
{
    void *memory = malloc(bytes ? bytes : 1);
    need(memory != NULL, "out of memory");
    return memory;
}

int main(int argc, char **argv)
{
    need(argc == 3, "usage: lowered INPUTS RESULTS");
    FILE *inputs = fopen(argv[1], "rb"), *results = fopen(argv[2], "wb");
    need(inputs && results, "cannot open a file");
    for (uint32_t i = 0; i < lowered_count; ++i) {
        const struct lowered_case *c = &lowered_cases[i];
        int8_t *input[2] = {allocate(c->input_bytes[0]), allocate(c->input_bytes[1])};
        int8_t *output = allocate(c->output_bytes);
        /* Null where nothing is promised: a kernel that uses it crashes here. */
        void *scratch = c->scratch_bytes ? allocate(c->scratch_bytes) : NULL;
        for (uint32_t sample = 0; sample < c->samples; ++sample) {
            for (int k = 0; k < 2; ++k) {
                const size_t read = fread(input[k], 1, c->input_bytes[k], inputs);
                need(read == c->input_bytes[k], "the inputs end early");
            }
            memset(output, 0x55, c->output_bytes);
            c->run(input[0], input[1], output, scratch);
            const size_t written = fwrite(output, 1, c->output_bytes, results);
            need(written == c->output_bytes, "cannot write a result");
        }
        free(input[0]);
        free(input[1]);
        free(output);
        free(scratch);
    }
    need(fclose(results) == 0, "cannot write the results");
    fclose(inputs);
    return 0;
}
