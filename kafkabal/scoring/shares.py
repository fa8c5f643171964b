"""The share formula: the only place where a load is divided by the fair load."""

from __future__ import annotations

import numpy as np

from kafkabal.model import F64, I32, I64, Bools


def fair_shares(load: F64 | I64 | float, due: F64 | float, mean: F64 | float = 1.0) -> F64:
    """Load over fair load, element by element: 1.0 is exactly the fair share.

    Parameters
    ----------
    due
        What each holder is due, in proportion, > 0; by default its fair load itself.
    mean
        Load per unit of ``due``, > 0, so that ``mean x due`` is the fair load.
    """
    return np.asarray(load / due / mean)


def shares_by_group(load: F64, due: F64, counted: Bools, group: I32) -> tuple[F64, F64]:
    """Share of each counted holder within its group (NaN for the others), and the fair load of every holder.

    A group without load gives each of its holders a share of 1, and so does a due of 0.

    Parameters
    ----------
    due
        float64, shape (n_holders,): what holders are due, in proportion; their capacity if no rule binds.
    group
        int32, shape (n_holders,): the group that each holder belongs to.
    """
    n = int(group.max()) + 1 if group.size else 0
    total_load = np.bincount(group[counted], load[counted], n)
    total_due = np.bincount(group[counted], due[counted], n)
    mean = np.divide(total_load, total_due, out=np.zeros(n), where=total_due > 0)[group]
    share = np.where(counted, 1.0, np.nan)
    loaded = counted & (mean > 0) & (due > 0)
    share[loaded] = fair_shares(load[loaded], due[loaded], mean[loaded])
    return share, mean * due
