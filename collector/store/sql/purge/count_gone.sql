-- question: how much goes, between which times, and what stays of others in the traces of runs that go?
select
    (select count(*) from gone_runs) as runs,
    (select count(*) from calls where call_id in (select call_id from gone_calls)) as calls,
    count(*) as spans,
    min(start_ns) filter (where coalesce(time_known, true)) as oldest_ns,
    max(start_ns) filter (where coalesce(time_known, true)) as newest_ns,
    (
        select count(*)
        from spans
        where record is null
            and rowid not in (select place from gone_spans)
            and trace_id in (
                select trace_id
                from spans
                where record is not null
                    and record not in ('schema', 'toolset')
                    and run_id in (select run_id from gone_runs)
            )
    ) as foreign_left
from spans
where rowid in (select place from gone_spans);
