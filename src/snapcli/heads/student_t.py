"""Student-t: a few wild channels cannot drown the rest, e = mean((nu + 1) ln(1 + u^2 / nu))."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from snapcli.heads.prediction import Array, Prediction

NU_RANGE = (3.0, 30.0)
# nu = softplus(_PACE * variable): with the steps of other weights it would hardly move.
_PACE = 10.0


@dataclass(frozen=True)
class StudentT:
    """nu: degrees of freedom in [3, 30]; the Gaussian is the limit of many."""

    kind: ClassVar[str] = "student-t"
    components: ClassVar[int] = 1
    nu: float

    def energy(self, prediction: Prediction) -> Array:
        u2 = prediction.residual**2 / prediction.variance
        return np.mean((self.nu + 1) * np.log1p(u2 / self.nu), axis=-1)

    def expected(self) -> float:
        from scipy.special import digamma

        return float((self.nu + 1) * (digamma((self.nu + 1) / 2) - digamma(self.nu / 2)))


class StudentTTraining:
    """nu: a number, or for a nu that is learned one variable that all taps share (shared_nu)."""

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


def shared_nu(start: float) -> Any:
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
