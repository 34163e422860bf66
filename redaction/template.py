"""What of an error's message may leave: the words that can be its fixed text, with `{}` for everything else.

A message is written by a program around the values that it failed on, so whatever is not recognisably the program's own
wording counts as a value.
"""

from __future__ import annotations

import re
from typing import Final

from toolwitness.redaction.detect import scan_text
from toolwitness.redaction.words import words_of

__all__ = ["GAP", "message_template", "plain_word"]

GAP: Final = "{}"
"""Stands for one value, or for several in a row."""

_MAX_READ: Final = 4096
_MAX_LENGTH: Final = 200

_QUOTED: Final = re.compile(
    r"""(?<!\w)(?:'[^'\n]{0,512}'|"[^"\n]{0,512}"|`[^`\n]{0,512}`)(?!\w)|[\u2018\u201c\u00ab][^\u2019\u201d\u00bb\n]{0,512}[\u2019\u201d\u00bb]"""
)
_WORD: Final = re.compile(
    r"(?P<before>[(\[]{0,2})(?P<word>[A-Za-z]{1,24}(?:['-][A-Za-z]{1,24}){0,2})(?P<after>[)\]]{0,2}[.,:;!?]{0,3})"
)
_MARK: Final = re.compile(r"[.,:;!?]$")
_ENDS_SENTENCE: Final = (".", "!", "?", ":")

_VOCABULARY: Final = words_of(
    """
    a an the this that these those it its there here what which who whose when where why how all any both each every either
    neither no none not nothing only other another same such some more most less least many much few several enough own
    one first second last next previous
    i we you they he she our your their us them
    is are was were be been being am has have had do does did done can could cannot may might must shall should will would
    can't couldn't isn't aren't wasn't weren't doesn't didn't don't hasn't haven't won't wouldn't shouldn't mustn't
    and or but nor if then else than as because so though although while until unless since whether
    at by for from in into of off on onto out over to toward under up down upon with within without about above across after
    against along among around before behind below beneath beside between beyond during except inside near outside per
    through throughout via
    already again also always back even ever instead just later longer never now once often otherwise perhaps
    please possibly rather soon still too twice very well yet
    able allowed available bad bigger broken busy closed complete completed corrupt corrupted current dead deep deprecated
    different disabled due duplicate early empty enabled equal exact existing expected external failed fatal finished fixed
    forbidden full good greater halted high higher illegal impossible inaccessible incompatible incomplete incorrect
    inconsistent internal invalid known large larger late left local locked long low lower malformed maximum minimum
    missing negative new non-empty nonexistent null obsolete old open outdated partial permanent positive possible private
    protected read-only ready recent redundant refused remote required reserved right safe short single slow small smaller
    stale strict supported temporary trusted unable unauthorized unavailable unclosed undefined unexpected unfinished
    unhandled unknown unique unreachable unreadable unrecognized unresolved unsafe unset unspecified unsupported untrusted
    unused unusable valid whole writable wrong
    abort aborted accept accepted access accessed acquire acquired add added allocate allocated apply applied ask asked assign
    assigned attempt attempted become begin began bind bound break build built call called cancel cancelled canceled cause
    caused change changed check checked choose chosen clean close come commit committed compare compared compile compiled
    configure configured connect connected connecting contain contains continue convert converted copy copied create
    created decode decoded decoding define defined delete deleted denied deny detect detected determine differ dispatch
    divide drop dropped encode encoded encoding encounter encountered end ended ensure enter entered evaluate exceed
    exceeded exceeds execute executed execution exist exists exit exited expect expects expire expired extract fail failing
    fails fetch fetched fill find finish forget format formatted found generate generated get gets given gives go got grant
    granted handle handled happen happened hold holds ignore ignored implement implemented import imported include included
    increase initialize initialized insert inserted install installed interrupt interrupted invoke invoked keep know leave
    limit list listen load loaded loading lock look lost make match matched matches merge merged mismatch modify modified move
    moved need needed needs occur occurred opened opening operate overflow overlap override parse parsed parsing pass passed
    perform performed permit permitted prepare prevent proceed process processed processing produce produced provide provided
    provides publish put queue queued raise raised raises reach reached read reading receive received receiving reconnect
    record recorded refer refresh register registered reject rejected release released remain remaining remove removed rename
    repeat replace replaced report represent request requested requests require requires reset resolve resolved respond
    responded restart restarted resume retried retry retrying return returned returns revoke revoked roll rolled run running
    save saved schedule scheduled search see seek select selected send sending sent serialize serialized set setting
    shut shutdown skip skipped specify specified split start started starting stop stopped store stored submit submitted
    succeed succeeded support switch take taken tell terminate terminated test throw thrown time timed try trying unpack
    update updated upgrade use used uses using validate validated validating verify verified violate violated violates wait
    waited waiting want wanted warn went work worked works write writing written
    accesses action address amount api application argument arguments array arrays attribute attributes authentication
    authorization backend base batch block body boolean boundary branch buffer bug byte bytes cache callable callback
    capacity certificate channel character characters children class classes client clients clock cluster code codec collection
    column columns command comment communication component concurrency condition config configuration conflict connection
    connections constraint constructor content contents context conversion coroutine count credentials cursor cycle data
    database dataset date deadline deadlock decimal decoder default definition delay dependency depth descriptor destination
    device dictionary digit digits dimension dimensions directory disk document documents domain driver duration element
    elements encoder endpoint engine entity entries entry environment error errors event events exception exceptions
    expression extension failure failures feature field fields file filename files filter flag float folder form function
    gateway generator group handler handshake hash header headers heap host identifier identity implementation index indices
    information initialization input inputs instance integer integrity interface interval item items iteration iterator job
    json key keys keyword keywords kind label language layer length level library line lines link literal locale location
    loop map mapping mapper mask memory message messages metadata method methods migration mode model models module modules
    mount name names namespace network node nodes number numbers object objects offset operand operands operation operations
    operator option options order origin output owner package page pages pair pairs parameter parameters parent parser
    part parts password path paths pattern payload peer permission permissions pipe place plan platform plugin point policy
    pool port ports position precision primary principal priority privilege privileges problem procedure program project
    property properties protocol provider proxy query quota range rate reason recursion reference region relation repository
    resource resources response responses result results role root row rows rule rules runtime sample schema scheme scope
    script section segment semaphore sequence serializer series server service services session sessions shape signal
    signature size slice socket sort source space stack stage standard state statement status step storage stream string
    strings structure subject subscription suffix sum symbol syntax system table tables tag target task tasks template tenant
    text thread threads threshold throttle throttled timeout timestamp timezone token tokens tool tools topic trace
    traceback transaction transfer transport tree tuple type types unit user username users value values variable
    variables version versions view volume warning window word words worker workers zero zone
    ms millisecond milliseconds seconds minute minutes hour hours day days times
    http https url uri ssl tls tcp dns sql xml csv html
    """
)
"""Words that programs use to say what went wrong, none of them a name, place, illness or amount."""


def message_template(text: str) -> str:
    """Return a message with `{}` for all that may be a value; at most 200 characters.

    Kept are plain English words of a fixed list, in lower case or beginning a sentence, with the signs that end a clause.
    Quoted parts, numbers, anything with a digit or a sign inside, paths, URLs, addresses, capitalised words inside a
    sentence, words of other scripts and what a value detector finds become `{}`, as does every word that the list does not
    hold.

    What can still pass is a value that is itself such a word: a field called `status` whose value is `pending`, a user
    called `service`, or a secret that is made up of listed words alone. Of a message in another language nothing is left.
    """
    pieces: list[str] = []
    length = 0
    begins = True
    for chunk in _masked(text[:_MAX_READ]).split():
        piece, begins = _piece(chunk, begins=begins)
        if piece.startswith(GAP) and pieces and pieces[-1] == GAP:
            pieces[-1] = piece
            continue
        length += len(piece) + 1
        if length > _MAX_LENGTH:
            break
        pieces.append(piece)
    return " ".join(pieces)[:_MAX_LENGTH]


def plain_word(word: str) -> bool:
    """Tell whether a word, in lower case, is one that a program's own wording may hold."""
    return word in _VOCABULARY


def _masked(text: str) -> str:
    """Return the text with a gap for each quoted part and for each finding of a detector."""
    pieces: list[str] = []
    at = 0
    for hit in scan_text(text):
        if hit.start >= at:
            # Without spaces around it, so that what clings to a finding goes with it.
            pieces += [text[at : hit.start], GAP]
        at = max(at, hit.end)
    return _QUOTED.sub(GAP, "".join((*pieces, text[at:])))


def _piece(chunk: str, *, begins: bool) -> tuple[str, bool]:
    """Return what stands for a chunk between white space, and whether the next one begins a sentence."""
    match = _WORD.fullmatch(chunk)
    ends = chunk.endswith(_ENDS_SENTENCE)
    if match is not None:
        word = match["word"]
        cased = word == word.lower() or (begins and word[1:] == word[1:].lower())
        if cased and plain_word(word.lower()):
            return chunk, ends
    sign = _MARK.search(chunk)
    return GAP if sign is None else f"{GAP}{sign[0]}", ends
