-- question: what the figures need to know of each call beyond its own row: its decision, repeats, later use
create view call_facts as
with used_in_arguments as (
    select distinct unnest(argument_sources) as call_id from calls
),
used_in_answer as (
    select distinct unnest(answer_sources) as call_id from decisions
),
-- Where a limit kept an answer from being searched, results from before it that were not found elsewhere stay unmeasured.
unsearched as (
    select run_id, max(decision_ordinal) as last_ordinal from decisions where not answer_measured group by run_id
),
marked as (
    select
        c.call_id, c.run_id, c.source, c.decision_id, c.call_ordinal, c.server, coalesce(c.tool, '(unknown)') as tool, c.via,
        c.time_known, c.week, c.t0_ns, c.started_ns, c.ended_ns, c.has_call_span, c.arguments_digest,
        c.arguments_valid as validity, c.observation,
        c.error_class, c.novel_values, c.attempts, c.rejected, c.rejected_by, c.outcome,
        d.decision_ordinal,
        coalesce(d.week, c.week) as decision_week,
        m.tool is not null as in_toolset,
        m.tool is not null or c.visible = 'yes' as known_visible,
        c.observation in ('ok', 'empty', 'partial', 'partly_unknown', 'accepted') and not c.discarded as answered,
        c.observation in ('error', 'business_error', 'raised', 'invalid') as is_error,
        c.observation = 'timeout' as is_timeout,
        c.observation in ('cut_by_recording', 'cut_on_wire') as is_cut,
        c.arguments_digest is not null and row_number() over (
            partition by c.run_id, c.server, c.tool, c.arguments_digest order by c.call_ordinal, c.t0_ns, c.call_id
        ) > 1 as identical_repeat,
        a.call_id is not null as in_arguments,
        w.call_id is not null as in_answer,
        u.run_id is not null and coalesce(d.decision_ordinal, -1) < u.last_ordinal as unsearched
    from calls as c
    left join decisions as d on d.decision_id = c.decision_id
    left join toolset_members as m on m.toolset_digest = d.toolset_digest and m.server = c.server and m.tool = c.tool
    left join used_in_arguments as a on a.call_id = c.call_id
    left join used_in_answer as w on w.call_id = c.call_id
    left join unsearched as u on u.run_id = c.run_id
),
measured as (
    select
        *,
        answered and novel_values is not null and (in_arguments or in_answer or not unsearched) as measurable
    from marked
)
select
    *,
    measurable and novel_values >= 1 as in_denominator,
    -- What was cut off may have held more: it is neither used nor unused.
    is_cut or (answered and not measurable) as not_measurable
from measured;
