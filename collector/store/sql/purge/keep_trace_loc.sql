-- question: between which starts do the traces lie that stay?
insert into purge_draft.trace_loc by name
select trace_id, min(start_ns) as t0_ns, max(start_ns) as t1_ns from purge_draft.spans group by trace_id;
