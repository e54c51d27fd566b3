"""Pairs of opposite words; a demand with one excludes the other."""

from __future__ import annotations

OPPOSITES = {
    frozenset(pair.split())
    for pair in (
        "enable disable/enabled disabled/open closed/open close/opened closed/on off/start stop/increase decrease"
        "/allow deny/allow prevent/allowed forbidden/accept reject/permit deny/permit prohibit/before after"
        "/minimum maximum/above below/internal external/manual automatic/manually automatically/encrypted unencrypted"
        "/locked unlocked/lock unlock/include exclude/always never/with without/synchronous asynchronous"
        "/ascending descending/visible hidden/show hide/mandatory optional/online offline/active inactive"
        "/public private/horizontal vertical/parallel perpendicular/inward outward/inwards outwards"
        "/upwards downwards/clockwise anticlockwise/clockwise counterclockwise/ac dc"
    ).split("/")
}
