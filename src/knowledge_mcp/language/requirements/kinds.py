"""The kind of a requirement: functional, quality, or both."""

from __future__ import annotations

import re
from enum import StrEnum


class RequirementKind(StrEnum):
    """Kinds of requirement: a function, a quality (or constraint), or both in one."""

    FUNCTIONAL = "functional"
    QUALITY = "quality"
    BOTH = "functional and quality"


_QUALITY = re.compile(
    r"\b(?:availability|available(?=\s+(?:\d|at\s+all|during|for\s+use))|up-?\s?time|downtime|reliab\w+"
    r"|robust\w*|fault[- ]toleran\w+|fail-?over|mean\s+time|mtbf|recover(?:y|able|ability)|redundan\w+"
    r"|performance|response\s+times?|respond\w*|latenc\w+|throughput|fast(?:er|est)?|quick(?:ly|er)?"
    r"|real[- ]time|efficien\w+|scal(?:e|es|able|ability)"
    r"|capacity|concurrent(?:ly)?|simultaneous(?:ly)?|peak|load|usab\w+|eas(?:e|y|ily|ier)|intuitive\w*"
    r"|user[- ]friendly|learn\w*|training|trained|understand\w*"
    r"|accessib\w+|readab\w+|look\s+and\s+feel|appear(?:ance|s)?|attractive|appealing|professional\w*"
    r"|colou?rs?|style|branding|logo|layout"
    r"|secur\w+|encrypt\w*|authori[sz]ed|authori[sz]ation|unauthori[sz]ed|authenticat\w+|passwords?"
    r"|protect\w*|privacy|confidential\w*|integrity|malicious"
    r"|attacks?|maintain(?:able|ability)|extensib\w+|modular\w*|upgrad\w+|portab\w+|compatib\w+"
    r"|interoperab\w+|interfac(?:e|es|ing)\s+with|(?:cross|multi|multiple|different|various|other"
    r"|supported)[- ]platforms?"
    r"|operating\s+systems?|browsers?|internet\s+explorer|firefox|chrome|safari|windows|linux|unix|java"
    r"|servers?|databases?|standards?|compl(?:y|ies|iant|iance)|conform\w*|regulations?|accordance"
    r"|satisf(?:y|ied|action)|timely|mistakes?|errors?|hardware|(?:only|limited)\s+(?:be\s+)?(?:accessible"
    r"|accessed|access)|access\s+(?:rights|controls?)|laws?|legal|polic(?:y|ies)"
    r"|licen[cs]\w+|localis\w+|localiz\w+|languages?|environment|temperature|humidity|documentation"
    r"|support\s+staff|minimal|maximum|minimum"
    r"|at\s+(?:least|most)|no\s+(?:more|less|longer)\s+than|within\s+(?:\d|one|two|three|four|five|ten"
    r"|a\s)|per\s+(?:second|minute|hour|day|month|year)"
    r"|seconds?|minutes?|milliseconds?|percent|\d\s?%|\d\s?ms|24\s?[x/]\s?7|24\s+hours|accura\w+|precis\w+"
    r"|open\s+source|architecture|framework|configurab\w+|customi[sz]ab\w+|flexib\w+"
    r"|transparent\w*|simple|consisten\w+|cost)\b",
    re.IGNORECASE,
)
_STATE = re.compile(
    r"\b(?:shall|must|should|will|may|can)\s+(?:not\s+|also\s+|always\s+|only\s+){0,2}"
    r"(?:be\s+(?!able\b|allowed\b|possible\b|capable\b|notified\b|displayed\b|shown\b|sent\b|stored\b"
    r"|created\b|logged\b|saved\b|given\b|prompted\b|provided\b)"
    r"|have\s|run\s|use\s|operate|comply|conform|adhere|meet\s|work\s|function\s|contain\s|look\s|follow\s"
    r"|integrate|interface|interact|respond|last\s|appeal|remain\s|take\s)",
    re.IGNORECASE,
)
_FUNCTION = re.compile(
    r"\b(?:add|allow|alert|approve|archive|assign|assist|browse|calculat|cancel|change|check|choose|clear"
    r"|close|collect|compare|comput|configure|confirm"
    r"|convert|cop(?:y|ies)|creat|deactivat|delet|determin|disabl|display|distribut|download|draw|edit"
    r"|enabl|enter|exchang|execut|export|extract|fetch|filter|find|finds"
    r"|forward|generat|get|hid|identif|import|inform|initiat|input|insert|list|load|log|login|maintain"
    r"|manag|mark|mov|modif|monitor|navigat|notif|open|order"
    r"|permit|place|play|preview|print|process|produc|prompt|provid|publish|receiv|record|register|reject"
    r"|remov|renam|repla[cy]|report|request|reset|restor|return|retriev"
    r"|save|scan|schedul|search|select|send|set|shar|show|sort|stor|submit|subscrib|suppl[iy]"
    r"|synchroni[sz]|track|transfer|transmit|trigger|updat|upload"
    r"|validat|verif|view|withdraw|writ)(?:e|es|s|ed|ing|y|ies|ied)?\b",
    re.IGNORECASE,
)


def requirement_kind(text: str) -> RequirementKind:
    """Return the kind of a requirement from its words (English): functional unless a word indicates a quality."""
    quality = _QUALITY.search(text) is not None
    function = _FUNCTION.search(text) is not None and _STATE.search(text) is None
    if quality and function:
        return RequirementKind.BOTH
    return RequirementKind.QUALITY if quality else RequirementKind.FUNCTIONAL
