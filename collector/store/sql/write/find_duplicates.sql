-- question: which spans of the group `incoming` are stored already? Found in the group's own range of starts, since a
--   span that comes again starts when it started before, whenever it arrives.
select incoming.seq
from incoming
where exists (
    select 1
    from spans
    where spans.start_ns between $lo and $hi
        and spans.trace_id = incoming.trace_id
        and spans.span_id = incoming.span_id
);
