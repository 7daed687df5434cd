"""Catalogue name -> page and the parameters the name fixes; the caller gives the others."""

from __future__ import annotations

from typing import Any

from papers.ahpatron.ahpatron import Ahpatron
from papers.ahpatron.avp import AVP
from papers.alma.alma import ALMA
from papers.avm.avm import AVM
from papers.bogd.bogd import BOGD
from papers.bsgd.bsgd import BSGD
from papers.budget_perceptron.budget_perceptron import BudgetPerceptron
from papers.budgetron.budgetron import Budgetron
from papers.forgetron.forgetron import Forgetron
from papers.lsokl.fogd import FOGD
from papers.lsokl.nogd import NOGD
from papers.ogd.ogd import OGD
from papers.page import Page
from papers.passive_aggressive.budget_passive_aggressive import BudgetPassiveAggressive
from papers.passive_aggressive.passive_aggressive import PassiveAggressive
from papers.pegasos.pegasos import Pegasos
from papers.perceptron.perceptron import Perceptron
from papers.perceptron.shrinking_perceptron import ShrinkingPerceptron
from papers.pomdr.pomdr import POMDR
from papers.projectron.projectron import Projectron, ProjectronPlus

PAGES: dict[str, tuple[type[Page], dict[str, Any]]] = {
    "perceptron": (Perceptron, {}),
    "remove-oldest": (BudgetPerceptron, {"removal": "oldest"}),
    "rbp": (BudgetPerceptron, {"removal": "random"}),
    "cks": (BudgetPerceptron, {"removal": "margin"}),
    "stoptron": (BudgetPerceptron, {"removal": "refuse"}),
    "shrinking-perceptron": (ShrinkingPerceptron, {}),
    "forgetron-basic": (Forgetron, {"variant": "basic"}),
    "forgetron": (Forgetron, {"variant": "self-tuned"}),
    "forgetron-greedy": (Forgetron, {"variant": "greedy"}),
    "projectron": (Projectron, {}),
    "projectron++": (ProjectronPlus, {}),
    "pa": (PassiveAggressive, {}),
    "bpas": (BudgetPassiveAggressive, {}),
    "alma": (ALMA, {}),
    "ogd": (OGD, {}),
    "bogd": (BOGD, {"sampling": "uniform"}),
    "bogd++": (BOGD, {"sampling": "nonuniform"}),
    "pegasos": (Pegasos, {}),
    "bsgd-remove": (BSGD, {"maintenance": "remove"}),
    "bsgd-project": (BSGD, {"maintenance": "project"}),
    "bsgd-merge": (BSGD, {"maintenance": "merge"}),
    "fogd": (FOGD, {}),
    "nogd": (NOGD, {}),
    "avp": (AVP, {}),
    "pomdr": (POMDR, {}),
    "ahpatron": (Ahpatron, {}),
    "avm": (AVM, {}),
    "budgetron": (Budgetron, {}),
}
