-- question: which gates did the calls $calls (ids with commas between them) meet, and what did each answer?
select
    call_id, gate_kind, gate_mode, verdict, reason_code, rule_id, rule_version, contract, pointers, keywords, approver, start_ns
from spans
where record = 'gate' and call_id in (select unnest(string_split($calls, ',')))
order by call_id, start_ns, span_id
