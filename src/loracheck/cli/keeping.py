"""The user's store of answers around a piece of work that may be interrupted."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from loracheck.store import Store


@contextmanager
def user_store(*, no_cache: bool) -> Iterator[Store]:
    """The store, or an idle one; an interrupt in the block goes on its way telling what is kept."""
    from loracheck.store import Store

    with Store() if no_cache else Store.of_the_user() as store:
        try:
            yield store
        except KeyboardInterrupt:
            raise KeyboardInterrupt(*store.what_is_kept()) from None
