-- question: between which starts do the traces of the group `incoming` lie now?
merge into trace_loc
using (
    select trace_id, min(start_ns) as t0_ns, max(start_ns) as t1_ns from incoming group by trace_id
) as seen
on trace_loc.trace_id = seen.trace_id
when matched then update set
    t0_ns = least(trace_loc.t0_ns, seen.t0_ns),
    t1_ns = greatest(trace_loc.t1_ns, seen.t1_ns)
when not matched then insert (trace_id, t0_ns, t1_ns) values (seen.trace_id, seen.t0_ns, seen.t1_ns);
