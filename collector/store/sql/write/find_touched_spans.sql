-- question: what are all the spans of the `touched` calls? A statement of its own, so that the range of starts reaches the scan
--   while the derivation, which is long, is planned without the optimizer: that costs ten times what it saves there.
select
    call_id, trace_id, span_id, parent_span_id, start_ns, end_ns, week, record, run_id, source, time_known,
    gate_mode, gate_kind, verdict, attempt_ordinal, attempt_status, sent, effect_ruled_out, remote_status, finding, basis, covers_until_ns, found_by,
    decision_id, call_ordinal, provider_call_id, server, tool, via, registered, visible, tool_version, schema_digest,
    validated_schema_digest, definition_digest, side_effect, idempotent, arguments_digest, arguments_valid, key_digest,
    action_id, node, observation, transport_status, result_size, commit_level, error_class, error_type, vendor_code,
    items_total, items_failed, items_unknown, attempts_made, cancellation, owner, settle_after_s, depends_on, parallel_group, read_set,
    write_set, speculative, discarded, novel_values, argument_sources
from spans
where start_ns between $lo and $hi and call_id in (select call_id from touched) and record is not null;
