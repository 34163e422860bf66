-- question: what did speculative calls cost (in each week), and how much of it was in vain?
-- numerator: `discarded` calls, and their `attempts_in_vain` and `seconds_in_vain`
-- denominator: `speculative` calls, their `attempts`, and the `seconds` of those whose time is known (`timed` calls)
-- grain: server, tool, week of the call ('all' unless $by_week)
-- excludes: calls that were not marked as speculative; a discarded call that was not is in no figure here
-- optional: source
with guessed as (
    select
        server, coalesce(tool, '(unknown)') as tool, attempts, discarded,
        case when $by_week then week else 'all' end as week,
        case
            when time_known and has_call_span then cast(ended_ns - started_ns as double) / cast(1000000000 as double)
        end as seconds
    from calls
    where speculative and ($source is null or source = $source)
)
select
    server, tool, week,
    count(*) as speculative,
    count(*) filter (where discarded) as discarded,
    cast(sum(attempts) as bigint) as attempts,
    cast(coalesce(sum(attempts) filter (where discarded), 0) as bigint) as attempts_in_vain,
    count(seconds) as timed,
    sum(seconds) as seconds,
    sum(seconds) filter (where discarded) as seconds_in_vain
from guessed
group by 1, 2, 3
order by 4 desc, 1, 2, 3
