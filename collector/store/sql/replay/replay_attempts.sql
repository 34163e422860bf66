-- question: which physical attempts did the calls of the run $run, or the calls $calls, make?
--   $calls are ids with commas between them.
-- optional: run, calls
select
    record, span_id, parent_span_id, call_id, attempt_ordinal, attempt_status, sent, effect_ruled_out, retry_reason, backoff_ms,
    transport, error_class, error_type, vendor_code, remote_status, remote_reference, error_causes, error_frames,
    time_known, start_ns, end_ns
from spans
where record in ('attempt', 'attempt_start')
    and ($run is null or run_id = $run)
    and ($calls is null or call_id in (select unnest(string_split($calls, ','))))
order by call_id, attempt_ordinal, start_ns, span_id
