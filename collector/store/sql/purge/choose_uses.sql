-- question: which schemas and toolsets do the runs that stay use, and which span was the first of those to do so? That span is
--   the `heir` of a schema or toolset that a run which goes had sent first.
create temp table uses as
with staying as not materialized (
    select
        record, toolset_digest, candidate_digest, catalog_digest, definition_digest, schema_digest, validated_schema_digest,
        {
            'start_ns': start_ns, 'span_id': span_id, 'run_id': run_id, 'subject': subject, 'source': source,
            'time_known': time_known, 'service': service, 'week': week
        } as heir
    from spans
    where record is not null
        and run_id not in (select run_id from gone_runs)
        and rowid not in (select place from gone_spans)
),
toolset_use as (
    select digest, min(heir) as heir
    from (select unnest([toolset_digest, candidate_digest, catalog_digest]) as digest, heir from staying)
    where digest is not null
    group by digest
),
schema_use as (
    select digest, min(heir) as heir
    from (
        select
            unnest([case when definition_digest is null then schema_digest end, validated_schema_digest]) as digest, heir
        from staying
        where record <> 'schema'
    )
    where digest is not null
    group by digest
)
select digest, min(heir) as heir
from (
    select digest, heir from toolset_use
    union all
    select toolset_members.definition_digest, toolset_use.heir
    from toolset_use
    inner join toolset_members on toolset_members.toolset_digest = toolset_use.digest
    union all
    select schemas.definition_digest, schema_use.heir
    from schema_use
    inner join schemas on schemas.schema_digest = schema_use.digest
    union all
    select definition_digest, heir from staying where definition_digest is not null
)
group by digest;
