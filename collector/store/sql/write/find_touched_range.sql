-- question: between which times do the stored spans of the `touched` calls lie?
select min(t0_ns), max(t1_ns) from calls where call_id in (select call_id from touched);
