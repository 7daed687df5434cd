"""A fleet: one small model per key, all in one memory, beside one shared model of all rows.

`fleet` has the class; `keys` turns any key into 16 bytes; `keys_file` holds models that had to
leave memory (SQLite); `parts` is a fleet as bytes; `classifier`, `regressor` and `river` are its
interfaces. The models themselves are in `core/fleet/`. May use model files and the layers below.
"""

from budgetron.fleet.fleet import Bucket as Bucket
from budgetron.fleet.fleet import Fleet as Fleet
from budgetron.fleet.fleet import FleetEvent as FleetEvent
