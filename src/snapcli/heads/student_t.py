"""Student-t: a few wild channels cannot drown the rest, e = mean((nu + 1) ln(1 + u^2 / nu))."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from snapcli.array import Array
from snapcli.config import TrainOptions
from snapcli.fixedpoint import Energy, HeadS8, Residual, check_between, ln_q16, mean_q16
from snapcli.heads.likelihood import Linear, MakeTraining, Prediction
from snapcli.stored import Arrays

_UINT32_MAX = 2**32 - 1
# Here 1 + u^2 / nu has saturated long before.
_U_LIMIT_Q12 = 1 << 23
NU_RANGE = (3.0, 30.0)
# nu = softplus(_PACE * variable): with the steps of other weights it would hardly move.
_PACE = 10.0


@dataclass(frozen=True)
class EnergyStudentT(Energy):
    """Fields of struct snapuq_energy_student_t; 3 <= nu <= 30."""

    function: ClassVar[str] = "snapuq_energy_student_t_q16"
    takes_logarithms: ClassVar[bool] = True
    inverse_nu_q18: int
    nu_plus_1_q16: int

    def q16(self, residual: Residual) -> NDArray[np.uint32]:
        size_q12 = np.minimum(np.abs(residual.u_q12), _U_LIMIT_Q12)
        ratio_q16 = (size_q12**2 * self.inverse_nu_q18 + (1 << 25)) >> 26
        one_plus_q16 = np.minimum((1 << 16) + ratio_q16, _UINT32_MAX)
        total_q16 = np.sum(ln_q16(one_plus_q16) - ln_q16(1 << 16), axis=-1)
        scaled_q16 = (total_q16 * self.nu_plus_1_q16 + (1 << 15)) >> 16
        return mean_q16(scaled_q16, residual.u_q12.shape[-1])

    def check(self, name: str, head: HeadS8) -> None:
        super().check(name, head)
        low, high = (int(nu) for nu in NU_RANGE)
        inverse = (1 << 18) // high, (1 << 18) // low + 1
        check_between(f"{name}.inverse_nu_q18", self.inverse_nu_q18, *inverse)
        plus_1 = (low + 1) << 16, (high + 1) << 16
        check_between(f"{name}.nu_plus_1_q16", self.nu_plus_1_q16, *plus_1)


@dataclass(frozen=True)
class StudentT:
    """nu: degrees of freedom in [3, 30]; the Gaussian is the limit of many."""

    kind: ClassVar[str] = "student-t"
    integer: ClassVar[type[Energy]] = EnergyStudentT
    components: ClassVar[int] = 1
    nu: float

    def energy(self, prediction: Prediction) -> Array:
        u2 = prediction.residual**2 / prediction.variance
        return np.mean((self.nu + 1) * np.log1p(u2 / self.nu), axis=-1)

    def expected(self) -> float:
        from scipy.special import digamma

        return float((self.nu + 1) * (digamma((self.nu + 1) / 2) - digamma(self.nu / 2)))

    def quantized(self, linear: Linear) -> EnergyStudentT:
        return EnergyStudentT(round((1 << 18) / self.nu), round((self.nu + 1) * (1 << 16)))

    @classmethod
    def training(cls, options: TrainOptions) -> MakeTraining:
        nu = _learned(options.nu) if options.learn_nu else options.nu
        return lambda channels, name: StudentTTraining(nu)

    @classmethod
    def load(cls, saved: Arrays, name: str, channels: int, rank: int) -> "StudentT":
        return cls(saved.number(f"{name}.nu", *NU_RANGE))


class StudentTTraining:
    """nu: a number, or where it is learned one variable that all taps share."""

    components = 1

    def __init__(self, nu: Any) -> None:
        self._nu = nu
        self.variables: list[Any] = [] if isinstance(nu, float) else [nu]

    def nu(self) -> Any:
        import tensorflow as tf

        if isinstance(self._nu, float):
            return tf.constant(self._nu)
        return tf.clip_by_value(tf.nn.softplus(_PACE * self._nu), *NU_RANGE)

    def nll(self, prediction: Prediction) -> Any:
        import tensorflow as tf

        nu, sigma2 = self.nu(), prediction.variance
        data = (nu + 1) / 2 * tf.math.log1p(prediction.residual**2 / (nu * sigma2))
        # The density's constant depends on nu, which may be learned.
        constant = tf.math.lgamma(nu / 2) - tf.math.lgamma((nu + 1) / 2) + 0.5 * tf.math.log(nu)
        return tf.reduce_mean(data + 0.5 * tf.math.log(sigma2)) + constant

    def fitted(self) -> StudentT:
        return StudentT(float(self.nu().numpy()))


def _learned(start: float) -> Any:
    """The variable of a nu that is learned. It is held within the range: outside of it nu has no
    gradient and would never come back."""
    import tensorflow as tf

    def variable(nu: float) -> float:
        return float(np.log(np.expm1(nu))) / _PACE

    low, high = (variable(nu) for nu in NU_RANGE)
    return tf.Variable(
        variable(start),
        dtype=tf.float32,
        name="nu",
        constraint=lambda v: tf.clip_by_value(v, low + 1e-5, high - 1e-5),
    )
