#include "snapuq_arith.h"

uint32_t snapuq_map_gated_q16(const struct snapuq_map_gated *map, uint32_t score_q16,
                              int32_t error_logit_q16)
{
    int64_t excess = (int64_t)snapuq_ln_q16(score_q16, map->log2_q15) -
                     snapuq_ln_q16(1 << 16, map->log2_q15) - map->theta_q16;
    if (excess < 0) {
        excess = 0;
    }
    return snapuq_sigmoid_q16(map->b0_q16 + snapuq_mul_q16(map->b1_q16, excess) +
                                  snapuq_mul_q16(map->b2_q16, error_logit_q16),
                              map->tail_q16);
}
