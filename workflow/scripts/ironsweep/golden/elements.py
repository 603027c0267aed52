"""Kernels whose elements have nothing to do with each other, one function each: from blocks of data to the output."""

from ironsweep.golden.oracle import repeated
from ironsweep.golden.rounded import Value, exponential, square_root, where


def copy(a: Value) -> Value:
    """Stream COPY."""
    return a


def triad(b: Value, c: Value, alpha: Value) -> Value:
    """Stream TRIAD."""
    return b + alpha * c


def daxpy(y: Value, x: Value, a: Value, reps: int) -> Value:
    """Basic DAXPY, `y += a * x` once a rep."""
    return repeated(y, a * x, reps)


def planckian(x: Value, u: Value, v: Value) -> tuple[Value, Value]:
    """Lcals PLANCKIAN: w, and y. Random data are in [0.5, 1.5), so that `exp(y) - 1` loses few bits."""
    y = u / v
    return x / (exponential(y) - 1.0), y


def pressure(
    compression: Value, e_old: Value, vnewc: Value, cls: Value, p_cut: Value, pmin: Value, eosvmax: Value
) -> tuple[Value, Value]:
    """Apps PRESSURE: p_new, and bvc."""
    bvc = cls * (compression + 1.0)
    p_new = bvc * e_old
    p_new = where(abs(p_new) < p_cut, 0.0, p_new)
    p_new = where(vnewc >= eosvmax, 0.0, p_new)
    return where(p_new < pmin, pmin, p_new), bvc


def energy(
    e_old: Value,
    delvc: Value,
    p_new: Value,
    p_old: Value,
    q_old: Value,
    work: Value,
    comp_half_step: Value,
    p_half_step: Value,
    bvc: Value,
    pbvc: Value,
    ql_old: Value,
    qq_old: Value,
    vnewc: Value,
    rho0: Value,
    e_cut: Value,
    emin: Value,
    q_cut: Value,
) -> tuple[Value, Value]:
    """Apps ENERGY: e_new and q_new."""

    def viscosity(squared_speed: Value) -> Value:
        """What both steps use where the volume does not grow; the speed of sound has a least value."""
        speed = where(squared_speed <= 0.1111111e-36, 0.3333333e-18, square_root(squared_speed))
        return speed * ql_old + qq_old

    def cut(e: Value) -> Value:
        e = where(abs(e) < e_cut, 0.0, e)
        return where(e < emin, emin, e)

    grows = delvc > 0.0
    before = p_old + q_old

    e = e_old - 0.5 * delvc * before + 0.5 * work
    vhalf = 1.0 / (1.0 + comp_half_step)
    q = where(grows, 0.0, viscosity((pbvc * e + vhalf * vhalf * bvc * p_half_step) / rho0))
    half_step = p_half_step + q

    e = e + 0.5 * delvc * (3.0 * before - 4.0 * half_step)
    e = cut(e + 0.5 * work)
    at_new_volume = vnewc * vnewc * bvc * p_new
    q_tilde = where(grows, 0.0, viscosity((pbvc * e + at_new_volume) / rho0))
    e = cut(e - (7.0 * before - 8.0 * half_step + (p_new + q_tilde)) * delvc / 6.0)

    q_new = viscosity((pbvc * e + at_new_volume) / rho0)
    q_new = where(abs(q_new) < q_cut, 0.0, q_new)
    return e, where(grows, q, q_new)
