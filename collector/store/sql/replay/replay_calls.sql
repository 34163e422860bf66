-- question: what did each call of the run $run carry, and what became of it?
with texts as (
    select
        call_id, arguments, argument_checks, executed_arguments, result, discovery_hits, discovery_query, provenance, minimal, flags,
        item_statuses,
        row_number() over (partition by call_id order by start_ns desc, end_ns desc, span_id desc) as place
    from spans
    where record = 'call' and run_id = $run
)
select
    c.call_id, c.call_ordinal, c.decision_id, c.server, coalesce(c.tool, '(unknown)') as tool, c.via,
    c.registered, c.visible, c.side_effect, c.idempotent,
    c.tool_version, c.schema_digest, c.validated_schema_digest, c.definition_digest, c.arguments_digest, c.arguments_valid, c.key_digest,
    c.action_id, c.observation, c.transport_status, c.result_size, c.error_class, c.error_type, c.vendor_code, c.items_total,
    c.items_failed, c.items_unknown, c.cancellation, c.depends_on, c.parallel_group, c.read_set, c.write_set, c.speculative,
    c.discarded, c.commit_level, c.novel_values, c.argument_sources, c.attempts, c.gate_state, c.rejected_by, c.outcome, c.has_call_span,
    c.time_known, c.started_ns, c.ended_ns,
    t.arguments, t.argument_checks, t.executed_arguments, t.result, t.discovery_hits, t.discovery_query, t.provenance, t.minimal,
    t.flags, t.item_statuses
from calls as c
left join texts as t on t.call_id = c.call_id and t.place = 1
where c.run_id = $run
order by c.call_ordinal, c.t0_ns, c.call_id
