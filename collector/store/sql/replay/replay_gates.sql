-- question: which gates did the calls of the run $run, or the calls $calls, meet, and what did each answer?
--   $calls are ids with commas between them.
-- optional: run, calls
select
    call_id, gate_kind, gate_mode, verdict, reason_code, rule_id, rule_version, contract, pointers, keywords, approver,
    approved_arguments_digest, approved_schema_digest, approved_resource_version, approved_items, approval_id, approval_expires_ns,
    start_ns
from spans
where record = 'gate'
    and ($run is null or run_id = $run)
    and ($calls is null or call_id in (select unnest(string_split($calls, ','))))
order by call_id, start_ns, span_id
