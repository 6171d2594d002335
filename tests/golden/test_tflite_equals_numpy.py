"""TFLite reference kernels == fixedpoint."""

import numpy as np
import pytest

from .cases import ORACLE_CASES, OracleCase


@pytest.mark.parametrize("case", ORACLE_CASES, ids=lambda case: f"{case.kernel}-{case.name}")
def test_tflite_equals_numpy(case: OracleCase) -> None:
    np.testing.assert_array_equal(case.tflite(), case.numpy(), strict=True)
