-- question: which runs are over since before $before_ns and hold a value of the class (without one: which runs at all)? A
--   value is held where its placeholder stands; runs whose times stand for an order only have no age.
-- optional: privacy_class
with judged as (
    select
        run_id,
        max(start_ns) as last_ns,
        bool_and(coalesce(time_known, true)) as time_known,
        bool_or(
            $privacy_class is null
            or contains(
                -- a placeholder in JSON text that is itself in JSON has its quotes escaped
                replace(concat(arguments, executed_arguments, result, discovery_query, settings, labels, rest), '\', ''),
                concat('{"c":"', $privacy_class, '"')
            )
        ) as holds
    from spans
    where run_id is not null
    group by run_id
)

select run_id as run from judged
where time_known and last_ns < $before_ns and holds
order by run_id;
