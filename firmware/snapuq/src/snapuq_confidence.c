#include "snapuq.h"

#define ONE_Q30 (UINT64_C(1) << 30)

/* Unnormalized probabilities of the classes that were not predicted, relative
 * to the predicted one: their sum and the largest of them. */
struct others {
    uint64_t sum;
    uint32_t largest;
};

static struct others others_q30(const struct snapuq_confidence *confidence, const int8_t *logits,
                                int32_t predicted)
{
    struct others others = {0, 0};
    for (int32_t k = 0; k < confidence->classes; ++k) {
        if (k == predicted) {
            continue;
        }
        const uint32_t q30 = confidence->exp_q30[logits[predicted] - logits[k]];
        others.sum += q30;
        if (q30 > others.largest) {
            others.largest = q30;
        }
    }
    return others;
}

int32_t snapuq_error_logit_q16(const struct snapuq_confidence *confidence, const int8_t *logits,
                               int32_t predicted, const uint16_t *log2_q15)
{
    return snapuq_ln_q16(others_q30(confidence, logits, predicted).sum, log2_q15) -
           snapuq_ln_q16(ONE_Q30, log2_q15);
}

uint32_t snapuq_doubt_q16(const struct snapuq_confidence *confidence, const int8_t *logits,
                          int32_t predicted, uint32_t alpha_q16)
{
    const struct others others = others_q30(confidence, logits, predicted);
    const uint64_t total = ONE_Q30 + others.sum;
    const uint64_t p1 = ((ONE_Q30 << 16) + total / 2) / total;
    const uint64_t p2 = (((uint64_t)others.largest << 16) + total / 2) / total;
    const uint64_t doubt_q32 = alpha_q16 * (65536 - p1) + (65536 - alpha_q16) * (65536 - p1 + p2);
    return (uint32_t)((doubt_q32 + (1 << 15)) >> 16);
}
