"""Results on their way from threads to an event loop."""

from __future__ import annotations

import asyncio
import gc

from omnizarr.aio import completions


def test_the_results_of_a_deleted_loop_are_forgotten() -> None:
    async def one() -> completions.Completions:
        return completions.completions_of(asyncio.get_running_loop())

    before = set(completions._of_loops)
    assert asyncio.run(one()) is not asyncio.run(one())
    gc.collect()
    assert set(completions._of_loops) <= before
