# The one list of public names and where they live. Type checkers read it as a stub, `__init__.py`
# reads it at run time (lazy_loader), so it holds nothing but `from .module import name as name`.
from ._engine import PrecisionWarning as PrecisionWarning
from .catalogue import algorithms as algorithms
from .catalogue import make as make
from .errors import BudgetronError as BudgetronError
from .estimators.ahpatron import AhpatronClassifier as AhpatronClassifier
from .estimators.alma import ALMAClassifier as ALMAClassifier
from .estimators.anomaly import BudgetronAnomaly as BudgetronAnomaly
from .estimators.avm import AVMClassifier as AVMClassifier
from .estimators.avm import AVMRegressor as AVMRegressor
from .estimators.avp import AVPClassifier as AVPClassifier
from .estimators.bogd import BOGDClassifier as BOGDClassifier
from .estimators.bogd import BOGDRegressor as BOGDRegressor
from .estimators.bsgd import BSGDClassifier as BSGDClassifier
from .estimators.budget_passive_aggressive import (
    BudgetPassiveAggressiveClassifier as BudgetPassiveAggressiveClassifier,
)
from .estimators.budget_perceptron import BudgetPerceptronClassifier as BudgetPerceptronClassifier
from .estimators.budget_perceptron import BudgetPerceptronRegressor as BudgetPerceptronRegressor
from .estimators.budgetron import BudgetronClassifier as BudgetronClassifier
from .estimators.budgetron import BudgetronRegressor as BudgetronRegressor
from .estimators.custom import KernelClassifier as KernelClassifier
from .estimators.diameter import suggest_delta as suggest_delta
from .estimators.fogd import FOGDClassifier as FOGDClassifier
from .estimators.fogd import FOGDRegressor as FOGDRegressor
from .estimators.forgetron import ForgetronClassifier as ForgetronClassifier
from .estimators.forgetron import ForgetronRegressor as ForgetronRegressor
from .estimators.nogd import NOGDClassifier as NOGDClassifier
from .estimators.nogd import NOGDRegressor as NOGDRegressor
from .estimators.ogd import OGDClassifier as OGDClassifier
from .estimators.ogd import OGDRegressor as OGDRegressor
from .estimators.passive_aggressive import (
    PassiveAggressiveClassifier as PassiveAggressiveClassifier,
)
from .estimators.passive_aggressive import PassiveAggressiveRegressor as PassiveAggressiveRegressor
from .estimators.pegasos import PegasosClassifier as PegasosClassifier
from .estimators.perceptron import PerceptronClassifier as PerceptronClassifier
from .estimators.pomdr import POMDRClassifier as POMDRClassifier
from .estimators.projectron import ProjectronClassifier as ProjectronClassifier
from .estimators.projectron import ProjectronPlusClassifier as ProjectronPlusClassifier
from .estimators.projectron import ProjectronRegressor as ProjectronRegressor
from .estimators.shrinking_perceptron import (
    ShrinkingPerceptronClassifier as ShrinkingPerceptronClassifier,
)
from .estimators.table_encoder import TableEncoder as TableEncoder
from .explaining import explain as explain
from .fleet import Fleet as Fleet
from .merging import Delta as Delta
from .merging import merge as merge
from .merging import merge_models as merge_models
from .model_file import ModelFileError as ModelFileError
from .model_file import load as load
from .model_file import save as save
from .verdict import NotLearningWarning as NotLearningWarning

__version__: str
__all__: list[str]
