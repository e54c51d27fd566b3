"""The English words that carry no meaning of their own and are left out of the lexical leg."""

from __future__ import annotations

__all__ = ["ENGLISH"]

_WORDS = (
    "a an the this that these those such and or but nor if then than as so because while although though of in on at "
    "by for from to into onto with within without about between through during before after above below up down out "
    "off over under upon again further is are was were be been being am do does did doing done have has had having "
    "will would can could may might should ought i me my we us our ours you your yours he him his she her hers it its "
    "they them their theirs what which who whom whose when where why how there here all any both each some other only "
    "own same too very just also not no s t don"
)

ENGLISH: frozenset[str] = frozenset(_WORDS.split())
"""Of the modal verbs, `shall` and `must` give a statement its force in a standard and are kept on purpose."""
