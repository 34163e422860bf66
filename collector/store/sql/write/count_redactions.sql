-- question: how do the redaction counts of this transaction come in? Senders choose their own names, so that of more than a
--   thousand of them the further ones are counted together.
merge into redactions
using (
    with told as (
        select
            unnest($outcomes::varchar[]) as outcome, unnest($reasons::varchar[]) as reason,
            unnest($services::varchar[]) as service, unnest($scopes::varchar[]) as scope, unnest($spans::bigint[]) as spans
    ),
    placed as (
        select
            told.outcome,
            told.reason,
            known.outcome is not null or told.outcome <> 'failed' or (select count(*) from redactions) < 1000 as named,
            told.service,
            told.scope,
            told.spans
        from told
        left join redactions as known
            on known.outcome = told.outcome and known.reason = told.reason
            and known.service = told.service and known.scope = told.scope
    )
    select
        outcome, reason, case when named then service else '(others)' end as service,
        case when named then scope else '(others)' end as scope, sum(spans) as spans
    from placed
    group by all
) as seen
on redactions.outcome = seen.outcome and redactions.reason = seen.reason
    and redactions.service = seen.service and redactions.scope = seen.scope
when matched then update set spans = redactions.spans + seen.spans
when not matched then insert (outcome, reason, service, scope, spans)
    values (seen.outcome, seen.reason, seen.service, seen.scope, seen.spans);
