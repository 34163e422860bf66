-- question: which runs go: those whose every span began before $before, those in $runs, or those of the subject $subject?
--   A run whose times stand for an order only has no age. One span of the subject is enough, since a run goes as a whole.
create temp table gone_runs as
select run_id
from spans
where record is not null and run_id is not null
group by run_id
having
    (max(start_ns) < $before::bigint and bool_and(coalesce(time_known, true)))
    or list_contains($runs::varchar[], run_id)
    or bool_or(subject = $subject::varchar);
