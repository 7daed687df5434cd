"""Which parts make which paper's algorithm: one function a recipe."""

from __future__ import annotations

from math import isfinite, log, sqrt

from budgetron.parts import (
    LOSSES,
    REGRESSION_LOSSES,
    Absolute,
    Absorb,
    AlmaUpdate,
    Avm,
    AvpUpdate,
    Budgetron,
    Fogd,
    Forgetron,
    GradientUpdate,
    Halve,
    Merge,
    Nogd,
    Part,
    PassiveAggressiveUpdate,
    PegasosUpdate,
    PerceptronUpdate,
    Pomdr,
    Project,
    ProjectronPlus,
    ProjectSmallest,
    Refuse,
    RemoveMargin,
    RemoveOldest,
    RemoveRandom,
    RemoveSmallest,
    Round,
    Sample,
    ShrinkingUpdate,
    SmoothHinge,
    TubePassiveAggressiveUpdate,
)

# When the Perceptron's relatives err, unless they regress.
_ON_MISTAKES = PerceptronUpdate()
# What each removal= of the budget Perceptron is called among the parts.
REMOVALS = {
    "oldest": RemoveOldest,
    "random": RemoveRandom,
    "margin": RemoveMargin,
    "refuse": Refuse,
}
# What each maintenance= of BSGD is called among the parts.
MAINTENANCE = {
    "remove": RemoveSmallest,
    "project": ProjectSmallest,
    "merge": Merge,
}


def loss_part(loss: str, tau: float) -> Part:
    """The loss called "hinge", "smooth-hinge" (the one that has a tau) or "logistic"."""
    part = {part.kind: part for part in LOSSES}[loss]
    return SmoothHinge(tau) if part is SmoothHinge else part()


def regression_loss(loss: str, epsilon: float) -> Part:
    """The loss called "squared", "absolute" (which has no epsilon) or "epsilon-insensitive"."""
    part = {part.kind: part for part in REGRESSION_LOSSES}[loss]
    return Absolute() if part is Absolute else part().set_params(epsilon=float(epsilon))


def perceptron(kernel: Part) -> Part:
    """Kernel Perceptron (Rosenblatt 1958; Freund & Schapire 1999)."""
    return Round(kernel, PerceptronUpdate())


def budget_perceptron(
    kernel: Part, *, removal: str, budget: int, update: Part = _ON_MISTAKES
) -> Part:
    """Perceptron with at most B examples: Remove-Oldest, RBP, CKS, Stoptron."""
    return Round(kernel, update, REMOVALS[removal](size=budget))


def shrinking_perceptron(kernel: Part, *, shrink: float) -> Part:
    """Shrinking Perceptron (Dekel, Shalev-Shwartz & Singer 2008, section 4)."""
    return Round(kernel, ShrinkingUpdate(shrink))


def passive_aggressive(kernel: Part, *, C: float, variant: str) -> Part:
    """PA-I and PA-II (Crammer et al. 2006)."""
    return Round(kernel, PassiveAggressiveUpdate(C, variant))


def passive_aggressive_regression(kernel: Part, *, C: float, variant: str, epsilon: float) -> Part:
    """PA-I and PA-II for regression (Crammer et al. 2006, section 5)."""
    return Round(kernel, TubePassiveAggressiveUpdate(C, variant, float(epsilon)))


def budget_passive_aggressive(kernel: Part, *, C: float, budget: int) -> Part:
    """BPA-S (Wang & Vucetic 2010): PA-I where the newcomer absorbs the one it replaces."""
    return Round(kernel, PassiveAggressiveUpdate(C, "I"), Absorb(budget))


def alma(kernel: Part, *, alpha: float, C: float, margin: float | None) -> Part:
    """ALMA_2 (Gentile 2001); margin by default the sqrt(8)/alpha of its theorem."""
    gamma = sqrt(8) / alpha if margin is None else margin
    return Round(kernel, AlmaUpdate(alpha, C, gamma), radius=1.0)


def ogd(kernel: Part, *, step: float, regularization: float, loss: Part) -> Part:
    """Online gradient descent with a kernel (Kivinen, Smola & Williamson 2004)."""
    return Round(kernel, GradientUpdate(step, regularization, loss))


def pegasos(kernel: Part, *, regularization: float, loss: Part) -> Part:
    """Kernel Pegasos (Shalev-Shwartz et al. 2011), without the optional ball."""
    return Round(kernel, PegasosUpdate(regularization, loss))


def bogd(
    kernel: Part,
    *,
    budget: int,
    step: float,
    regularization: float,
    max_coef: float,
    sampling: str,
    loss: Part,
) -> Part:
    """BOGD and BOGD++ (Zhao, Wang, Wu, Jin & Hoi 2012), algorithm 1."""
    return Round(
        kernel,
        GradientUpdate(step, regularization, loss),
        Sample(budget, sampling, clip=max_coef * step),
    )


def bsgd(kernel: Part, *, budget: int, regularization: float, maintenance: str, loss: Part) -> Part:
    """BSGD (Wang, Crammer & Vucetic 2012): Pegasos on a budget."""
    return Round(
        kernel,
        PegasosUpdate(regularization, loss),
        MAINTENANCE[maintenance](size=budget),
    )


def avp(kernel: Part, *, step: float | str, epsilon: float, radius: float) -> Part:
    """AVP (Ahpatron paper, algorithm 1); step "adaptive" is U/sqrt(U^2 + M) of corollary 2."""
    if not isinstance(step, str):
        return Round(kernel, AvpUpdate(step, epsilon), radius=radius)
    if not isfinite(radius):
        raise ValueError(f"step={step!r} needs a finite radius, got radius={radius}")
    return Round(kernel, AvpUpdate(1.0, epsilon, damping=radius**-2), radius=radius)


def fogd(kernel: Part, *, n_components: int, step: float, loss: Part, seed: int) -> Part:
    """FOGD (Lu, Hoi, Wang, Zhao, Liu 2016), algorithm 1."""
    return Fogd(kernel, int(n_components), float(step), loss, seed)


def nogd(kernel: Part, *, budget: int, rank: int | None, step: float, loss: Part) -> Part:
    """NOGD (Lu, Hoi, Wang, Zhao, Liu 2016), algorithm 2; rank by default a fifth of the budget."""
    kept = max(1, budget // 5) if rank is None else int(rank)
    return Nogd(kernel, kept, int(budget), float(step), loss)


def forgetron(
    kernel: Part, *, budget: int, variant: str, update: Part = _ON_MISTAKES, signed: bool = True
) -> Part:
    """Forgetron (Dekel, Shalev-Shwartz & Singer 2008): basic, self-tuned or greedy."""
    return Forgetron(kernel, size=int(budget), variant=variant, update=update, signed=signed)


def projectron(
    kernel: Part, *, threshold: float | None, budget: int | None, update: Part = _ON_MISTAKES
) -> Part:
    """Projectron (Orabona, Keshet & Caputo 2008)."""
    return Round(kernel, update, _project(threshold, budget))


def projectron_plus(
    kernel: Part, *, threshold: float | None, budget: int | None, rule: str
) -> Part:
    """Projectron++ (Orabona, Keshet & Caputo 2009); "aggressive" as the Ahpatron paper ran it."""
    project = _project(threshold, budget)
    if rule == "aggressive":
        return Round(kernel, AvpUpdate(step=1.0, epsilon=0.0), project)
    return ProjectronPlus(kernel, size=project.size, threshold=project.threshold)


def _project(threshold: float | None, budget: int | None) -> Project:
    return Project(
        size=0 if budget is None else int(budget),
        threshold=-1.0 if threshold is None else float(threshold),
    )


def pomdr(kernel: Part, *, budget: int, radius: float, window: int, horizon: int | None) -> Part:
    """POMDR (Li & Liao 2023); without a horizon the first phase lasts B/4 examples."""
    first, near = max(1, budget // 4), Pomdr.near
    if horizon is not None:
        first, near = max(1, min(round(10 * log(horizon)), budget - 1)), horizon**-0.5
    return Pomdr(
        kernel,
        size=int(budget),
        radius=float(radius),
        window=int(window),
        first=int(first),
        near=near,
    )


def ahpatron(
    kernel: Part,
    *,
    budget: int,
    epsilon: float,
    radius: float | None,
    step: float | None,
    ridge: float,
    norm: float | str,
) -> Part:
    """Ahpatron (Liao et al. 2024), algorithm 2; radius and step as in its experiments."""
    U = sqrt(budget) / 2 if radius is None else float(radius)
    rate = U / sqrt(4 * budget) if step is None else float(step)
    rescaled = 0.0 if isinstance(norm, str) else norm * U
    return Round(
        kernel,
        AvpUpdate(step=rate, epsilon=float(epsilon)),
        Halve(size=int(budget), ridge=float(ridge), norm=rescaled),
        radius=U,
    )


def avm(
    kernel: Part,
    *,
    regularization: float,
    delta: float,
    cover: str,
    beta: float,
    rho: float,
    budget: int | None,
    loss: Part,
    width: int,
) -> Part:
    """AVM (Le, Nguyen, Nguyen, Phung 2017), algorithms 2 to 5."""
    return Avm(
        kernel,
        int(width),
        regularization=float(regularization),
        delta=float(delta),
        cover=cover,
        beta=float(beta),
        rho=float(rho),
        budget=0 if budget is None else int(budget),
        loss=loss,
    )


def budgetron(
    kernel: Part, *, budget: int, r: float, jitter: float, replace: str, admission: str
) -> Part:
    """Budgetron: confidence-weighted, with what it knows of its coefs in a covariance."""
    return Budgetron(
        kernel,
        budget=int(budget),
        r=float(r),
        jitter=float(jitter),
        replace=replace,
        admission=admission,
    )
