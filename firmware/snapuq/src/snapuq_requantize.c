#include "snapuq_arith.h"

int32_t snapuq_requantize(int32_t value, struct snapuq_multiplier multiplier)
{
    return snapuq_requantize_inline(value, multiplier.mantissa, multiplier.shift);
}
