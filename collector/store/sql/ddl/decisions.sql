-- question: what did each model step see and come to? The latest span of each decision id.
create view decisions as
select * from spans
where record = 'decision'
-- by run too, so that a filter on one run reaches the scan
qualify row_number() over (partition by run_id, decision_id order by start_ns desc, end_ns desc, span_id desc) = 1;
