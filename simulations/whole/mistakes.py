"""Mistakes that are put into the peers for a run: a negative control, a mutant, or both."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from ..controls import control_of
from ..controls.making.swaps import put_in
from ..mutants import mutants
from ..mutants.making.edits import NotApplicable, edit_of
from ..play.options import Options


def check_mistakes(options: Options) -> None:
    """Raises ValueError for a control or a mutant that there is not, or that does not fit the code."""
    if options.control:
        control_of(options.control)
    if options.mutant:
        if options.mutant not in mutants():
            raise ValueError(f"there is no mutant {options.mutant!r}; the verb mutants lists those that there are")
        try:
            edit_of(mutants()[options.mutant])
        except NotApplicable as error:
            raise ValueError(str(error)) from None


@contextmanager
def mistakes_put_in(options: Options) -> Iterator[None]:
    """Puts the mistakes in force that the options name, for the block."""
    with ExitStack() as stack:
        if options.control:
            stack.enter_context(put_in(control_of(options.control).swaps))
        if options.mutant:
            stack.enter_context(edit_of(mutants()[options.mutant]).put_in())
        yield
