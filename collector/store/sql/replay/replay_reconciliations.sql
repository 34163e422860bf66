-- question: what was found out later about calls of the run $run?
select call_id, finding, method, found_by, reason_code, reason, remote_reference, time_known, start_ns
from spans
where record = 'reconciliation' and run_id = $run
order by call_id, start_ns, span_id
